package render

import (
	"slices"
	"strconv"

	"github.com/slurmtide/slurmtide/operator/api/shape"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// FutureOptions are the options of the line by which Slurm makes FUTURE records of
// workers that may come ("scontrol create", or node_conf of POST new/node), without
// their names, so that jobs for them are taken while there are none. The numbers of
// the shape are there as far as extraConf has none.
//
// Gres come from extraConf alone, never from the shape: a record with Gres that
// slurmd does not report makes the worker INVALID, and slurmd reports what its --conf
// says. Topology is left out: it is the Kubernetes node's.
func FutureOptions(in Input, worker shape.Shape) string {
	o := parseOptions(in.NodeSet.Spec.ExtraConf)
	o.features(in.NodeSet.Name, "")
	// What the line says itself, and what Slurm keeps for records in slurm.conf.
	o.drop("NodeName", "NodeHostname", "NodeAddr", "BcastAddr", "State", "Reason", "Topology")
	if port := o.find("Port"); port >= 0 && o.list[port].value == strconv.Itoa(SlurmdPort) {
		o.drop("Port")
	}
	var head options
	if worker.CPUs > 0 && !o.hasAny("CPUs", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore") {
		head.list = append(head.list, option{"CPUs", strconv.FormatUint(worker.CPUs, 10)})
	}
	if worker.MemoryMiB > 0 && !o.hasAny("RealMemory") {
		head.list = append(head.list, option{"RealMemory", strconv.FormatUint(worker.MemoryMiB, 10)})
	}
	head.list = append(slices.Concat(head.list, o.list), option{"State", "FUTURE"})
	return head.String()
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
