package nodeset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// fakeSlurm is a Slurm that says what a test wants: nodes are as it has them now, the
// reading as they were at the last poll.
type fakeSlurm struct {
	mu    sync.Mutex
	nodes map[string]*slurm.Node
	// jobs are the jobs that run, by id, with the name of their Slurm node.
	jobs         map[uint32]string
	reservations map[string]slurm.ReservationRequest
	latest       *slurmclients.Reading
	problem      string
	// fail is why a write fails, by its verb or by verb and name.
	fail map[string]error
	// calls are the writes; before may refuse one, after lose its answer.
	calls     []string
	refreshes int
	before    func() error
	after     func(error) error
	now       func() time.Time
	// cluster says from which Slurm cluster a reading comes; nil for not told.
	cluster func(*slurmclients.Reading)
	// otherCluster answers last looks in its place; nil for none.
	otherCluster *slurmclient.Client
}

func newFakeSlurm(now func() time.Time) *fakeSlurm {
	return &fakeSlurm{
		nodes: map[string]*slurm.Node{}, jobs: map[uint32]string{}, reservations: map[string]slurm.ReservationRequest{},
		latest: &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}}, fail: map[string]error{}, now: now,
	}
}

func (f *fakeSlurm) Reading() *slurmclients.Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}
func (f *fakeSlurm) Problem() string { return f.problem }

// RequestRefresh counts how often a reading was asked for.
func (f *fakeSlurm) RequestRefresh() { f.mu.Lock(); defer f.mu.Unlock(); f.refreshes++ }

// poll reads nodes and jobs now.
func (f *fakeSlurm) poll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.latest
	r := newReading(func(r *slurmclients.Reading) {
		r.Snapshot.Nodes.ReadAt, r.Snapshot.Jobs.ReadAt = f.now(),
			f.now()
	})
	for name, n := range f.nodes {
		read := *n
		r.Nodes[name] = &read
		if n.State.Has(slurm.NodeDrain) {
			r.DrainedSince[name] = f.now()
			if since, ok := was.DrainedSince[name]; ok {
				r.DrainedSince[name] = since
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.jobs)) {
		w := r.Work[f.jobs[id]]
		r.Work[f.jobs[id]] = occupancy.Work{Jobs: w.Jobs + 1, LastJob: id, End: nodesettest.Noon.Add(24 * time.Hour)}
	}
	r.Snapshot.Reservations.ReadAt = f.now()
	for name, have := range f.reservations {
		r.Snapshot.Reservations.Value = append(r.Snapshot.Reservations.Value, &slurm.Reservation{
			Name: name, StartTime: have.StartTime, EndTime: have.EndTime, Nodes: hostlist.Compress(have.Nodes)})
	}
	if f.cluster != nil {
		f.cluster(r)
	}
	f.latest = r
}

// start puts a job on a Slurm node, end takes it away.
func (f *fakeSlurm) start(id uint32, name string) {
	f.jobs[id] = name
	f.nodes[name].State.Base = slurm.NodeAllocated
}

func (f *fakeSlurm) end(id uint32) {
	n := f.nodes[f.jobs[id]]
	delete(f.jobs, id)
	if n != nil {
		n.State.Base, n.LastBusy = slurm.NodeIdle, slurm.At(f.now())
	}
}

// busy reports whether a job runs on a Slurm node.
func (f *fakeSlurm) busy(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(f.jobs)), name)
}

func (f *fakeSlurm) ReadNode(ctx context.Context, name string) (*slurm.Node, error) {
	if f.otherCluster != nil {
		return f.otherCluster.Node(ctx, name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmp.Or(f.fail["look"], f.fail["look "+name]); err != nil {
		return nil, err
	}
	if n := f.nodes[name]; n != nil {
		out := *n
		return &out, nil
	}
	return nil, &slurmclient.Error{Code: slurmclient.CodeNotFound, Op: "reading a node"}
}

// write is one write to the Slurm nodes of a host list, or to what is not there.
func (f *fakeSlurm) write(verb, names, text string, change func(name string) error) error {
	if err := f.before(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmp.Or(f.fail[verb], f.fail[verb+" "+names]); err != nil {
		return err
	}
	f.calls = append(f.calls, fmt.Sprintf("%s %s%s", verb, names, text))
	all, err := hostlist.Expand(names)
	if err != nil {
		return err
	}
	for _, name := range all {
		if err := change(name); err != nil {
			return err
		}
	}
	return f.after(nil)
}

// changeNode changes one Slurm node that is there.
func (f *fakeSlurm) changeNode(change func(n *slurm.Node)) func(string) error {
	return func(name string) error {
		n := f.nodes[name]
		if n == nil {
			return &slurmclient.Error{Code: slurmclient.CodeNotFound, Op: "updating a node"}
		}
		change(n)
		return nil
	}
}

func (f *fakeSlurm) Drain(_ context.Context, name, reason string) error {
	return f.write("drain", name, ": "+reason,
		f.changeNode(func(n *slurm.Node) { n.State.Flags, n.Reason = n.State.Flags|slurm.NodeDrain, reason }))
}

func (f *fakeSlurm) Undrain(_ context.Context, name string) error {
	return f.write("undrain", name, "",
		f.changeNode(func(n *slurm.Node) { n.State.Flags, n.Reason = n.State.Flags&^slurm.NodeDrain, "" }))
}

func (f *fakeSlurm) Resume(_ context.Context, name string) error {
	return f.write("resume", name, "", f.changeNode(func(n *slurm.Node) {
		n.State, n.Reason = slurm.NodeState{Base: slurm.NodeIdle, Flags: slurm.NodeDynamicNorm}, ""
	}))
}

func (f *fakeSlurm) Future(_ context.Context, name string) error {
	return f.write("future", name, "", f.changeNode(func(n *slurm.Node) {
		n.State, n.Reason = slurm.NodeState{Base: slurm.NodeFuture, Flags: slurm.NodeDynamicNorm}, ""
	}))
}

func (f *fakeSlurm) DeleteNode(_ context.Context, name string) error {
	return f.write("delete", name, "", func(name string) error { delete(f.nodes, name); return nil })
}

func (f *fakeSlurm) CreateNodes(_ context.Context, names, options string) error {
	return f.write("create", names, " "+options, func(name string) error {
		n := nodesettest.NewSlurmNode(name, "FUTURE")
		for word := range strings.FieldsSeq(options) {
			if features, ok := strings.CutPrefix(word, "Feature="); ok {
				n.Features = strings.Split(features, ",")
			}
		}
		f.nodes[name] = n
		return nil
	})
}

func (f *fakeSlurm) UpdateNode(_ context.Context, names string, u slurmclient.NodeUpdate) error {
	if err := f.fail["topology"]; err != nil && u.Topology != nil {
		return err
	}
	return f.write("update", names, "", f.changeNode(func(n *slurm.Node) {
		if u.Comment != nil {
			n.Comment = *u.Comment
		}
		if u.State != nil && *u.State == "DRAIN" {
			n.State.Flags |= slurm.NodeDrain
		}
		if u.Features != nil {
			n.Features = u.Features
		}
		if u.Topology != nil {
			n.Topology = *u.Topology
		}
	}))
}

func (f *fakeSlurm) SetReservation(_ context.Context, r slurm.ReservationRequest) error {
	return f.write("reserve", hostlist.Compress(r.Nodes), "",
		func(string) error { f.reservations[r.Name] = r; return nil })
}

func (f *fakeSlurm) DeleteReservation(_ context.Context, name string) error {
	return f.write("unreserve", name, "", func(string) error { delete(f.reservations, name); return nil })
}
