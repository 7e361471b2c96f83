package nodesettest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// FakeSlurm is a Slurm that a test controls: nodes have their current state, and the reading their state at the last
// poll.
type FakeSlurm struct {
	mu    sync.Mutex
	Nodes map[string]*slurm.Node
	// jobs are the jobs that run, by id, with the name of their Slurm node.
	jobs         map[uint32]string
	Reservations map[string]slurm.ReservationRequest
	// References names a job, a reservation or a partition that refers to a Slurm node, by node.
	References map[string]string
	// Waiting are pending jobs. Created records are in partition "all".
	Waiting []*slurm.Job
	Latest  *slurmclients.Reading
	// Outage is why Slurm cannot be read; empty if it can.
	Outage string
	// Fail maps a verb, or a verb and a name, to the error of the write.
	Fail map[string]error
	// Calls are the writes; Before may refuse one, After lose its answer.
	Calls     []string
	Refreshes int
	Before    func() error
	After     func(error) error
	now       func() time.Time
	// unwritten counts how often slurmctld read the records whose GRES were not written after their creation.
	unwritten map[string]int
	// Cluster sets the cluster of a reading; nil leaves it unset.
	Cluster func(*slurmclients.Reading)
	// OtherCluster, if set, answers last looks instead.
	OtherCluster *slurmclient.Client
}

// NewFakeSlurm returns a Slurm without nodes, which was never read.
func NewFakeSlurm(now func() time.Time) *FakeSlurm {
	return &FakeSlurm{
		Nodes: map[string]*slurm.Node{}, jobs: map[uint32]string{}, Reservations: map[string]slurm.ReservationRequest{},
		Latest: &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}}, Fail: map[string]error{}, now: now,
		unwritten: map[string]int{}, Before: func() error { return nil }, After: func(err error) error { return err },
	}
}

// Reading returns the reading of the last Poll.
func (f *FakeSlurm) Reading() *slurmclients.Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Latest
}

// Problem returns Outage.
func (f *FakeSlurm) Problem() string { return f.Outage }

// RequestRefresh counts the requests for a reading.
func (f *FakeSlurm) RequestRefresh() { f.mu.Lock(); defer f.mu.Unlock(); f.Refreshes++ }

// Poll reads nodes and jobs now.
func (f *FakeSlurm) Poll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.Latest
	r := NewReading(func(r *slurmclients.Reading) {
		r.Snapshot.Nodes.ReadAt, r.Snapshot.Jobs.ReadAt = f.now(),
			f.now()
	})
	f.listNodes(r)
	for name, n := range f.Nodes {
		if n.State.Has(slurm.NodeDrain) {
			r.DrainedSince[name] = f.now()
			if since, ok := was.DrainedSince[name]; ok {
				r.DrainedSince[name] = since
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.jobs)) {
		w := r.Work[f.jobs[id]]
		r.Work[f.jobs[id]] = occupancy.Work{Jobs: w.Jobs + 1, LastJob: id, End: Noon.Add(24 * time.Hour)}
	}
	r.Snapshot.Reservations.ReadAt = f.now()
	for name, have := range f.Reservations {
		r.Snapshot.Reservations.Value = append(r.Snapshot.Reservations.Value, &slurm.Reservation{
			Name: name, StartTime: have.StartTime, EndTime: have.EndTime, Nodes: hostlist.Compress(have.Nodes)})
	}
	if f.Cluster != nil {
		f.Cluster(r)
	}
	f.Latest = r
}

// listNodes adds copies of the nodes, and the references to them.
func (f *FakeSlurm) listNodes(r *slurmclients.Reading) {
	r.NodesIn = references.Nodes{}
	for name, n := range f.Nodes {
		read := *n
		r.Nodes[name] = &read
		r.NodesIn.Add(n.Partitions, n.Features)
	}
	r.References, r.Pending = maps.Clone(f.References), references.PendingByPartition(f.Waiting)
}

// Start starts a job on a Slurm node.
func (f *FakeSlurm) Start(id uint32, name string) {
	f.jobs[id] = name
	f.Nodes[name].State.Base = slurm.NodeAllocated
}

// End ends a job.
func (f *FakeSlurm) End(id uint32) {
	n := f.Nodes[f.jobs[id]]
	delete(f.jobs, id)
	if n != nil {
		n.State.Base, n.LastBusy = slurm.NodeIdle, slurm.At(f.now())
	}
}

// Busy reports whether a job runs on a Slurm node.
func (f *FakeSlurm) Busy(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(f.jobs)), name)
}

// ReadNode returns a copy of the node's current state.
func (f *FakeSlurm) ReadNode(ctx context.Context, name string) (*slurm.Node, error) {
	if f.OtherCluster != nil {
		return f.OtherCluster.Node(ctx, name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmp.Or(f.Fail["look"], f.Fail["look "+name]); err != nil {
		return nil, err
	}
	if n := f.Nodes[name]; n != nil {
		out := *n
		return &out, nil
	}
	return nil, &slurmclient.Error{Code: slurmclient.CodeNotFound, Op: "reading a node"}
}

// ReadNodes returns the nodes' current state, or Fail["look"].
func (f *FakeSlurm) ReadNodes(context.Context) (map[string]*slurm.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := NewReading()
	f.listNodes(r)
	return r.Nodes, f.Fail["look"]
}

// ReadReferences returns the nodes and the references to them, or Fail["references"].
func (f *FakeSlurm) ReadReferences(context.Context) (*slurmclients.Reading, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := NewReading()
	f.listNodes(r)
	return r, f.Fail["references"]
}

// write is one write to the Slurm nodes of a host list, or to missing nodes.
func (f *FakeSlurm) write(verb, names, text string, change func(name string) error) error {
	if err := f.Before(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmp.Or(f.Fail[verb], f.Fail[verb+" "+names]); err != nil {
		return err
	}
	f.Calls = append(f.Calls, fmt.Sprintf("%s %s%s", verb, names, text))
	all, err := hostlist.Expand(names)
	if err != nil {
		return err
	}
	for _, name := range all {
		if err := change(name); err != nil {
			return err
		}
	}
	return f.After(nil)
}

// changeNode changes one existing Slurm node.
func (f *FakeSlurm) changeNode(change func(n *slurm.Node)) func(string) error {
	return func(name string) error {
		n := f.Nodes[name]
		if n == nil {
			return &slurmclient.Error{Code: slurmclient.CodeNotFound, Op: "updating a node"}
		}
		change(n)
		return nil
	}
}

// Drain sets a node to DRAIN.
func (f *FakeSlurm) Drain(_ context.Context, name, reason string) error {
	return f.write("drain", name, ": "+reason,
		f.changeNode(func(n *slurm.Node) {
			n.State.Flags, n.Reason, n.ReasonAt = n.State.Flags|slurm.NodeDrain, reason, slurm.At(f.now())
		}))
}

// Undrain clears DRAIN.
func (f *FakeSlurm) Undrain(_ context.Context, name string) error {
	return f.write("undrain", name, "",
		f.changeNode(func(n *slurm.Node) { n.State.Flags, n.Reason = n.State.Flags&^slurm.NodeDrain, "" }))
}

// Resume clears DRAIN and DOWN.
func (f *FakeSlurm) Resume(_ context.Context, name string) error {
	return f.write("resume", name, "", f.changeNode(func(n *slurm.Node) {
		n.State, n.Reason = slurm.NodeState{Base: slurm.NodeIdle, Flags: slurm.NodeDynamicNorm}, ""
	}))
}

// Future sets a node back to FUTURE.
func (f *FakeSlurm) Future(_ context.Context, name string) error {
	return f.write("future", name, "", f.changeNode(func(n *slurm.Node) {
		n.State, n.Reason = slurm.NodeState{Base: slurm.NodeFuture, Flags: slurm.NodeDynamicNorm}, ""
	}))
}

// DeleteNode deletes a record.
func (f *FakeSlurm) DeleteNode(_ context.Context, name string) error {
	return f.write("delete", name, "", func(name string) error { delete(f.Nodes, name); return nil })
}

// CreateNodes creates FUTURE records.
func (f *FakeSlurm) CreateNodes(_ context.Context, names, options string) error {
	return f.write("create", names, " "+options, func(name string) error {
		n := NewSlurmNode(name, "FUTURE")
		n.Partitions = []string{"all"}
		for word := range strings.FieldsSeq(options) {
			if features, ok := strings.CutPrefix(word, "Feature="); ok {
				n.Features = strings.Split(features, ",")
			}
			if gres, ok := strings.CutPrefix(word, "Gres="); ok {
				n.GRES = gres
			}
			if cpus, ok := strings.CutPrefix(word, "CPUs="); ok {
				count, _ := strconv.ParseUint(cpus, 10, 32)
				n.CPUs = uint32(count)
			}
		}
		f.Nodes[name], f.unwritten[name] = n, 0
		return nil
	})
}

// Reconfigure removes the types from the GRES of FUTURE records on which they were not written after their creation.
func (f *FakeSlurm) Reconfigure() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.unwritten {
		if n := f.Nodes[name]; n != nil && n.State.Base == slurm.NodeFuture {
			f.unwritten[name]++
			if kind, typed, has := strings.Cut(n.GRES, ":"); has && strings.Contains(typed, ":") {
				n.GRES = kind + typed[strings.LastIndexByte(typed, ':'):]
			}
		}
	}
}

// acceptsGRES reports whether slurmctld lets the types of GRES be written: not between the first time and the second
// that it reads a new record.
func (f *FakeSlurm) acceptsGRES(name string) bool {
	if times, unwritten := f.unwritten[name]; unwritten && times == 1 {
		return false
	}
	delete(f.unwritten, name)
	return true
}

// UpdateNode writes comment, features and topology.
func (f *FakeSlurm) UpdateNode(_ context.Context, names string, u slurmclient.NodeUpdate) error {
	if err := f.Fail["topology"]; err != nil && u.Topology != nil {
		return err
	}
	return f.write("update", names, "", func(name string) error {
		if u.GRES != nil && !f.acceptsGRES(name) {
			return &slurmclient.Error{Code: slurmclient.CodeInvalid, Op: "updating a node",
				Message: "Invalid generic resource (gres) specification"}
		}
		return f.changeNode(func(n *slurm.Node) { updateNode(n, u) })(name)
	})
}

// updateNode changes the fields that are set in the update.
func updateNode(n *slurm.Node, u slurmclient.NodeUpdate) {
	if u.Comment != nil {
		n.Comment = *u.Comment
	}
	if u.State != nil && *u.State == "DRAIN" {
		n.State.Flags |= slurm.NodeDrain
	}
	if u.Features != nil {
		n.Features = u.Features
	}
	if u.GRES != nil {
		n.GRES = *u.GRES
	}
	if u.Topology != nil {
		n.Topology = *u.Topology
	}
}

// SetReservation creates or replaces a reservation.
func (f *FakeSlurm) SetReservation(_ context.Context, r slurm.ReservationRequest) error {
	return f.write("reserve", hostlist.Compress(r.Nodes), "",
		func(string) error { f.Reservations[r.Name] = r; return nil })
}

// DeleteReservation deletes a reservation.
func (f *FakeSlurm) DeleteReservation(_ context.Context, name string) error {
	return f.write("unreserve", name, "", func(string) error { delete(f.Reservations, name); return nil })
}

// NewReading returns a reading of nodes and jobs at noon.
func NewReading(change ...func(*slurmclients.Reading)) *slurmclients.Reading {
	r := &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}, Nodes: map[string]*slurm.Node{},
		Work: map[string]occupancy.Work{}, DrainedSince: map[string]time.Time{}}
	r.Snapshot.Nodes.Poll = slurmclient.Poll{Resource: slurmclient.Nodes, Known: true, ReadAt: Noon}
	r.Snapshot.Jobs.Poll = slurmclient.Poll{Resource: slurmclient.Jobs, Known: true,
		ReadAt: Noon.Add(time.Second)}
	for _, c := range change {
		c(r)
	}
	return r
}
