package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Conf returns slurmd's --conf: extraConf with the NodeSet's name as the first feature, with the
// worker's limits as CPUs and RealMemory, and with the topology and features of the Kubernetes node
// as far as they are known. extraConf takes precedence. Each of its options appears once, with its
// name and quotes as written; the type options describes how repeated options are merged.
//
// A slurmd that takes over a record (FutureOptions) has the features and the weight of the record,
// not those of its --conf. Topology and features of the Kubernetes node must then be set in Slurm.
func Conf(in Input, facts KubeNodeFacts) string {
	o := in.options(facts.Features)
	if facts.Topology != "" && !o.hasAny("Topology") {
		o.list = append(o.list, option{"Topology", facts.Topology})
	}
	return o.String()
}

// options returns the options of extraConf with the features and the worker's limits.
//
// Limits become CPUs and RealMemory, not CoreSpecCount and MemSpecLimit: when a record is created
// it is not known what the Kubernetes node has beyond them, and a worker whose CoreSpecCount
// differs from the record's becomes INVALID ("CoreSpec differ").
func (in Input) options(kubeFeatures string) options {
	o := parseOptions(in.NodeSet.Spec.ExtraConf)
	o.setFeatures(in.NodeSet.Name, kubeFeatures)
	cpus, memory := in.limits()
	o.addNumber("CPUs", cpus, "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore", "CoreSpecCount",
		"CPUSpecList")
	o.addNumber("RealMemory", memory)
	return o
}

// option is one option of a NodeName line (slurm.conf(5)).
type option struct {
	// name is empty for a word that is not an option; slurmd reports it.
	name string
	// value may be in quotes.
	value string
}

func (o option) String() string {
	if o.name == "" {
		return o.value
	}
	return o.name + "=" + o.value
}

// options are the options of a line in the order of their first occurrence. A repeated option has
// its last value, except that the lists Feature and Gres are joined. An option without a value is
// left out, because Slurm would take the next option for its value.
type options struct{ list []option }

func (o options) String() string {
	words := make([]string, len(o.list))
	for i, x := range o.list {
		words[i] = x.String()
	}
	return strings.Join(words, " ")
}

// canonicalOption returns the name by which options are compared. Slurm ignores case.
func canonicalOption(name string) string {
	switch name = strings.ToLower(name); name {
	case "features":
		return "feature"
	case "procs":
		return "cpus"
	}
	return name
}

func (o options) find(name string) int {
	return slices.IndexFunc(o.list,
		func(x option) bool { return x.name != "" && canonicalOption(x.name) == canonicalOption(name) })
}

func (o options) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return o.find(n) >= 0 })
}

// removeAll removes the named options.
func (o *options) removeAll(names ...string) {
	for _, name := range names {
		if i := o.find(name); i >= 0 {
			o.list = slices.Delete(o.list, i, i+1)
		}
	}
}

// add adds an option, which overrides an earlier one of the name.
func (o *options) add(x option) {
	i := o.find(x.name)
	switch {
	case x.name == "" || i < 0:
		o.list = append(o.list, x)
	case canonicalOption(x.name) == "feature", canonicalOption(x.name) == "gres":
		o.list[i].value = strings.Join(mergeLists(splitList(o.list[i].value), splitList(x.value)), ",")
	default:
		o.list[i].value = x.value
	}
}

// addNumber adds a known number (not 0), unless it or one of the others is present.
func (o *options) addNumber(name string, number uint64, others ...string) {
	if number > 0 && !o.hasAny(name) && !o.hasAny(others...) {
		o.list = append(o.list, option{name, strconv.FormatUint(number, 10)})
	}
}

// setFeatures puts one option with all features first.
func (o *options) setFeatures(nodeSet, ofKubeNode string) {
	all := []string{nodeSet}
	if i := o.find("Feature"); i >= 0 {
		all = mergeLists(all, splitList(o.list[i].value))
	}
	for _, f := range splitList(ofKubeNode) {
		all = mergeLists(all, []string{v1beta1.FeaturePrefix + strings.TrimPrefix(f, v1beta1.FeaturePrefix)})
	}
	o.removeAll("Feature")
	o.list = slices.Insert(o.list, 0, option{"Feature", strings.Join(all, ",")})
}

// splitList returns the items of a list, which may be quoted.
func splitList(list string) []string {
	var out []string
	for item := range strings.SplitSeq(strings.Trim(list, `"'`), ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// mergeLists appends to a the items of b that a lacks.
func mergeLists(a, b []string) []string {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}
