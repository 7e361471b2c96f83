package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

func usageCollector() exposition.Collector {
	return exposition.Collector{
		Name: "usage", Set: exposition.Native, Help: "how long nodes, CPUs and GPUs were in use",
		Needs: []slurmclient.Resource{slurmclient.Nodes}, CountsTime: true,
		NewHistory: func() exposition.History { return NewNodeTime() },
		Note: "Each reading of the nodes counts until the next one. Time without a reading for more than 2 minutes, " +
			"and 3 polls, is unknown and does not count. Nodes with a suspended job count as idle, as in Slurm. " +
			"Several replicas count the same time: take `max` over them, not `sum`.",
	}
}

// NodeTime counts for how long nodes, CPUs and GPUs were in each state. It processes every
// snapshot, scraped or not. Only one goroutine may call Record.
type NodeTime struct {
	registry *prometheus.Registry
	nodes, cpus, gpus,
	partitionNodes, partitionCPUs, partitionGPUs *prometheus.CounterVec

	last *slurmclient.Snapshot
	uses *tally.NodeUses // of last
}

const (
	nodeTimeHelp = "Seconds of nodes by state: busy with work or in an active reservation, idle, booting, unusable " +
		"(down, drained or failed, without work) or off (powered down, or FUTURE records), summed over "
	cpuTimeHelp = "Seconds of CPUs that jobs may use, by state: allocated, idle, or other (not allocated on a node " +
		"that is down, drained, booting or reserved), summed over "
	gpuTimeHelp = "Seconds of GPUs by type and state: allocated, idle, or other (not allocated on a node that is " +
		"down, drained, booting or reserved), summed over "
)

// NewNodeTime returns a NodeTime without snapshots.
func NewNodeTime() *NodeTime {
	o := &NodeTime{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		o.registry.MustRegister(v)
		return v
	}
	const all, partition = "all nodes.", "the nodes of the partition."
	o.nodes = counter("slurm_node_seconds_total", nodeTimeHelp+all, "state")
	o.cpus = counter("slurm_cpu_seconds_total", cpuTimeHelp+all, "state")
	o.gpus = counter("slurm_gpu_seconds_total", gpuTimeHelp+all, "type", "state")
	o.partitionNodes = counter("slurm_partition_node_seconds_total", nodeTimeHelp+partition, "partition", "state")
	o.partitionCPUs = counter("slurm_partition_cpu_seconds_total", cpuTimeHelp+partition, "partition", "state")
	o.partitionGPUs = counter("slurm_partition_gpu_seconds_total", gpuTimeHelp+partition, "partition", "type", "state")
	return o
}

// Record adds the time since the previous snapshot.
func (o *NodeTime) Record(s *slurmclient.Snapshot) {
	if !s.Nodes.Known {
		return
	}
	took := time.Duration(0)
	if o.last != nil {
		took = o.last.Nodes.TimeUntil(s.Nodes.Poll)
	}
	o.addSeconds(took)
	if tally.HasChanged(o.last, s, slurmclient.Nodes) {
		o.uses = tally.CountNodeUses(s.Nodes.Value)
		o.addSeconds(0) // series of new partitions and types start at 0
	}
	o.last = s
}

// addSeconds adds a time to the counters of the states that the last snapshot shows.
func (o *NodeTime) addSeconds(took time.Duration) {
	if o.uses == nil {
		return
	}
	seconds := took.Seconds()
	addNodeTime(o.nodes, o.uses.All.Nodes, seconds)
	addUsageTime(o.cpus, o.uses.All.CPUs, seconds)
	for kind, u := range o.uses.All.GPUs {
		addUsageTime(o.gpus, u, seconds, kind)
	}
	for partition, use := range o.uses.ByPartition {
		addNodeTime(o.partitionNodes, use.Nodes, seconds, partition)
		addUsageTime(o.partitionCPUs, use.CPUs, seconds, partition)
		for kind, u := range use.GPUs {
			addUsageTime(o.partitionGPUs, u, seconds, partition, kind)
		}
	}
}

func addNodeTime(to *prometheus.CounterVec, nodes map[string]uint64, seconds float64, labels ...string) {
	for _, use := range demand.NodeUses() {
		to.WithLabelValues(append(labels, use)...).Add(float64(nodes[use]) * seconds)
	}
}

func addUsageTime(to *prometheus.CounterVec, u tally.Usage, seconds float64, labels ...string) {
	to.WithLabelValues(append(labels, "allocated")...).Add(float64(u.Allocated) * seconds)
	to.WithLabelValues(append(labels, "idle")...).Add(float64(u.Idle) * seconds)
	to.WithLabelValues(append(labels, "other")...).Add(float64(u.Other) * seconds)
}

// Families renders the counters. It may be called concurrently with Record.
func (o *NodeTime) Families(labels exposition.ConstLabels) []exposition.RenderedFamily {
	return renderRegistry(o.registry, labels)
}

// Example returns counters of one partition with GPUs.
func (o *NodeTime) Example() prometheus.Gatherer {
	e := NewNodeTime()
	use := tally.NodeUse{GPUs: map[string]tally.Usage{"h100": {}}}
	e.uses = &tally.NodeUses{All: use, ByPartition: map[string]*tally.NodeUse{"batch": &use}}
	e.addSeconds(0)
	return e.registry
}
