package oracle

import "github.com/slurmtide/slurmtide/slurmclient/demand"

// Variants are the clusters that scenes are played on.
func Variants() []Variant {
	return []Variant{
		{
			Name:  "one NodeSet",
			Pools: []demand.Pool{pool("a", 16, demand.Shape{CPUs: 4, MemoryMiB: 8000})},
			Conf:  []string{"PartitionName=a Nodes=a Default=YES MaxTime=INFINITE"},
		},
	}
}

// pool is a NodeSet with a maximum whose workers are in a partition of its name.
func pool(name string, most uint64, shape demand.Shape) demand.Pool {
	return demand.Pool{Name: name, Feature: name, Partitions: []string{name}, Max: most, Shape: &shape}
}
