package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// queue is a Slurm cluster whose jobs change at random. A job's priority grows with each change.
type queue struct {
	// turns is whether jobs also return to what they were, and end at any time.
	turns bool
	rng   *rand.Rand
	jobs  map[uint32]uint64
	born  map[uint32]time.Time
	next  uint32
}

// minJobAge is how long a job is shown at least.
const minJobAge = 30 * time.Second

func (q *queue) change() {
	for range q.rng.IntN(4) {
		id := uint32(q.rng.IntN(int(q.next)) + 1)
		switch _, ok := q.jobs[id]; {
		case q.rng.IntN(3) == 0:
			q.next++
			q.jobs[q.next], q.born[q.next] = 1, time.Now()
		case ok && q.rng.IntN(3) == 0 && (q.turns || time.Since(q.born[id]) > minJobAge):
			delete(q.jobs, id)
		case ok && q.turns:
			q.jobs[id] = uint64(1 + q.rng.IntN(3))
		case ok:
			q.jobs[id]++
		}
	}
}

// replica is a view that reads the queue on its own.
type replica struct {
	view  *View
	store *store[slurm.Job]
	dir   *fakeDirectory
}

// askAll asks all replicas as Peers do.
func askAll(replicas *[]*replica) Peers {
	return func(ctx context.Context, path string) ([]byte, error) {
		for _, r := range *replicas {
			w := httptest.NewRecorder()
			r.view.serveStates(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			if w.Code == http.StatusOK {
				return w.Body.Bytes(), nil
			}
		}
		return nil, errors.New("no replica has the version")
	}
}

// startReplica starts a replica whose clock goes wrong by skew.
func startReplica(ctx context.Context, q *queue, peers Peers, period, took, skew time.Duration) *replica {
	r := &replica{dir: newDirectory(unreadSource(clusterRef("a", "red")))}
	now := func() time.Time { return time.Now().Add(skew) }
	v := New(r.dir, Config{Now: now, Peers: peers})
	r.view, r.store = v, newStore(v, v.jobs, authorizer.AuthorizerFunc(authorizeRequest))
	go v.Run(ctx)
	go func() {
		var last map[uint32]uint64
		var records []any
		for sequence := uint64(1); ctx.Err() == nil; {
			begun := now()
			time.Sleep(took / 2) // the state is that of a moment during the poll
			state := maps.Clone(q.jobs)
			time.Sleep(took / 2)
			if !maps.Equal(state, last) {
				records, last = nil, state
				for _, id := range slices.Sorted(maps.Keys(state)) {
					records = append(records, newJob(id, slurm.JobPending, func(j *slurm.Job) { j.Priority = slurm.Num(state[id]) }))
				}
				sequence++
			}
			r.dir.set(redSource(sequence, records...).readAt(begun))
			time.Sleep(period)
		}
	}()
	return r
}

// informer is a client that lists in pages and then watches, each request at a random replica. It keeps what it has seen.
type informer struct {
	t        *testing.T
	rng      *rand.Rand
	replicas []*replica
	// pages is whether the client lists in pages, and growing whether a job's number only grows.
	pages, growing bool
	has            map[string]int64
	// repeated is the number of events that show what the client has already.
	events, repeated, handovers int
}

func (c *informer) any() *store[slurm.Job] { return c.replicas[c.rng.IntN(len(c.replicas))].store }

// list returns the resourceVersion of the list.
func (c *informer) list(ctx context.Context) string {
	opts := internalversion.ListOptions{}
	if c.pages {
		opts.Limit = int64(1 + c.rng.IntN(20))
	}
	has, rv, last := map[string]int64{}, "", uint32(0)
	for {
		got, err := c.any().List(ctx, &opts)
		if err != nil {
			c.t.Errorf("a list at a random replica ends with %v", err)
			return ""
		}
		list := got.(*v1alpha1.SlurmJobList)
		for _, j := range list.Items {
			if uint32(j.Spec.JobID) <= last {
				c.t.Errorf("job %d is listed after %d", j.Spec.JobID, last)
			}
			last = uint32(j.Spec.JobID)
			has[j.Name] = *j.Status.Priority
		}
		if rv == "" {
			rv = list.ResourceVersion // as client-go's pager does
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			c.has = has
			return rv
		}
	}
}

// watch follows the changes for a time and returns the last resourceVersion.
func (c *informer) watch(ctx context.Context, rv string, length time.Duration) string {
	w, err := c.any().Watch(ctx, &internalversion.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true})
	if err != nil {
		c.t.Errorf("a watch at a random replica ends with %v", err)
		return ""
	}
	defer w.Stop()
	end := time.After(length)
	for {
		select {
		case e := <-w.ResultChan():
			rv = c.receive(e, rv)
		case <-end:
			return c.drain(w, rv)
		}
	}
}

// drain takes the events that were due when the watch ended: a client that leaves among the changes of a frame gets some again.
func (c *informer) drain(w watch.Interface, rv string) string {
	for {
		synctest.Wait()
		select {
		case e := <-w.ResultChan():
			rv = c.receive(e, rv)
		default:
			return rv
		}
	}
}

// receive applies an event and returns its resourceVersion.
func (c *informer) receive(e watch.Event, rv string) string {
	o, ok := e.Object.(*v1alpha1.SlurmJob)
	if !ok {
		c.t.Fatalf("the event is %s", formatEvent(e))
	}
	if next := o.ResourceVersion; len(next) < len(rv) || next < rv {
		c.t.Errorf("resourceVersion %s follows %s", next, rv)
	}
	c.apply(e.Type, o)
	return o.ResourceVersion
}

func (c *informer) apply(kind watch.EventType, o *v1alpha1.SlurmJob) {
	if kind == watch.Bookmark {
		return
	}
	c.events++
	old, known := c.has[o.Name]
	switch {
	case kind == watch.Deleted:
		if !known {
			c.repeated++
		}
		delete(c.has, o.Name)
		return
	case known && *o.Status.Priority == old:
		c.repeated++
	case known && *o.Status.Priority < old && c.growing && c.handovers > 0:
		// In the first watch, a job of a page of another replica may go back for a moment.
		c.t.Errorf("%s goes back from %d to %d", o.Name, old, *o.Status.Priority)
	}
	c.has[o.Name] = *o.Status.Priority
}

func names(jobs map[uint32]uint64) map[string]int64 {
	out := map[string]int64{}
	for id, n := range jobs {
		out[fmt.Sprintf("red.%d", id)] = int64(n)
	}
	return out
}

// Lists and watches continue at any replica: no job is missed, none is listed twice, and none goes back.
func TestAnyReplicaContinues(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := &informer{t: t, pages: true, growing: true}
			playInformer(t, seed, c, false)
			t.Logf("%d events, %d repeated in %d handovers", c.events, c.repeated, c.handovers)
		})
	}
}

// If the other replicas tell what they have shown, no event is repeated, and jobs that return to what they were are not missed either.
func TestAReplicaThatKnowsWhatOthersHaveShownRepeatsNothing(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := &informer{t: t}
			playInformer(t, seed, c, true)
			if c.repeated != 0 || c.events == 0 {
				t.Errorf("of %d events in %d handovers, %d are repeated", c.events, c.handovers, c.repeated)
			}
		})
	}
}

// playInformer lets a client list once and then watch, each time for a while, while a queue changes, and compares what the client has
// with the queue.
func playInformer(t *testing.T, seed uint64, c *informer, peers bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 0))
		c.t, c.rng = t, rng
		ctx, cancel := context.WithCancel(asUser("alice"))
		q := &queue{rng: rand.New(rand.NewPCG(seed, 1)), turns: peers, jobs: map[uint32]uint64{}, born: map[uint32]time.Time{}, next: 1}
		for range 100 {
			q.change()
		}
		var ask Peers
		if peers {
			ask = askAll(&c.replicas)
		}
		for range 2 + rng.IntN(2) {
			c.replicas = append(c.replicas, startReplica(ctx, q, ask, time.Duration(500+rng.IntN(6000))*time.Millisecond,
				time.Duration(rng.IntN(2000))*time.Millisecond, time.Duration(rng.IntN(1000)-500)*time.Millisecond))
		}
		stop := make(chan struct{})
		go q.run(stop)
		time.Sleep(30 * time.Second)
		rv := c.list(ctx)
		for range 20 {
			rv = c.watch(ctx, rv, time.Duration(1+c.rng.IntN(60))*time.Second)
			c.handovers++
		}
		close(stop)
		c.watch(ctx, rv, time.Minute)
		if want := names(q.jobs); !maps.Equal(c.has, want) {
			t.Error("the client has other jobs than the queue")
		}
		cancel()
		synctest.Wait()
		time.Sleep(time.Minute)
	})
}

// run changes the queue until stop is closed.
func (q *queue) run(stop <-chan struct{}) {
	for {
		select {
		case <-time.After(time.Duration(100+q.rng.IntN(400)) * time.Millisecond):
			q.change()
		case <-stop:
			return
		}
	}
}
