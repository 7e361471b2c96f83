package demand_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// nodeSetPool returns the pool of a NodeSet in namespace team, which serves the partition of its
// name with workers such as "gpu-0".
func nodeSet(name string, options ...poolOption) demand.Pool {
	own := func(p *demand.Pool) { p.Feature, p.Workers, p.Partitions = name, name+"-", []string{name} }
	return newPool("team/"+name, append([]poolOption{own}, options...)...)
}

func noting(comment string) nodeOption { return func(n *slurm.Node) { n.Comment = comment } }

func active(features ...string) nodeOption {
	return func(n *slurm.Node) { n.ActiveFeatures = features }
}

// withNodeSetComment sets slurm-operator's comment on a worker of the NodeSet.
func notedAs(namespace, name string) nodeOption {
	return noting(`{"namespace":"` + namespace + `","podName":"x-0","node":"","nodeSetName":"` + name +
		`","nodeSetUID":"u"}`)
}

func TestThePoolOfANode(t *testing.T) {
	pools := []demand.Pool{nodeSet("gpu"),
		nodeSet("h100", shaped(&demand.Shape{CPUs: 4, Features: []string{"gpu"}})), nodeSet("h100-a")}
	twins := []demand.Pool{nodeSet("gpu"), {Name: "lab/gpu", Feature: "gpu", Workers: "gpu-"}}
	for _, tc := range []struct {
		name  string
		pools []demand.Pool
		node  *slurm.Node
		want  string
	}{
		{"its first feature identifies the pool", pools, node("n1", having("h100", "gpu")), "team/h100"},
		{"another feature does not identify the pool", pools, node("n1", having("x86", "gpu")), ""},
		{"its first active feature identifies the pool", pools, node("n1", having("x86"), active("gpu")), "team/gpu"},
		{"its name identifies the pool where features have another order", pools, node("h100-1", having("gpu", "h100")), "team/h100"},
		{"a name without the feature does not identify the pool", pools, node("h100-1", having("x86")), ""},
		{"a name needs an ordinal", pools, node("gpu-x", having("x86", "gpu")), ""},
		{"a longer name belongs to the NodeSet with the longer name", pools, node("h100-a-0", having("gpu", "h100", "h100-a")), "team/h100-a"},
		{"the operator's comment identifies the pool", pools, node("n1", having("x86"), notedAs("team", "gpu")), "team/gpu"},
		{"the operator's comment takes precedence over name and features", pools, node("gpu-0", having("gpu"), notedAs("team", "h100")), "team/h100"},
		{"a worker of an unknown NodeSet has no pool", pools, node("gpu-0", having("gpu"), notedAs("lab", "gpu")), ""},
		{"another comment has no effect", pools, node("gpu-0", having("gpu"), noting(`{"note": "nodeSetName"}`)), "team/gpu"},
		{"the comment distinguishes two NodeSets of one name", twins, node("gpu-0", having("gpu"), notedAs("team", "gpu")), "team/gpu"},
		{"without a comment the first of two NodeSets of one name has it", twins, node("gpu-0", having("gpu")), "lab/gpu"},
		{"without pools it has no pool", nil, node("gpu-0", having("gpu")), ""},
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
	pools := []demand.Pool{nodeSet("gpu"),
		nodeSet("h100", shaped(&demand.Shape{CPUs: 4, MemoryMiB: 8000, Features: []string{"gpu"}}))}
	parts := []any{
		partition("gpu", func(p *slurm.Partition) { p.NodeSets = "gpu" }),
		partition("h100", func(p *slurm.Partition) { p.NodeSets = "h100" }),
	}
	h100 := func(name string, options ...nodeOption) *slurm.Node {
		return node(name, append([]nodeOption{having("h100", "gpu"), within("gpu", "h100")},
			options...)...)
	}
	in := func(name string) jobOption { return func(j *slurm.Job) { j.Partition = name } }
	for _, tc := range []struct {
		name      string
		nouns     []any
		gpu, h100 uint64
	}{
		{"busy workers belong to the NodeSet", []any{h100("h100-0", state("ALLOCATED")), h100("h100-1", state("ALLOCATED"))}, 0, 2},
		{"busy workers of both", []any{h100("h100-0", state("ALLOCATED")), node("gpu-0", having("gpu"), within("gpu"), state("ALLOCATED"))}, 1, 1},
		{"jobs request nodes in the partition that they name", []any{job(1, exclusive, in("gpu")), job(2, exclusive, in("h100")), job(3, exclusive, in("h100"))}, 1, 2},
		{"a job in the shared partition takes an idle worker", []any{h100("h100-0"), job(1, exclusive, in("gpu"))}, 0, 1},
		{"only the second fits, though it is at zero", []any{job(1, exclusive, in("gpu"), withConstraint("h100"))}, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := computePools(snapshotOf(t, append(parts[:2:2], tc.nouns...)...), pools)
			if got, want := []uint64{d.Pools[0].Required, d.Pools[1].Required},
				[]uint64{tc.gpu, tc.h100}; !cmp.Equal(got, want) {
				t.Errorf("gpu and h100 require %d, want %d", got, want)
			}
		})
	}
}
