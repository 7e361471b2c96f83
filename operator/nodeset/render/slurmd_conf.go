package render

import (
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Conf returns slurmd's --conf: extraConf with the NodeSet's name as the first feature, the worker's limits
// as CPUs and RealMemory, and the known topology and features of the Kubernetes node. extraConf takes
// precedence. Each of its options appears once, with its name and quotes as written; slurmconf.Options
// describes how repeated options are merged.
//
// A slurmd that takes over a record (FutureOptions) has the features and the weight of the record, not the
// ones in its --conf. Topology and features of the Kubernetes node must then be set in Slurm.
func Conf(in Input, facts KubeNodeFacts) string {
	o := in.options(facts.Features)
	if facts.Topology != "" && !o.HasAny("Topology") {
		o.Add(slurmconf.Option{Name: "Topology", Value: facts.Topology})
	}
	return o.String()
}

// options returns the options of extraConf with the features and the worker's limits.
//
// Limits become CPUs and RealMemory, not CoreSpecCount and MemSpecLimit: at the creation of a record the
// other resources of the Kubernetes node are unknown, and a worker whose CoreSpecCount differs from the
// record's becomes INVALID ("CoreSpec differ").
func (in Input) options(kubeFeatures string) slurmconf.Options {
	o := slurmconf.ParseOptions(in.NodeSet.Spec.ExtraConf)
	setFeatures(&o, in.NodeSet.Name, kubeFeatures)
	cpus, memory := shape.Limits(in.NodeSet)
	o.AddNumber("CPUs", cpus, "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore", "CoreSpecCount",
		"CPUSpecList")
	o.AddNumber("RealMemory", memory)
	return o
}

// setFeatures puts one option with all features first.
func setFeatures(o *slurmconf.Options, nodeSet, ofKubeNode string) {
	all := slurmconf.MergeLists([]string{nodeSet}, o.List("Feature"))
	for _, f := range slurmconf.SplitList(ofKubeNode) {
		all = slurmconf.MergeLists(all, []string{v1beta1.FeaturePrefix + strings.TrimPrefix(f, v1beta1.FeaturePrefix)})
	}
	o.Prepend(slurmconf.Option{Name: "Feature", Value: strings.Join(all, ",")})
}
