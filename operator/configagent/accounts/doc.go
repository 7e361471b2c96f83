// Package accounts loads files with accounts, users and QOS into the database of slurmdbd with sacctmgr.
//
// A file has the format of "sacctmgr dump" and lines of QOS, which sacctmgr load does not know:
//
//	QOS - 'high':Priority=100
//	Cluster - 'slurm'
//	Parent - 'root'
//	Account - 'physics':Fairshare=10:QOS='normal,high'
//	Parent - 'physics'
//	User - 'alice':DefaultAccount='physics'
//
// ParseFile reads a file and Summarize reads sacctmgr's output, both purely; Loader runs sacctmgr. Every change is tried
// first: sacctmgr makes it, shows it and takes it back. A refused change is not begun. Removals by prune are decided for
// all files of a cluster together (listing, removal), before any file is loaded.
package accounts
