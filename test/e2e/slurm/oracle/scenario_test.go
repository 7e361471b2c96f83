package oracle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

func TestAVariantsSlurmConf(t *testing.T) {
	v := Variant{
		Pools: []demand.Pool{
			newPool("a", 8, demand.Shape{CPUs: 4, MemoryMiB: 8000}),
			newPool("g", 2, demand.Shape{CPUs: 8, MemoryMiB: 9000, TmpDiskMiB: 50, GRES: "gpu:2", Weight: 3,
				Features: []string{"h100"}}),
		},
		Nodes: map[string]string{"a": "Sockets=1"},
		Conf:  []string{"PartitionName=all Nodes=a,g"},
	}
	want := `ClusterName=dev
NodeName=n[1-1] Port=[7-7]
NodeName=a-[0-7] NodeHostname=ctl NodeAddr=127.0.0.1 Port=7 CPUs=4 RealMemory=8000 Feature=a Sockets=1
NodeSet=a Feature=a
NodeName=g-[0-1] NodeHostname=ctl NodeAddr=127.0.0.1 Port=7 CPUs=8 RealMemory=9000 Feature=g,h100 Gres=gpu:2 TmpDisk=50 Weight=3
NodeSet=g Feature=g
PartitionName=all Nodes=a,g
PartitionName=never Nodes=n1 PriorityTier=0
`
	got := v.slurmConf("ClusterName=dev\nNodeName=n[1-1] Port=[7-7]\nPartitionName=batch Nodes=ALL\n", "7")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOneSeedIsOneScenario(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		scenario, again := NewScenario(seed), NewScenario(seed)
		if diff := cmp.Diff(scenario, again); diff != "" {
			t.Fatalf("seed %d gives two scenarios: %s", seed, diff)
		}
		if len(scenario.Queue) == 0 {
			t.Errorf("seed %d has no job", seed)
		}
		var text strings.Builder
		for _, job := range scenario.Queue {
			text.WriteString(job.Args + "\n")
		}
		seen[text.String()] = true
	}
	if len(seen) < 150 {
		t.Errorf("200 seeds give only %d scenarios", len(seen))
	}
}
