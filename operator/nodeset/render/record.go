package render

import (
	"strconv"

	"github.com/slurmtide/slurmtide/operator/api/shape"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// FutureOptions are the options of the line by which Slurm makes FUTURE records of
// workers that may come ("scontrol create", or node_conf of POST new/node), without
// their names, so that jobs for them are taken while there are none. They are what
// Conf says, and the numbers of the shape as far as neither extraConf nor the limits
// give any.
//
// Gres come from extraConf alone, never from the shape: a record with Gres that
// slurmd does not report makes the worker INVALID, and slurmd reports what its --conf
// says. Topology is left out: it is the Kubernetes node's. Slurm 24.11 does not reach
// workers of records with another Port than SlurmdPort.
func FutureOptions(in Input, worker shape.Shape) string {
	o := in.options("")
	// What the line says itself, and what Slurm keeps for records in slurm.conf.
	o.drop("NodeName", "NodeHostname", "NodeAddr", "BcastAddr", "State", "Reason", "Topology")
	if port := o.find("Port"); port >= 0 && o.list[port].value == strconv.Itoa(SlurmdPort) {
		o.drop("Port")
	}
	o.offer("CPUs", worker.CPUs, "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
	o.offer("RealMemory", worker.MemoryMiB)
	o.list = append(o.list, option{"State", "FUTURE"})
	return o.String()
}

// Hostlist is the host list of the Slurm nodes of the workers with ordinals from 0
// to max-1; empty when there are none or their names are not known.
func (n Names) Hostlist(max int) string {
	if n.perKubeNode || n.hostNetwork {
		return ""
	}
	list := make([]string, max)
	for i := range list {
		list[i] = n.SlurmName(i)
	}
	return hostlist.Compress(list)
}
