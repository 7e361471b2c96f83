package shape

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newNodeSet returns NodeSet team/gpu with the changes.
func newNodeSet(change ...func(*v1beta1.NodeSet)) *v1beta1.NodeSet {
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu"}}
	for _, f := range change {
		f(n)
	}
	return n
}

func withLimits(cpu, memory, gpu string) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) {
		list := map[string]string{}
		for name, text := range map[string]string{"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu} {
			if text != "" {
				list[name] = text
			}
		}
		slurmd, err := v1beta1.RawOf(map[string]any{"resources": map[string]any{"limits": list}})
		if err != nil {
			panic(err) // text marshals
		}
		n.Spec.Slurmd = slurmd
	}
}

func withPod(spec string) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.Template.Spec = v1beta1.Raw{Raw: []byte(spec)} }
}

func withMalformedSlurmd(n *v1beta1.NodeSet) {
	n.Spec.Slurmd = v1beta1.Raw{Raw: []byte(`{"resources": {"limits": {"cpu": "many", "memory": "8Gi"}}}`)}
}

func withExtraConf(text string) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = text }
}

func TestShapeOfANodeSet(t *testing.T) {
	for _, tc := range []struct {
		name string
		n    *v1beta1.NodeSet
		want Shape
	}{
		{"no limits and no extraConf", newNodeSet(), Shape{}},
		{"limits", newNodeSet(withLimits("4500m", "8Gi", "")), Shape{CPUs: 4, MemoryMiB: 8192}},
		{"GPUs", newNodeSet(withLimits("8", "", "2")), Shape{CPUs: 8, GRES: "gpu:2"}},
		{"GPUs without CPUs are not enough", newNodeSet(withLimits("", "", "2")), Shape{GRES: "gpu:2"}},
		{"extraConf wins", newNodeSet(withLimits("4", "8Gi", "1"),
			withExtraConf("CPUs=16 RealMemory=32000 Gres=gpu:h100:8 Features=fast,nvme Weight=10 TmpDisk=500")),
			Shape{CPUs: 16, MemoryMiB: 32000, GRES: "gpu:h100:8", Features: []string{"fast", "nvme"}, Weight: 10,
				TmpDiskMiB: 500}},
		{"options in any case, and quotes", newNodeSet(withExtraConf(`cpus=2 FEATURE="a"`)),
			Shape{CPUs: 2, Features: []string{"a"}}},
		{"sockets, cores and threads", newNodeSet(withExtraConf("Sockets=2 CoresPerSocket=8 ThreadsPerCore=2")),
			Shape{CPUs: 32, ThreadsPerCore: 2}},
		{"CPUs that are whole cores", newNodeSet(withExtraConf("CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2")),
			Shape{CPUs: 16}},
		{"cores reserved for the system", newNodeSet(withExtraConf("CPUs=16 ThreadsPerCore=2 CoreSpecCount=1")),
			Shape{CPUs: 14, ThreadsPerCore: 2}},
		{"memory reserved for the system", newNodeSet(withExtraConf("CPUs=1 RealMemory=4000 MemSpecLimit=1000")),
			Shape{CPUs: 1, MemoryMiB: 3000}},
		{"less than one CPU is one CPU", newNodeSet(withLimits("500m", "", "")), Shape{CPUs: 1}},
		{"the pod's limits", newNodeSet(withPod(`{"resources": {"limits": {"cpu": "6", "memory": "1Gi"}}}`)),
			Shape{CPUs: 6, MemoryMiB: 1024}},
		{"the container's limits before the pod's", newNodeSet(withLimits("2", "", ""),
			withPod(`{"resources": {"limits": {"cpu": "6", "memory": "1Gi"}}}`)), Shape{CPUs: 2, MemoryMiB: 1024}},
		{"Procs are CPUs", newNodeSet(withLimits("4", "", ""), withExtraConf("Procs=2")), Shape{CPUs: 2}},
		{"values that stand apart", newNodeSet(withExtraConf("CPUs = 2 Gres= gpu:1")), Shape{CPUs: 2, GRES: "gpu:1"}},
		{"several Gres", newNodeSet(withExtraConf("CPUs=1 Gres=gpu:1 Gres=shard:4")),
			Shape{CPUs: 1, GRES: "gpu:1,shard:4"}},
		{"boards", newNodeSet(withExtraConf("Boards=2 SocketsPerBoard=2 CoresPerSocket=8")), Shape{CPUs: 32}},
		{"a malformed slurmd", newNodeSet(withMalformedSlurmd), Shape{}},
		{"a malformed slurmd, and extraConf", newNodeSet(withMalformedSlurmd, withExtraConf("CPUs=16")),
			Shape{CPUs: 16}},
		{"more cores than a uint64 can hold", newNodeSet(withExtraConf("Sockets=4294967296 CoresPerSocket=4294967296")),
			Shape{CPUs: math.MaxUint64}},
		{"more reserved cores than a uint64 can hold",
			newNodeSet(withExtraConf("CPUs=16 ThreadsPerCore=2 CoreSpecCount=9223372036854775808")),
			Shape{ThreadsPerCore: 2}},
		{"options that are not numbers",
			newNodeSet(withLimits("4", "", ""), withExtraConf("CPUs=many RealMemory= Weight")), Shape{CPUs: 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, known := OfNodeSet(tc.n)
			if diff := cmp.Diff(tc.want, got); diff != "" || known != (tc.want.CPUs > 0) {
				t.Errorf("known: %v, %s", known, diff)
			}
		})
	}
}
