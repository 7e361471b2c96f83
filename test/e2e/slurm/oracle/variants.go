package oracle

import "github.com/slurmtide/slurmtide/slurmclient/demand"

// Variants returns the kinds of clusters that scenarios run on.
func Variants() []Variant {
	small := demand.Shape{CPUs: 4, MemoryMiB: 8000}
	large := demand.Shape{CPUs: 16, MemoryMiB: 32000, Weight: 10, Features: []string{"big"}}
	typed := demand.Shape{CPUs: 8, MemoryMiB: 16000, GRES: "gpu:h100:4", Weight: 10}
	return []Variant{
		{
			Name: "one NodeSet", Partitions: []string{"a"},
			Pools: []demand.Pool{newPool("a", 16, small)},
			Conf:  []string{"PartitionName=a Nodes=a"},
		}, {
			Name: "two NodeSets, one partition", Partitions: []string{"all"},
			Constraints: []string{"a", "b", "big", "a|b"},
			Pools:       []demand.Pool{newPool("a", 10, small, "all"), newPool("b", 6, large, "all")},
			Conf:        []string{"PartitionName=all Nodes=a,b"},
		}, {
			Name: "partitions that share", Partitions: []string{"a", "b", "all", "a,b"},
			Pools: []demand.Pool{newPool("a", 10, small, "a", "all"), newPool("b", 6, large, "b", "all")},
			Conf: []string{"PartitionName=a Nodes=a", "PartitionName=b Nodes=b MaxNodes=2",
				"PartitionName=all Nodes=a,b"},
		}, {
			Name: "typed GPUs", Partitions: []string{"g", "a,g"}, GRES: []string{"gpu", "gpu:h100"},
			Pools: []demand.Pool{newPool("a", 8, small), newPool("g", 8, typed)},
			Conf:  []string{"PartitionName=a Nodes=a", "PartitionName=g Nodes=g"},
		}, {
			Name: "untyped GPUs", Partitions: []string{"g"}, GRES: []string{"gpu"},
			Pools: []demand.Pool{newPool("g", 12, demand.Shape{CPUs: 8, MemoryMiB: 16000, GRES: "gpu:2"})},
			Conf:  []string{"PartitionName=g Nodes=g"},
		}, {
			Name: "two threads for each core", Partitions: []string{"t"},
			Pools: []demand.Pool{newPool("t", 12, demand.Shape{CPUs: 8, MemoryMiB: 16000, ThreadsPerCore: 2})},
			Nodes: map[string]string{"t": "Sockets=1 CoresPerSocket=4 ThreadsPerCore=2"},
			Conf:  []string{"PartitionName=t Nodes=t"},
		}, {
			Name: "CPUs without memory", Partitions: []string{"a"},
			Pools: []demand.Pool{newPool("a", 16, small)},
			Conf:  []string{"SelectTypeParameters=CR_CPU", "PartitionName=a Nodes=a MaxCPUsPerNode=3"},
		}, {
			Name: "whole nodes", Partitions: []string{"a"},
			Pools: []demand.Pool{newPool("a", 20, small)},
			Conf:  []string{"PartitionName=a Nodes=a OverSubscribe=EXCLUSIVE"},
		}, {
			Name: "limits", Partitions: []string{"a", "a", "capped"}, QOS: limitNames(cpuQOS), Accounts: accountNames(),
			Pools: []demand.Pool{newPool("a", 16, small, "a", "capped")},
			Conf: []string{
				enforceLimits,
				"PartitionName=a Nodes=a", "PartitionName=capped Nodes=a QOS=eight-cpus",
			},
		}, {
			Name: "limits on cores", Partitions: []string{"t"}, QOS: limitNames(cpuQOS), Accounts: accountNames(),
			Pools: []demand.Pool{newPool("t", 12, demand.Shape{CPUs: 8, MemoryMiB: 16000, ThreadsPerCore: 2})},
			Nodes: map[string]string{"t": "Sockets=1 CoresPerSocket=4 ThreadsPerCore=2"},
			Conf:  []string{enforceLimits, "PartitionName=t Nodes=t"},
		}, {
			Name: "limits on GPUs", Partitions: []string{"g"}, GRES: []string{"gpu"}, QOS: limitNames(gpuQOS),
			Pools: []demand.Pool{newPool("g", 12, demand.Shape{CPUs: 16, MemoryMiB: 32000, GRES: "gpu:8"})},
			Conf:  []string{enforceLimits, "PartitionName=g Nodes=g"},
		}, {
			Name: "specialized cores", Partitions: []string{"s"},
			Pools: []demand.Pool{newPool("s", 14, demand.Shape{CPUs: 3, MemoryMiB: 8000})},
			Nodes: map[string]string{"s": "CPUs=4 CoreSpecCount=1"},
			Conf:  []string{"PartitionName=s Nodes=s"},
		},
	}
}

const enforceLimits = "AccountingStorageEnforce=associations,limits,qos,nojobs"

// limit is a QOS or an account with its limits, which apply where a variant enforces them.
type limit struct{ name, limits string }

// cpuQOS and gpuQOS are the QOS of every cluster, for variants with CPU and GPU limits.
var (
	cpuQOS = []limit{
		{"two-jobs", "MaxJobsPerUser=2"},
		{"eight-cpus", "MaxTRESPerUser=cpu=8"},
		{"six-cpus", "GrpTRES=cpu=6"},
		{"three-nodes", "GrpTRES=node=3"},
		{"small-jobs", "MaxTRESPerJob=cpu=4 MaxTRESPerNode=cpu=2"},
	}
	gpuQOS = []limit{
		{"eight-gpus", "MaxTRESPerUser=gres/gpu=8"},
		{"six-gpus", "GrpTRES=gres/gpu=6"},
		{"few-gpus", "MaxTRESPerJob=gres/gpu=4 MaxTRESPerNode=gres/gpu=2"},
	}
)

// limitedAccounts are the accounts of every cluster. The first one is the parent of the others.
var limitedAccounts = []limit{
	{"division", "GrpTRES=cpu=24"},
	{"lab", "GrpJobs=3"},
	{"team", "MaxTRESPerJob=node=2 GrpTRES=node=4"},
}

func limitNames(of []limit) (names []string) {
	for _, q := range of {
		names = append(names, q.name)
	}
	return names
}

// accountNames returns the accounts that jobs can use.
func accountNames() []string { return limitNames(limitedAccounts[1:]) }

// newPool returns the pool of a NodeSet with a maximum. Its workers are in the given partitions, by default in the
// partition of its name.
func newPool(name string, most uint64, shape demand.Shape, partitions ...string) demand.Pool {
	if len(partitions) == 0 {
		partitions = []string{name}
	}
	return demand.Pool{Name: name, Feature: name, WorkerPrefix: name + "-", Partitions: partitions, Max: most,
		Shape: &shape}
}
