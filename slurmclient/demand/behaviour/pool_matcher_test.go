package behaviour

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func withComment(comment string) demandtest.NodeOption {
	return func(n *slurm.Node) { n.Comment = comment }
}

func withActiveFeatures(features ...string) demandtest.NodeOption {
	return func(n *slurm.Node) { n.ActiveFeatures = features }
}

// withNodeSetComment sets slurm-operator's comment on a worker of the NodeSet.
func withNodeSetComment(namespace, name string) demandtest.NodeOption {
	return withComment(`{"namespace":"` + namespace + `","podName":"x-0","node":"","nodeSetName":"` + name +
		`","nodeSetUID":"u"}`)
}

func TestThePoolOfANode(t *testing.T) {
	pools := []demand.Pool{demandtest.NodeSetPool("gpu"),
		demandtest.NodeSetPool("h100", demandtest.WithShape(&demand.Shape{CPUs: 4, Features: []string{"gpu"}})),
		demandtest.NodeSetPool("h100-a")}
	twins := []demand.Pool{demandtest.NodeSetPool("gpu"), {Name: "lab/gpu", Feature: "gpu", WorkerPrefix: "gpu-"}}
	for _, tc := range []struct {
		name  string
		pools []demand.Pool
		node  *slurm.Node
		want  string
	}{
		{"its first feature identifies the pool", pools,
			demandtest.NewNode("n1", demandtest.WithFeatures("h100", "gpu")), "team/h100"},
		{"another feature does not identify the pool", pools,
			demandtest.NewNode("n1", demandtest.WithFeatures("x86", "gpu")), ""},
		{"its first active feature identifies the pool", pools,
			demandtest.NewNode("n1", demandtest.WithFeatures("x86"), withActiveFeatures("gpu")), "team/gpu"},
		{"its name identifies the pool where features have another order", pools,
			demandtest.NewNode("h100-1", demandtest.WithFeatures("gpu", "h100")), "team/h100"},
		{"a name without the feature does not identify the pool", pools,
			demandtest.NewNode("h100-1", demandtest.WithFeatures("x86")), ""},
		{"a name needs an ordinal", pools, demandtest.NewNode("gpu-x", demandtest.WithFeatures("x86", "gpu")), ""},
		{"a longer name belongs to the NodeSet with the longer name", pools,
			demandtest.NewNode("h100-a-0", demandtest.WithFeatures("gpu", "h100", "h100-a")), "team/h100-a"},
		{"the operator's comment identifies the pool", pools,
			demandtest.NewNode("n1", demandtest.WithFeatures("x86"), withNodeSetComment("team", "gpu")), "team/gpu"},
		{"the operator's comment takes precedence over name and features", pools,
			demandtest.NewNode("gpu-0", demandtest.WithFeatures("gpu"), withNodeSetComment("team", "h100")),
			"team/h100"},
		{"a worker of an unknown NodeSet has no pool", pools,
			demandtest.NewNode("gpu-0", demandtest.WithFeatures("gpu"), withNodeSetComment("lab", "gpu")), ""},
		{"another comment has no effect", pools,
			demandtest.NewNode("gpu-0", demandtest.WithFeatures("gpu"), withComment(`{"note": "nodeSetName"}`)),
			"team/gpu"},
		{"the comment distinguishes two NodeSets of one name", twins,
			demandtest.NewNode("gpu-0", demandtest.WithFeatures("gpu"), withNodeSetComment("team", "gpu")), "team/gpu"},
		{"without a comment the first of two NodeSets of one name has it", twins,
			demandtest.NewNode("gpu-0", demandtest.WithFeatures("gpu")),
			"lab/gpu"},
		{"without pools it has no pool", nil, demandtest.NewNode("gpu-0", demandtest.WithFeatures("gpu")), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			for _, p := range tc.pools {
				if len(demand.NodesOf(p.Name, []*slurm.Node{tc.node}, tc.pools)) > 0 {
					got += p.Name
				}
			}
			if got != tc.want {
				t.Errorf("the pool is %q, want %q", got, tc.want)
			}
		})
	}
}

// The workers of h100 also have the feature gpu, so that Slurm has them in both partitions.
func TestANodeSetWithTheFeatureOfAnother(t *testing.T) {
	pools := []demand.Pool{demandtest.NodeSetPool("gpu"),
		demandtest.NodeSetPool("h100",
			demandtest.WithShape(&demand.Shape{CPUs: 4, MemoryMiB: 8000, Features: []string{"gpu"}}))}
	parts := []any{
		demandtest.NewPartition("gpu", func(p *slurm.Partition) { p.NodeSets = "gpu" }),
		demandtest.NewPartition("h100", func(p *slurm.Partition) { p.NodeSets = "h100" }),
	}
	h100 := func(name string, options ...demandtest.NodeOption) *slurm.Node {
		return demandtest.NewNode(name,
			append([]demandtest.NodeOption{demandtest.WithFeatures("h100", "gpu"),
				demandtest.InPartitions("gpu", "h100")},
				options...)...)
	}
	in := func(name string) demandtest.JobOption { return func(j *slurm.Job) { j.Partition = name } }
	for _, tc := range []struct {
		name      string
		nouns     []any
		gpu, h100 uint64
	}{
		{"busy workers belong to the NodeSet",
			[]any{h100("h100-0", demandtest.WithState("ALLOCATED")), h100("h100-1", demandtest.WithState("ALLOCATED"))},
			0, 2},
		{"busy workers of both",
			[]any{h100("h100-0", demandtest.WithState("ALLOCATED")),
				demandtest.NewNode("gpu-0", demandtest.WithFeatures("gpu"), demandtest.InPartitions("gpu"),
					demandtest.WithState("ALLOCATED"))}, 1, 1},
		{"jobs request nodes in the partition that they name",
			[]any{demandtest.NewJob(1, demandtest.AsExclusive, in("gpu")),
				demandtest.NewJob(2, demandtest.AsExclusive, in("h100")),
				demandtest.NewJob(3, demandtest.AsExclusive, in("h100"))}, 1, 2},
		{"a job in the shared partition takes an idle worker",
			[]any{h100("h100-0"), demandtest.NewJob(1, demandtest.AsExclusive, in("gpu"))},
			0, 1},
		{"only the second fits, though it is at zero",
			[]any{demandtest.NewJob(1, demandtest.AsExclusive, in("gpu"), demandtest.WithConstraint("h100"))},
			0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := demandtest.ComputePools(demandtest.SnapshotOf(t, append(parts[:2:2], tc.nouns...)...), pools)
			if got, want := []uint64{d.Pools[0].Required, d.Pools[1].Required},
				[]uint64{tc.gpu, tc.h100}; !cmp.Equal(got, want) {
				t.Errorf("gpu and h100 require %d, want %d", got, want)
			}
		})
	}
}
