package view

import (
	"errors"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// fakeDirectory is a Directory that tests modify.
type fakeDirectory struct {
	mu      sync.Mutex
	sources []Source
	err     error
	changed chan struct{}
}

func newDirectory(sources ...Source) *fakeDirectory {
	return &fakeDirectory{sources: sources, changed: make(chan struct{})}
}

func (d *fakeDirectory) Sources() ([]Source, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sources, d.err
}

func (d *fakeDirectory) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

func (d *fakeDirectory) set(sources ...Source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sources = sources
	close(d.changed)
	d.changed = make(chan struct{})
}

func clusterRef(namespace, name string) ClusterRef { return ClusterRef{"Cluster", namespace, name} }

// sourceOf returns a cluster whose records were read at noon.
func sourceOf(h ClusterRef, sequence uint64, things ...any) Source {
	s := &slurmclient.Snapshot{}
	poll := slurmclient.Poll{Enabled: true, Known: true, Sequence: sequence, ReadAt: noon()}
	s.Jobs.Poll, s.Nodes.Poll, s.Partitions.Poll = poll, poll, poll
	s.Jobs.Resource, s.Nodes.Resource, s.Partitions.Resource = slurmclient.Jobs, slurmclient.Nodes,
		slurmclient.Partitions
	for _, thing := range things {
		switch t := thing.(type) {
		case *slurm.Job:
			s.Jobs.Value = append(s.Jobs.Value, t)
		case *slurm.Node:
			s.Nodes.Value = append(s.Nodes.Value, t)
		case *slurm.Partition:
			s.Partitions.Value = append(s.Partitions.Value, t)
		}
	}
	return Source{Ref: h, Snapshot: func() (*slurmclient.Snapshot, error) { return s, nil }}
}

// readAt returns the cluster with jobs that were read at a time.
func (s Source) readAt(at time.Time) Source {
	snapshot, _ := s.Snapshot()
	changed := *snapshot
	changed.Jobs.ReadAt = at
	s.Snapshot = func() (*slurmclient.Snapshot, error) { return &changed, nil }
	return s
}

func (s Source) withDefault(p PrivateData) Source {
	s.Settings.Default = p
	return s
}

// withConf returns the cluster with PrivateData reported by slurmctld.
func (s Source) withConf(words ...string) Source {
	return s.withConfReading(slurmclient.Reading[*slurm.Conf]{
		Value: &slurm.Conf{PrivateData: words}, Poll: slurmclient.Poll{Enabled: true, Known: true},
	})
}

// withUnreadConf returns the cluster with PrivateData that has not been read yet.
func (s Source) withUnreadConf() Source {
	return s.withConfReading(slurmclient.Reading[*slurm.Conf]{Poll: slurmclient.Poll{Enabled: true}})
}

func (s Source) withConfReading(conf slurmclient.Reading[*slurm.Conf]) Source {
	snapshot, _ := s.Snapshot()
	changed := *snapshot
	changed.Conf = conf
	s.Snapshot = func() (*slurmclient.Snapshot, error) { return &changed, nil }
	return s
}

// unreadSource returns a cluster that could not be read.
func unreadSource(h ClusterRef) Source {
	return Source{Ref: h, Snapshot: func() (*slurmclient.Snapshot, error) {
		return nil,
			errors.New("it does not answer")
	}}
}

func newJob(id uint32, state slurm.JobBase, change ...func(*slurm.Job)) *slurm.Job {
	j := &slurm.Job{
		ID: id, Name: "sleep", SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserName: "alice", UserID: 3001, Account: "physics",
			QOS: "normal"}), Partition: "gpu",
		State: slurm.JobState{Base: state}, SubmitTime: slurm.At(noon().Add(-time.Hour)), TimeLimit: slurm.Num(90),
		NodeCount: slurm.Num(1), CPUs: slurm.Num(4), Priority: slurm.Num(100),
	}
	for _, c := range change {
		c(j)
	}
	return j
}

func ofUser(user string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.EditOwner(func(o *slurm.JobOwner) { o.UserName = user }) }
}
func inPartitions(partitions string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.Partition = partitions }
}
func onNodes(nodes string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.Nodes, j.StartTime = nodes, slurm.At(noon().Add(-10*time.Minute)) }
}
func waitsFor(reason string) func(*slurm.Job) { return func(j *slurm.Job) { j.Reason = reason } }

func newNode(name string, state ...string) *slurm.Node {
	return &slurm.Node{
		Name: name, Partitions: []string{"gpu", "all"}, State: slurm.ParseNodeState(state...), CPUs: 8,
		EffectiveCPUs: 8, IdleCPUs: 8,
		MemoryMiB: 16000, GRES: "gpu:h100:4", Features: []string{"h100"}, ActiveFeatures: []string{"h100"},
		Version: "26.05.5",
		Load:    slurm.Flt(0.25), Address: name, Hostname: name, Weight: 1,
	}
}

func newPartition(name string) *slurm.Partition {
	return &slurm.Partition{Name: name, State: slurm.PartitionUp, TotalNodes: 2, TotalCPUs: 16, Nodes: "n[0-1]",
		MaxTime: slurm.Infinite(), MaxNodes: slurm.Num(2), PriorityTier: 1}
}
