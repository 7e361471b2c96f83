package slurmctld

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/copyonwrite"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/format"
)

type partition struct {
	copyonwrite.Record[slurm.Partition]
	conf  PartitionConf
	nodes []*node
}

func newPartition(conf PartitionConf) *partition {
	p := &partition{conf: conf}
	r := p.Edit(0)
	*r = slurm.Partition{
		Name: conf.Name, State: slurm.PartitionState(cmp.Or(conf.State, "UP")), Default: conf.Default,
		MaxNodes: InfiniteIfZero(conf.MaxNodes), MaxTime: InfiniteIfZero(conf.MaxMinutes), DefaultTime: slurm.Unset(),
		PriorityTier: max(1, conf.PriorityTier), JobFactor: 1,
	}
	if conf.DefaultMinutes > 0 {
		r.DefaultTime = slurm.Num(uint64(conf.DefaultMinutes))
	}
	return p
}

// InfiniteIfZero returns n, or infinite for 0.
func InfiniteIfZero(n uint32) slurm.Number {
	if n == 0 {
		return slurm.Infinite()
	}
	return slurm.Num(uint64(n))
}

func (p *partition) name() string { return p.conf.Name }

func (p *partition) hasAllNodes() bool {
	return p.conf.Feature == "" && (p.conf.Nodes == "" || p.conf.Nodes == "ALL")
}

// refreshPartitions recomputes the nodes of each partition.
func (c *Cluster) refreshPartitions() {
	in := map[*node][]string{}
	for _, p := range c.partitions {
		c.fillPartition(p)
		for _, n := range p.nodes {
			in[n] = append(in[n], p.name())
		}
	}
	for _, n := range c.nodes {
		if !slices.Equal(n.View().Partitions, in[n]) {
			n.Edit(c.generation).Partitions = in[n]
			c.changedAt.Nodes = c.now
		}
	}
}

func (c *Cluster) fillPartition(p *partition) {
	wanted := map[string]bool{}
	if !p.hasAllNodes() && p.conf.Feature == "" {
		names, _ := hostlist.Expand(p.conf.Nodes)
		for _, name := range names {
			wanted[name] = true
		}
	}
	p.nodes = nil
	var total format.TRES
	var names []string
	for _, n := range c.nodes {
		if !p.hasAllNodes() && !wanted[n.name] && (p.conf.Feature == "" || !n.hasFeature(p.conf.Feature)) {
			continue
		}
		p.nodes = append(p.nodes, n)
		names = append(names, n.name)
		total.CPUs += uint64(n.CPUs)
		total.Memory += n.memory
		total.GPUs += uint64(n.gpus)
	}
	total.Nodes, total.Billing = uint64(len(names)), total.CPUs
	c.writePartition(p, hostlist.Compress(names), total)
}

func (c *Cluster) writePartition(p *partition, nodes string, total format.TRES) {
	r := p.Edit(c.generation)
	before := *r
	r.Nodes, r.TotalNodes, r.TotalCPUs, r.TRES = nodes, uint32(total.Nodes), uint32(total.CPUs), total.String()
	r.NodeSets = p.conf.Feature
	if p.hasAllNodes() {
		r.NodeSets = "ALL"
	}
	if r.Nodes != before.Nodes || r.TRES != before.TRES {
		c.changedAt.Partitions = c.now
	}
}

func (c *Cluster) partition(name string) *partition {
	for _, p := range c.partitions {
		if p.name() == name {
			return p
		}
	}
	return nil
}

// partitionsOf resolves "a,b"; an empty text means the default partition. ok is false if one of
// them does not exist.
func (c *Cluster) partitionsOf(text string) (list []*partition, ok bool) {
	if text == "" {
		i := slices.IndexFunc(c.partitions, func(p *partition) bool { return p.conf.Default })
		if i < 0 {
			return nil, false
		}
		return c.partitions[i : i+1], true
	}
	for name := range strings.SplitSeq(text, ",") {
		p := c.partition(name)
		if p == nil {
			return nil, false
		}
		list = append(list, p)
	}
	return list, true
}

// SetPartitionState sets a partition UP, DOWN, DRAIN or INACTIVE.
func (c *Cluster) SetPartitionState(name string, state slurm.PartitionState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.partition(name); p != nil {
		p.Edit(c.generation).State = state
		c.changedAt.Partitions = c.now
		c.needsScheduling = true
	}
}
