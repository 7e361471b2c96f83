package slurmtest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

type partition struct {
	copyOnWrite[slurm.Partition]
	conf  PartitionConf
	nodes []*node
}

func newPartition(conf PartitionConf) *partition {
	p := &partition{conf: conf}
	r := p.edit(0)
	*r = slurm.Partition{
		Name: conf.Name, State: slurm.PartitionState(cmp.Or(conf.State, "UP")), Default: conf.Default,
		MaxNodes: infiniteIfZero(conf.MaxNodes), MaxTime: infiniteIfZero(conf.MaxMinutes), DefaultTime: slurm.Unset(),
		PriorityTier: max(1, conf.PriorityTier), JobFactor: 1,
	}
	if conf.DefaultMinutes > 0 {
		r.DefaultTime = slurm.Num(uint64(conf.DefaultMinutes))
	}
	return p
}

// infiniteIfZero returns n, or infinite for 0.
func infiniteIfZero(n uint32) slurm.Number {
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
		if !slices.Equal(n.view().Partitions, in[n]) {
			n.edit(c.generation).Partitions = in[n]
			c.changedAt.nodes = c.now
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
	var total tresCounts
	var names []string
	for _, n := range c.nodes {
		if !p.hasAllNodes() && !wanted[n.name] && (p.conf.Feature == "" || !n.hasFeature(p.conf.Feature)) {
			continue
		}
		p.nodes = append(p.nodes, n)
		names = append(names, n.name)
		total.cpus += uint64(n.cpus)
		total.memory += n.memory
		total.gpus += uint64(n.gpus)
	}
	total.nodes, total.billing = uint64(len(names)), total.cpus
	c.writePartition(p, hostlist.Compress(names), total)
}

func (c *Cluster) writePartition(p *partition, nodes string, total tresCounts) {
	r := p.edit(c.generation)
	before := *r
	r.Nodes, r.TotalNodes, r.TotalCPUs, r.TRES = nodes, uint32(total.nodes), uint32(total.cpus), total.String()
	r.NodeSets = p.conf.Feature
	if p.hasAllNodes() {
		r.NodeSets = "ALL"
	}
	if r.Nodes != before.Nodes || r.TRES != before.TRES {
		c.changedAt.partitions = c.now
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
		p.edit(c.generation).State = state
		c.changedAt.partitions = c.now
		c.needsScheduling = true
	}
}
