// Package access is how an object of Kubernetes becomes a Slurm client.
//
// Key names the Controller or Cluster, Target is where its slurmrestd is and what
// opens it (TargetOfCluster, TargetOfController: pure). Config.Dial makes a Link of a
// target: a client with a token that is read, or minted, from a Secret. Keep reads
// a cluster until it is told to end, and connects anew when certificates have
// changed. Secrets are read one by one when they are needed, and never listed or
// watched; what they hold reaches no error.
package access
