package render

import (
	"cmp"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// FutureOptions returns the options with which Slurm creates the FUTURE records of workers ("scontrol create", or node_conf
// of POST new/node), without their names. With these records Slurm accepts jobs without workers. They are the options of
// Conf, and the resources of the shape that neither extraConf nor the limits set.
//
// Gres come only from extraConf, never from the shape: a record with Gres that slurmd does not
// report makes the worker INVALID, and slurmd reports what its --conf contains. Topology is left
// out because it belongs to the Kubernetes node. Slurm 24.11 cannot reach workers whose record has
// a Port other than names.SlurmdPort.
//
// CPUs come from the limits, since Slurm subtracts the cores of CoreSpecCount from them. The shape's CPUs are already without
// these cores.
func FutureOptions(in Input, worker shape.Shape) string {
	o := in.options("")
	// These are set below, or belong to a single worker or to slurm.conf.
	o.Remove("NodeName", "NodeHostname", "NodeAddr", "BcastAddr", "State", "Reason", "Topology")
	if port, ok := o.Number("Port"); ok && port == names.SlurmdPort {
		o.Remove("Port")
	}
	limit, _ := shape.Limits(in.NodeSet)
	o.AddNumber("CPUs", cmp.Or(limit, worker.CPUs), "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
	o.AddNumber("RealMemory", worker.MemoryMiB)
	o.Add(slurmconf.Option{Name: "State", Value: "FUTURE"})
	return o.String()
}
