// Package tlsproxy ends TLS in front of a server on a Unix socket, as slurm-agent does for slurmrestd.
//
// Each client connection has its own connection to the server, and bytes pass unchanged. So requests of different
// clients never share a connection, nothing is parsed twice, and responses of any length are streamed.
package tlsproxy
