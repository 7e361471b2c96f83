package view

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// formatEvent returns an event as text, such as "ADDED red.7" or "ERROR Expired".
func formatEvent(e watch.Event) string {
	switch o := e.Object.(type) {
	case *metav1.Status:
		return fmt.Sprintf("%s %s", e.Type, o.Reason)
	case metav1.Object:
		return strings.TrimSpace(fmt.Sprintf("%s %s%s", e.Type, o.GetName(),
			map[bool]string{true: "(end of state)"}[o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"]))
	}
	return "?"
}

// watchTest is a watch in a synctest bubble. Its clock begins at noon.
type watchTest struct {
	t    *testing.T
	dir  *fakeDirectory
	view *View
	w    watch.Interface
}

// receivedEvents returns the events until the watch blocks or ends.
func (w *watchTest) receivedEvents() string {
	var out []string
	for {
		synctest.Wait()
		select {
		case e, ok := <-w.w.ResultChan():
			if !ok {
				return strings.Join(append(out, "end"), ", ")
			}
			out = append(out, formatEvent(e))
		default:
			return strings.Join(out, ", ")
		}
	}
}

func (w *watchTest) expect(want string) {
	w.t.Helper()
	if got := w.receivedEvents(); got != want {
		w.t.Errorf("the events are %q, want %q", got, want)
	}
}

// runWatchTest runs a test with a watch of the user alice, who may not see all private records.
func runWatchTest(t *testing.T, opts internalversion.ListOptions, sources []Source, test func(w *watchTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := &watchTest{t: t, dir: newDirectory(sources...)}
		w.view = New(w.dir, Config{Now: func() time.Time { return noon().Add(time.Since(begin)) }})
		ctx, cancel := context.WithCancel(asUser("alice"))
		done := make(chan struct{})
		go func() { w.view.Run(ctx); close(done) }()
		s := newStore(w.view, w.view.jobs, authorizer.AuthorizerFunc(authorizeRequest))
		got, err := s.Watch(ctx, &opts)
		if err != nil {
			t.Fatal(err)
		}
		w.w = got
		test(w)
		got.Stop()
		cancel()
		<-done
	})
}

func redSource(sequence uint64, things ...any) Source {
	return sourceOf(clusterRef("a", "red"), sequence, things...)
}

func TestAWatchReportsChanges(t *testing.T) {
	one, two := newJob(1, slurm.JobRunning), newJob(2, slurm.JobPending)
	runWatchTest(t, internalversion.ListOptions{}, []Source{redSource(1, one, two)}, func(w *watchTest) {
		w.expect("ADDED red.1, ADDED red.2")
		w.dir.set(redSource(1, one, two))
		w.expect("")
		w.dir.set(redSource(2, one, newJob(2, slurm.JobRunning), newJob(3, slurm.JobPending)))
		w.expect("MODIFIED red.2, ADDED red.3")
		w.dir.set(redSource(3, one))
		w.expect("DELETED red.2, DELETED red.3")
		w.dir.set()
		w.expect("DELETED red.1")
		w.w.Stop()
		w.expect("end")
	})
}

func TestAWatchThatSelects(t *testing.T) {
	running, err := labels.Parse("state=running")
	if err != nil {
		t.Fatal(err)
	}
	runWatchTest(t, internalversion.ListOptions{LabelSelector: running},
		[]Source{redSource(1, newJob(1, slurm.JobRunning), newJob(2, slurm.JobPending))}, func(w *watchTest) {
			w.expect("ADDED red.1")
			w.dir.set(redSource(2, newJob(1, slurm.JobCompleted), newJob(2, slurm.JobRunning)))
			w.expect("DELETED red.1, ADDED red.2")
		})
}

func TestAWatchOfPrivateJobs(t *testing.T) {
	mine, other := newJob(1, slurm.JobRunning, ofUser("alice")), newJob(2, slurm.JobRunning, ofUser("bob"))
	private := PrivateData{Jobs: true}
	runWatchTest(t, internalversion.ListOptions{}, []Source{redSource(1, mine, other).withDefault(private)},
		func(w *watchTest) {
			w.expect("ADDED red.1")
			w.dir.set(redSource(2, mine, other, newJob(3, slurm.JobPending, ofUser("bob")),
				newJob(4, slurm.JobPending, ofUser("alice"))).withDefault(private))
			w.expect("ADDED red.4")
		})
	runWatchTest(t, internalversion.ListOptions{}, []Source{redSource(1, mine, other)}, func(w *watchTest) {
		w.expect("ADDED red.1, ADDED red.2")
		w.dir.set(redSource(2, mine, newJob(2, slurm.JobCompleted, ofUser("bob"))).withDefault(private))
		w.expect("ERROR Expired, end")
	})
}

func TestAWatchThatBeginsWithTheState(t *testing.T) {
	yes := true
	opts := internalversion.ListOptions{SendInitialEvents: &yes,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true}
	runWatchTest(t, opts, []Source{redSource(1, newJob(1, slurm.JobRunning))}, func(w *watchTest) {
		w.expect("ADDED red.1, BOOKMARK (end of state)")
		time.Sleep(bookmarkEvery)
		w.expect("BOOKMARK")
		w.dir.set(redSource(2, newJob(1, slurm.JobRunning), newJob(2, slurm.JobPending)))
		w.expect("ADDED red.2")
	})
}

func TestAWatchFromAVersion(t *testing.T) {
	d := newDirectory(redSource(1, newJob(1, slurm.JobRunning)))
	s := newJobStore(d)
	first := refreshed(t, s.timeline)
	d.set(redSource(2, newJob(1, slurm.JobRunning), newJob(2, slurm.JobPending)))
	refreshed(t, s.timeline)
	w, err := s.Watch(asUser("alice"), &internalversion.ListOptions{ResourceVersion: first.version.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if got := formatEvent(<-w.ResultChan()); got != "ADDED red.2" {
		t.Errorf("the first event is %s", got)
	}
	if _, err := s.Watch(asUser("alice"), &internalversion.ListOptions{ResourceVersion: "17"}); err == nil ||
		!strings.Contains(err.Error(), "list again") {
		t.Errorf("from an unknown version: %v", err)
	}
}

func TestAWatchOfStaleJobsEnds(t *testing.T) {
	runWatchTest(t, internalversion.ListOptions{}, []Source{redSource(1, newJob(1, slurm.JobRunning))},
		func(w *watchTest) {
			w.expect("ADDED red.1")
			time.Sleep(time.Minute)
			w.expect("")
			time.Sleep(2 * time.Minute)
			w.expect("ERROR ServiceUnavailable, end")
		})
}

func TestANewConnectionDeletesNothing(t *testing.T) {
	runWatchTest(t, internalversion.ListOptions{}, []Source{redSource(7, newJob(1, slurm.JobRunning))},
		func(w *watchTest) {
			w.expect("ADDED red.1")
			w.dir.set(redSource(1, newJob(1, slurm.JobRunning), newJob(2, slurm.JobRunning)))
			w.expect("ADDED red.2")
		})
}

func TestASlowClientGetsTheSum(t *testing.T) {
	runWatchTest(t, internalversion.ListOptions{},
		[]Source{redSource(1, newJob(1, slurm.JobPending), newJob(2, slurm.JobPending))}, func(w *watchTest) {
			for i := range 5 {
				w.dir.set(redSource(uint64(i+2), newJob(1, slurm.JobRunning), newJob(uint32(3+i), slurm.JobPending)))
				synctest.Wait()
			}
			w.expect("ADDED red.1, ADDED red.2, MODIFIED red.1, DELETED red.2, ADDED red.7")
		})
}

// A client whose watch breaks among the changes of one frame gets the rest of them.
func TestAWatchThatBreaksAmongChanges(t *testing.T) {
	d := newDirectory(redSource(1))
	s := newJobStore(d)
	refreshed(t, s.timeline)
	begin := s.timeline.versionOfState(refreshed(t, s.timeline))
	d.set(redSource(2, newJob(1, slurm.JobPending), newJob(2, slurm.JobPending), newJob(3, slurm.JobPending)))
	refreshed(t, s.timeline)
	seen, at := map[string]bool{}, begin.String()
	for _, most := range []int{2, 3} {
		w, err := s.Watch(asUser("alice"), &internalversion.ListOptions{ResourceVersion: at})
		if err != nil {
			t.Fatal(err)
		}
		for range most {
			o := (<-w.ResultChan()).Object.(metav1.Object)
			seen[o.GetName()], at = true, o.GetResourceVersion()
		}
		w.Stop()
	}
	if want := refreshed(t, s.timeline).version.String(); len(seen) != 3 || at != want {
		t.Errorf("the client has seen %v, and is at %s, want three jobs and %s", seen, at, want)
	}
}

// A client whose watch breaks after a change that is taken back gets the record again.
func TestAWatchThatBreaksAfterAChangeThatIsTakenBack(t *testing.T) {
	d := newDirectory(redSource(1, newJob(1, slurm.JobPending), newJob(2, slurm.JobPending)))
	s := newJobStore(d)
	begin := refreshed(t, s.timeline).version
	d.set(redSource(2, newJob(1, slurm.JobRunning), newJob(2, slurm.JobRunning)))
	refreshed(t, s.timeline)
	w, err := s.Watch(asUser("alice"), &internalversion.ListOptions{ResourceVersion: begin.String()})
	if err != nil {
		t.Fatal(err)
	}
	at := (<-w.ResultChan()).Object.(metav1.Object).GetResourceVersion() // of red.1
	w.Stop()
	d.set(redSource(3, newJob(1, slurm.JobPending), newJob(2, slurm.JobPending), newJob(3, slurm.JobPending)))
	refreshed(t, s.timeline)
	again := map[string]*store[slurm.Job]{"the same replica": s}
	other := New(d, Config{Now: func() time.Time { return noon().Add(time.Minute) },
		Peers: func(ctx context.Context, path string) ([]byte, error) {
			return json.Marshal(s.timeline.describe(mustVersion(t, at)))
		}})
	again["another replica"] = newStore(other, other.jobs, authorizer.AuthorizerFunc(authorizeRequest))
	for name, s := range again {
		w, err := s.Watch(asUser("alice"), &internalversion.ListOptions{ResourceVersion: at})
		if err != nil {
			t.Fatal(name, err)
		}
		if name == "another replica" {
			d.set(redSource(3, newJob(1, slurm.JobPending), newJob(2, slurm.JobPending), newJob(3, slurm.JobPending)).readAt(noon().Add(time.Minute)))
		}
		got := map[string]bool{}
		for range 2 {
			e := <-w.ResultChan()
			got[formatEvent(e)] = true
		}
		w.Stop()
		if !got["MODIFIED red.1"] {
			t.Errorf("at %s, the events are %v", name, got)
		}
	}
}

func mustVersion(t *testing.T, text string) version {
	t.Helper()
	v, err := parseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Watches that begin at one version at one time, as after a restart of the API server, cost one question and one answer.
func TestAReplicaIsAskedOnceForManyWatches(t *testing.T) {
	d := newDirectory(redSource(1, newJob(1, slurm.JobPending)))
	first := newJobStore(d)
	at := refreshed(t, first.timeline).version
	if a, b := first.timeline.describe(at), first.timeline.describe(at); len(a) != 1 || &a[0] != &b[0] {
		t.Error("the state of a frame is computed twice")
	}
	var asked atomic.Int32
	release := make(chan struct{})
	other := New(d, Config{Now: noon, Peers: func(context.Context, string) ([]byte, error) {
		asked.Add(1)
		<-release
		return json.Marshal(first.timeline.describe(at))
	}})
	s := newStore(other, other.jobs, authorizer.AuthorizerFunc(authorizeRequest))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			w, err := s.Watch(asUser("alice"), &internalversion.ListOptions{ResourceVersion: at.String()})
			if err != nil {
				t.Error(err)
				return
			}
			w.Stop()
		})
	}
	time.Sleep(50 * time.Millisecond)
	close(release)
	wg.Wait()
	if n := asked.Load(); n == 0 || n > 5 {
		t.Errorf("for 20 watches the other replica was asked %d times", n)
	}
}

func TestAnAnswerOfAPeerThatIsNoStateIsReported(t *testing.T) {
	for _, answer := range []string{"", "{}", `[{"ref":{},"keys":["1"],"fingerprints":[]}]`, "<html>"} {
		var reported error
		v := New(newDirectory(redSource(1)), Config{Now: noon, OnPeerFailure: func(err error) { reported = err },
			Peers: func(context.Context, string) ([]byte, error) { return []byte(answer), nil }})
		s := newStore(v, v.jobs, authorizer.AuthorizerFunc(authorizeRequest))
		if state := s.askPeers(asUser("alice"), newVersion(noon(), 99, 0)); state != nil || reported == nil {
			t.Errorf("%q is read as %v, %v", answer, state, reported)
		}
	}
}

func TestWatchesEndWithTheServer(t *testing.T) {
	runWatchTest(t, internalversion.ListOptions{}, []Source{redSource(1, newJob(1, slurm.JobRunning))}, func(w *watchTest) {
		w.expect("ADDED red.1")
		w.view.EndWatches()
		w.expect("end")
	})
}
