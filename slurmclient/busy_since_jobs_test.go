package slurmclient

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestNextBusySinceJobs(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(1_800_000_000+int64(second), 0) }
	node := func(base slurm.NodeBase, cpus uint32) *slurm.Node {
		return &slurm.Node{Name: "n1", State: slurm.NodeState{Base: base}, AllocCPUs: cpus}
	}
	read := func(second int, nodes ...*slurm.Node) Reading[[]*slurm.Node] {
		return Reading[[]*slurm.Node]{Value: nodes,
			Poll: Poll{Known: true, ReadAt: at(second), Sequence: uint64(second)}}
	}
	idle, some, more, all := node(slurm.NodeIdle, 0), node(slurm.NodeMixed, 1), node(slurm.NodeMixed, 2),
		node(slurm.NodeAllocated, 4)
	kept := map[string]BusyNode{"n1": {Before: idle, BeforeReadAt: at(1), BusyAt: at(10)}}
	for _, tc := range []struct {
		name    string
		old     map[string]BusyNode
		was, is Reading[[]*slurm.Node]
		jobsAt  int
		want    map[string]BusyNode
	}{
		{"a node got its first job", nil, read(1, idle), read(10, all), 5,
			map[string]BusyNode{"n1": {idle, at(1), at(10)}}},
		{"a node got another job", nil, read(1, some), read(10, more), 5,
			map[string]BusyNode{"n1": {some, at(1), at(10)}}},
		{"a new node with jobs", nil, read(1), read(10, all), 5, map[string]BusyNode{"n1": {nil, at(1), at(10)}}},
		{"jobs were read later", nil, read(1, idle), read(10, all), 10, nil},
		{"jobs are read now", kept, read(10, all), read(10, all), 11, nil},
		{"jobs were read before", kept, read(10, all), read(10, all), 9, kept},
		{"another job later keeps the first record", kept, read(10, some), read(20, more), 5,
			map[string]BusyNode{"n1": {idle, at(1), at(20)}}},
		{"a node lost a job", nil, read(1, more), read(10, some), 5, nil},
		{"a node lost its last job", kept, read(10, all), read(20, idle), 5, nil},
		{"a node was deleted", kept, read(10, all), read(20), 5, nil},
		{"a node did not change", nil, read(1, all), read(10, all), 5, nil},
		{"the first reading of nodes", nil, Reading[[]*slurm.Node]{}, read(10, all), 5, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := maps.Clone(tc.old)
			if diff := cmp.Diff(tc.want, nextBusySinceJobs(tc.old, tc.was, tc.is, at(tc.jobsAt))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, tc.old); diff != "" {
				t.Errorf("the old map was modified:\n%s", diff)
			}
		})
	}
}

func TestTheCacheKeepsBusyNodesUntilJobsAreRead(t *testing.T) {
	c := NewCache(&Client{}, CacheConfig{})
	at := time.Unix(1_800_000_000, 0)
	report := func(r Resource, second int, set func(*Snapshot)) []string {
		p := c.pollerOf(r)
		p.cache.publish(func(s *Snapshot) {
			p.writeReading(s, at.Add(time.Duration(second)*time.Second), 0, reading{update: set})
		})
		return slices.Sorted(maps.Keys(c.Snapshot().BusySinceJobs))
	}
	nodes := func(base slurm.NodeBase) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Nodes.Value = []*slurm.Node{{Name: "n1", State: slurm.NodeState{Base: base}}}
		}
	}
	report(Jobs, 0, nil)
	report(Nodes, 1, nodes(slurm.NodeIdle))
	if got := report(Nodes, 2, nodes(slurm.NodeAllocated)); len(got) != 1 {
		t.Errorf("after nodes were read it keeps %q", got)
	}
	if got := report(Partitions, 3, nil); len(got) != 1 {
		t.Errorf("after partitions were read it keeps %q", got)
	}
	if got := report(Jobs, 4, nil); len(got) != 0 {
		t.Errorf("after jobs were read it keeps %q", got)
	}
}
