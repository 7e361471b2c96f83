package view

import (
	"context"
	"fmt"
	"strings"
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
func event(e watch.Event) string {
	switch o := e.Object.(type) {
	case *metav1.Status:
		return fmt.Sprintf("%s %s", e.Type, o.Reason)
	case metav1.Object:
		return strings.TrimSpace(fmt.Sprintf("%s %s%s", e.Type, o.GetName(), map[bool]string{true: "(end of state)"}[o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"]))
	}
	return "?"
}

// watchTest is a watch in a synctest bubble. Its clock begins at noon.
type watched struct {
	t    *testing.T
	dir  *directory
	view *View
	w    watch.Interface
}

// receivedEvents returns the events until the watch blocks or ends.
func (w *watched) heard() string {
	var out []string
	for {
		synctest.Wait()
		select {
		case e, ok := <-w.w.ResultChan():
			if !ok {
				return strings.Join(append(out, "end"), ", ")
			}
			out = append(out, event(e))
		default:
			return strings.Join(out, ", ")
		}
	}
}

func (w *watched) is(want string) {
	w.t.Helper()
	if got := w.heard(); got != want {
		w.t.Errorf("the events are %q, want %q", got, want)
	}
}

// runWatchTest runs a test with a watch of the user alice, who may not see all private records.
func watching(t *testing.T, opts internalversion.ListOptions, sources []Source, test func(w *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := &watched{t: t, dir: directoryOf(sources...)}
		w.view = New(w.dir, Config{Now: func() time.Time { return noon().Add(time.Since(begin)) }})
		ctx, cancel := context.WithCancel(as("alice"))
		done := make(chan struct{})
		go func() { w.view.Run(ctx); close(done) }()
		s := storeOf(w.view, w.view.jobs, authorizer.AuthorizerFunc(rights))
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

func on1(sequence uint64, things ...any) Source {
	return sourceOf(home("a", "red"), sequence, things...)
}

func TestAWatchTellsWhatChanges(t *testing.T) {
	one, two := job(1, slurm.JobRunning), job(2, slurm.JobPending)
	watching(t, internalversion.ListOptions{}, []Source{on1(1, one, two)}, func(w *watched) {
		w.is("ADDED red.1, ADDED red.2")
		w.dir.set(on1(1, one, two))
		w.is("")
		w.dir.set(on1(2, one, job(2, slurm.JobRunning), job(3, slurm.JobPending)))
		w.is("MODIFIED red.2, ADDED red.3")
		w.dir.set(on1(3, one))
		w.is("DELETED red.2, DELETED red.3")
		w.dir.set()
		w.is("DELETED red.1")
		w.w.Stop()
		w.is("end")
	})
}

func TestAWatchThatSelects(t *testing.T) {
	running, err := labels.Parse("state=running")
	if err != nil {
		t.Fatal(err)
	}
	watching(t, internalversion.ListOptions{LabelSelector: running}, []Source{on1(1, job(1, slurm.JobRunning), job(2, slurm.JobPending))}, func(w *watched) {
		w.is("ADDED red.1")
		w.dir.set(on1(2, job(1, slurm.JobCompleted), job(2, slurm.JobRunning)))
		w.is("DELETED red.1, ADDED red.2")
	})
}

func TestAWatchOfWhatIsPrivate(t *testing.T) {
	mine, other := job(1, slurm.JobRunning, of("alice")), job(2, slurm.JobRunning, of("bob"))
	private := Private{Jobs: true}
	watching(t, internalversion.ListOptions{}, []Source{on1(1, mine, other).kept(private)}, func(w *watched) {
		w.is("ADDED red.1")
		w.dir.set(on1(2, mine, other, job(3, slurm.JobPending, of("bob")), job(4, slurm.JobPending, of("alice"))).kept(private))
		w.is("ADDED red.4")
	})
	watching(t, internalversion.ListOptions{}, []Source{on1(1, mine, other)}, func(w *watched) {
		w.is("ADDED red.1, ADDED red.2")
		w.dir.set(on1(2, mine, job(2, slurm.JobCompleted, of("bob"))).kept(private))
		w.is("ERROR Expired, end")
	})
}

func TestAWatchThatBeginsWithTheState(t *testing.T) {
	yes := true
	opts := internalversion.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true}
	watching(t, opts, []Source{on1(1, job(1, slurm.JobRunning))}, func(w *watched) {
		w.is("ADDED red.1, BOOKMARK (end of state)")
		time.Sleep(bookmarkEvery)
		w.dir.set(on1(2, job(1, slurm.JobRunning), job(2, slurm.JobPending)))
		w.is("ADDED red.2, BOOKMARK")
	})
}

func TestAWatchFromAVersion(t *testing.T) {
	d := directoryOf(on1(1, job(1, slurm.JobRunning)))
	s := jobStore(d)
	first := refreshed(t, s.line)
	d.set(on1(2, job(1, slurm.JobRunning), job(2, slurm.JobPending)))
	refreshed(t, s.line)
	w, err := s.Watch(as("alice"), &internalversion.ListOptions{ResourceVersion: version(first.version)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if got := event(<-w.ResultChan()); got != "ADDED red.2" {
		t.Errorf("the first event is %s", got)
	}
	if _, err := s.Watch(as("alice"), &internalversion.ListOptions{ResourceVersion: "17"}); err == nil || !strings.Contains(err.Error(), "list again") {
		t.Errorf("from an unknown version: %v", err)
	}
}

func TestAWatchOfWhatGrowsStaleEnds(t *testing.T) {
	watching(t, internalversion.ListOptions{}, []Source{on1(1, job(1, slurm.JobRunning))}, func(w *watched) {
		w.is("ADDED red.1")
		time.Sleep(time.Minute)
		w.is("")
		time.Sleep(2 * time.Minute)
		w.is("ERROR ServiceUnavailable, end")
	})
}

func TestAConnectionThatIsMadeAnewDeletesNothing(t *testing.T) {
	watching(t, internalversion.ListOptions{}, []Source{on1(7, job(1, slurm.JobRunning))}, func(w *watched) {
		w.is("ADDED red.1")
		w.dir.set(on1(1, job(1, slurm.JobRunning), job(2, slurm.JobRunning)))
		w.is("ADDED red.2")
	})
}

func TestASlowClientGetsTheSum(t *testing.T) {
	watching(t, internalversion.ListOptions{}, []Source{on1(1, job(1, slurm.JobPending), job(2, slurm.JobPending))}, func(w *watched) {
		for i := range 5 {
			w.dir.set(on1(uint64(i+2), job(1, slurm.JobRunning), job(uint32(3+i), slurm.JobPending)))
			synctest.Wait()
		}
		w.is("ADDED red.1, ADDED red.2, MODIFIED red.1, DELETED red.2, ADDED red.7")
	})
}
