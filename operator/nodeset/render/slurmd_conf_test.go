package render

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/shape"
)

func TestConf(t *testing.T) {
	for _, tc := range []struct {
		name, extra string
		facts       KubeNodeFacts
		want        string
	}{
		{"has the NodeSet's name as its feature", "", KubeNodeFacts{}, "Feature=n"},
		{"keeps options and their case", "Weight=10 gres=gpu:H100:4", KubeNodeFacts{},
			"Feature=n Weight=10 gres=gpu:H100:4"},
		{"joins features under both names", "Features=a,b Weight=1 feature=b,c", KubeNodeFacts{},
			"Feature=n,a,b,c Weight=1"},
		{"does not name a feature twice", "Feature=n,a", KubeNodeFacts{}, "Feature=n,a"},
		{"takes quotes from features", `Feature="a,b"`, KubeNodeFacts{}, "Feature=n,a,b"},
		{"keeps quotes elsewhere", `Comment="two words" Weight=1`, KubeNodeFacts{},
			`Feature=n Comment="two words" Weight=1`},
		{"takes the last of two values", "Weight=1 RealMemory=5 weight=2", KubeNodeFacts{},
			"Feature=n Weight=2 RealMemory=5"},
		{"joins Gres", "Gres=gpu:1 Gres=shard:4", KubeNodeFacts{}, "Feature=n Gres=gpu:1,shard:4"},
		{"leaves out what has no value", "Topology= Weight=1", KubeNodeFacts{}, "Feature=n Weight=1"},
		{"leaves out an empty value in quotes", `Comment="" Weight=1`, KubeNodeFacts{}, "Feature=n Weight=1"},
		{"reads values that stand apart", "Weight = 1 Gres= gpu:1 RealMemory =7", KubeNodeFacts{},
			"Feature=n Weight=1 Gres=gpu:1 RealMemory=7"},
		{"makes one line of several", "Weight=1\n\tGres=gpu:1\n", KubeNodeFacts{}, "Feature=n Weight=1 Gres=gpu:1"},
		{"keeps a word that is no option", "Weight=1 huh", KubeNodeFacts{}, "Feature=n Weight=1 huh"},
		{"adds what the Kubernetes node says", "Weight=1",
			KubeNodeFacts{Topology: "tree:s1", Features: "ssd, k8s/rack,"},
			"Feature=n,k8s/ssd,k8s/rack Weight=1 Topology=tree:s1"},
		{"lets the user's topology win", "topology=tree:s9", KubeNodeFacts{Topology: "tree:s1"},
			"Feature=n topology=tree:s9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(t, "")
			in.NodeSet.Spec.ExtraConf = tc.extra
			if got := Conf(in, tc.facts); got != tc.want {
				t.Errorf("Conf(%q) is\n%s, not\n%s", tc.extra, got, tc.want)
			}
		})
	}
}

// TestFactsStayInTheirOptions: a user who may annotate a Kubernetes node cannot name the Slurm nodes of its
// workers.
func TestFactsStayInTheirOptions(t *testing.T) {
	for _, tc := range []struct{ name, topology, features, want, ignored string }{
		{"a list of features with spaces", "tree:s1,block:b1", " ssd, k8s/rack ,", "Feature=n,k8s/ssd,k8s/rack Topology=tree:s1,block:b1", ""},
		{"a topology with an option", "tree:s1 NodeName=foo", "ssd", "Feature=n,k8s/ssd", v1beta1.AnnotationTopology},
		{"a feature with an option", "tree:s1", "ssd,a NodeName=foo", "Feature=n,k8s/ssd Topology=tree:s1", v1beta1.AnnotationFeatures},
		{"a vertical tab", "tree:s1\vWeight", "", "Feature=n", v1beta1.AnnotationTopology},
		{"a quote", "tree:s1", `a"b`, "Feature=n Topology=tree:s1", v1beta1.AnnotationFeatures},
		{"an equals sign", "a=b", "a=b", "Feature=n", v1beta1.AnnotationTopology + " " + v1beta1.AnnotationFeatures},
		{"a NUL", "a\x00", "", "Feature=n", v1beta1.AnnotationTopology},
	} {
		t.Run(tc.name, func(t *testing.T) {
			annotations := map[string]string{v1beta1.AnnotationTopology: tc.topology, v1beta1.AnnotationFeatures: tc.features}
			if got := Conf(newInput(t, ""), FactsOf(annotations)); got != tc.want {
				t.Errorf("Conf is %q, want %q", got, tc.want)
			}
			if got := strings.Join(IgnoredFacts(annotations), " "); got != tc.ignored {
				t.Errorf("IgnoredFacts is %q, want %q", got, tc.ignored)
			}
		})
	}
}

func TestLimitsBecomeWhatTheSlurmNodeHas(t *testing.T) {
	for _, tc := range []struct{ name, spec, want string }{
		{"of the container", "slurmd: {resources: {limits: {cpu: 4, memory: 8Gi}}}",
			"Feature=n CPUs=4 RealMemory=8192"},
		{"of the pod", "template: {spec: {resources: {limits: {cpu: 2500m, memory: 1000M}}}}",
			"Feature=n CPUs=2 RealMemory=953"},
		{"of the container before the pod's",
			"slurmd: {resources: {limits: {cpu: 1}}}, template: {spec: {resources: {limits: {cpu: 2}}}}",
			"Feature=n CPUs=1"},
		{"no less than one CPU", "slurmd: {resources: {limits: {cpu: 100m}}}", "Feature=n CPUs=1"},
		{"nothing without limits", "slurmd: {resources: {requests: {cpu: 1}}}", "Feature=n"},
		{"not over extraConf", "extraConf: Procs=2 RealMemory=1, slurmd: {resources: {limits: {cpu: 4, memory: 8Gi}}}",
			"Feature=n Procs=2 RealMemory=1"},
		{"memory that is not for jobs among them",
			"extraConf: MemSpecLimit=1000, slurmd: {resources: {limits: {memory: 8Gi}}}",
			"Feature=n MemSpecLimit=1000 RealMemory=8192"},
		{"not beside sockets", "extraConf: Sockets=2, slurmd: {resources: {limits: {cpu: 4}}}", "Feature=n Sockets=2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(t, tc.spec)
			if got := Conf(in, KubeNodeFacts{}); got != tc.want {
				t.Errorf("Conf is %s, not %s", got, tc.want)
			}
			if got := FutureOptions(in, shape.Shape{}); got != tc.want+" State=FUTURE" {
				t.Errorf("the record's options are %s, not %s", got, tc.want)
			}
		})
	}
}

func TestFutureOptions(t *testing.T) {
	worker := shape.Shape{CPUs: 4, MemoryMiB: 8000, GRES: "gpu:1"}
	for _, tc := range []struct {
		name, extra string
		worker      shape.Shape
		want        string
	}{
		{"have the shape and the feature", "", worker, "Feature=n CPUs=4 RealMemory=8000 State=FUTURE"},
		{"have no numbers that are not known", "Weight=3", shape.Shape{}, "Feature=n Weight=3 State=FUTURE"},
		{"let extraConf win", "Procs=2 RealMemory=5 Gres=gpu:h100:2", worker,
			"Feature=n Procs=2 RealMemory=5 Gres=gpu:h100:2 State=FUTURE"},
		{"count CPUs by sockets if extraConf does", "Sockets=2 CoresPerSocket=8", worker,
			"Feature=n Sockets=2 CoresPerSocket=8 RealMemory=8000 State=FUTURE"},
		{"leave out what is of one worker or another state", "State=CLOUD NodeAddr=x Topology=t:s Reason=y Weight=1",
			worker,
			"Feature=n Weight=1 CPUs=4 RealMemory=8000 State=FUTURE"},
		{"name the port if it is another", "Port=7000", worker,
			"Feature=n Port=7000 CPUs=4 RealMemory=8000 State=FUTURE"},
		{"do not name the usual port", "port=6818", worker, "Feature=n CPUs=4 RealMemory=8000 State=FUTURE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(t, "")
			in.NodeSet.Spec.ExtraConf = tc.extra
			if got := FutureOptions(in, tc.worker); got != tc.want {
				t.Errorf("the line is\n%s, not\n%s", got, tc.want)
			}
		})
	}
}

// TestRecordsHaveTheCPUsBeforeReservedCores: Slurm takes the cores of CoreSpecCount off the CPUs of a record.
func TestRecordsHaveTheCPUsBeforeReservedCores(t *testing.T) {
	for _, tc := range []struct {
		name, spec, want string
		cpus             uint64
	}{
		{"of the limits", "extraConf: CoreSpecCount=2, slurmd: {resources: {limits: {cpu: 8}}}",
			"Feature=n CoreSpecCount=2 CPUs=8 State=FUTURE", 6},
		{"of extraConf", "extraConf: CoreSpecCount=2 CPUs=16, slurmd: {resources: {limits: {cpu: 8}}}",
			"Feature=n CoreSpecCount=2 CPUs=16 State=FUTURE", 14},
		{"with a list of CPUs", "extraConf: 'CPUSpecList=0,1', slurmd: {resources: {limits: {cpu: 8}}}",
			"Feature=n CPUSpecList=0,1 CPUs=8 State=FUTURE", 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(t, tc.spec)
			have, known := shape.OfNodeSet(in.NodeSet)
			if got := FutureOptions(in, have); got != tc.want || !known || have.CPUs != tc.cpus {
				t.Errorf("the record's options are %s, not %s, and the worker has %d CPUs", got, tc.want, have.CPUs)
			}
		})
	}
}
