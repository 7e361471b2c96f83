// Package access turns a Kubernetes object into a Slurm client.
//
// A refs.Endpoint has the address of a cluster's slurmrestd and the credentials for it. Config.Dial opens a
// Session for an endpoint: a client whose token is read from a Secret, or minted with a key from a Secret.
// KeepConnected reads a cluster until its context ends and reconnects when certificates change. Secrets are
// read one by one when they are needed, and never listed or watched. Their content never appears in an error.
package access
