// Package tlsproxy ends TLS in front of a server on a Unix socket, as slurm-agent does for slurmrestd.
//
// Each connection of a client is one connection to the server, whose bytes pass unchanged. So requests of different
// clients never share a connection, nothing is parsed twice, and answers of any length are streamed.
package tlsproxy
