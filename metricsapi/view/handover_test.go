package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// handover is a client of replica a that moves to replica b.
type handover struct {
	t    *testing.T
	ctx  context.Context
	a, b *replica
}

// startStill starts a replica whose sources the test sets.
func (h *handover) startStill(peers Peers, sources ...Source) *replica {
	r := &replica{dir: newDirectory(sources...)}
	r.view = New(r.dir, Config{Peers: peers})
	r.store = newStore(r.view, r.view.jobs, authorizer.AuthorizerFunc(authorizeRequest))
	go r.view.Run(h.ctx)
	synctest.Wait()
	return r
}

// askA asks replica a.
func (h *handover) askA(ctx context.Context, path string) ([]byte, error) {
	w := httptest.NewRecorder()
	h.a.view.serveStates(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		return nil, errors.New(w.Body.String())
	}
	return w.Body.Bytes(), nil
}

func (h *handover) list(r *replica) string {
	h.t.Helper()
	got, err := r.store.List(h.ctx, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return got.(*v1alpha1.SlurmJobList).ResourceVersion
}

func readNow(sequence uint64, private bool, things ...any) Source {
	return redSource(sequence, things...).withDefault(PrivateData{Jobs: private}).readAt(time.Now())
}

// Clients list again where a replica cannot know what they have.
func TestHandoversAfterWhichClientsListAgain(t *testing.T) {
	one, two, three := newJob(1, slurm.JobRunning), newJob(2, slurm.JobRunning), newJob(3, slurm.JobRunning)
	blue := func(jobs ...any) Source { return sourceOf(clusterRef("b", "blue"), 1, jobs...).readAt(time.Now()) }
	for name, move := range map[string]func(h *handover) (version string){
		"a job of the user that the new replica never saw has ended": func(h *handover) string {
			h.a = h.startStill(nil, readNow(1, true, one, two))
			at := h.list(h.a)
			h.b = h.startStill(h.askA, readNow(1, true, one))
			return at
		},
		"jobs are private at one replica only": func(h *handover) string {
			h.a = h.startStill(nil, readNow(1, false, one))
			h.b = h.startStill(h.askA, readNow(1, true, one))
			return h.list(h.a)
		},
		"a cluster was removed": func(h *handover) string {
			h.a = h.startStill(nil, readNow(1, false, one), blue(two))
			h.b = h.startStill(h.askA, readNow(1, false, one))
			return h.list(h.a)
		},
		"the new replica had not read a cluster yet, and the other one is gone": func(h *handover) string {
			h.a = h.startStill(nil, readNow(1, false, one, two))
			h.b = h.startStill(nil, unreadSource(clusterRef("a", "red")))
			time.Sleep(30 * time.Second)
			h.a.dir.set(readNow(1, false, one, two))
			synctest.Wait()
			at := h.list(h.a)
			h.b.dir.set(readNow(1, false, one, three))
			return at
		},
		"the version is of the future": func(h *handover) string {
			h.b = h.startStill(nil, readNow(1, false, one))
			return newVersion(time.Now().Add(time.Hour), 1<<12-1, 0).String()
		},
		"the watch breaks among what the new replica sends first": func(h *handover) string {
			h.a = h.startStill(nil, readNow(1, false, one))
			at := h.list(h.a)
			h.b = h.startStill(h.askA, readNow(1, false, one))
			time.Sleep(10 * time.Second)
			h.b.dir.set(readNow(2, false, one, two, three))
			synctest.Wait()
			w, err := h.b.store.Watch(h.ctx, &internalversion.ListOptions{ResourceVersion: at})
			if err != nil {
				h.t.Fatal(err)
			}
			defer w.Stop()
			return (<-w.ResultChan()).Object.(*v1alpha1.SlurmJob).ResourceVersion
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(asUser("alice"))
				h := &handover{t: t, ctx: ctx}
				at := move(h)
				time.Sleep(10 * time.Second)
				h.b.dir.set(append([]Source{h.b.dir.sources[0].readAt(time.Now())}, h.b.dir.sources[1:]...)...)
				synctest.Wait()
				w, err := h.b.store.Watch(ctx, &internalversion.ListOptions{ResourceVersion: at})
				if err == nil {
					e := <-w.ResultChan()
					err = apierrors.FromObject(e.Object)
					w.Stop()
				}
				if !apierrors.IsResourceExpired(err) {
					t.Errorf("the watch ends with %v", err)
				}
				cancel()
				synctest.Wait()
				time.Sleep(time.Minute)
			})
		})
	}
}

// A watch sends no changes in the last seconds before its end: clients that break among them get some again, or have to list again.
func TestAWatchThatEndsSoonSendsNoChanges(t *testing.T) {
	one, two, three := newJob(1, slurm.JobRunning), newJob(2, slurm.JobRunning), newJob(3, slurm.JobRunning)
	for _, c := range []struct {
		timeout, changedAfter time.Duration
		want                  int
	}{{8 * time.Second, 7 * time.Second, 0}, {8 * time.Second, 5 * time.Second, 2}, {time.Second, 500 * time.Millisecond, 2},
		{time.Second, 800 * time.Millisecond, 0}} {
		for _, hasMoved := range []bool{false, true} {
			t.Run(fmt.Sprint(c.timeout, " ", c.changedAfter, " ", hasMoved), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(asUser("alice"))
					h := &handover{t: t, ctx: ctx}
					h.a = h.startStill(nil, readNow(1, false, one))
					to := h.a
					if hasMoved {
						h.b = h.startStill(h.askA, readNow(1, false, one))
						to = h.b
					}
					at := h.list(h.a)
					time.Sleep(10 * time.Second)
					to.dir.set(readNow(1, false, one)) // as new as the version
					synctest.Wait()
					limited, end := context.WithTimeout(ctx, c.timeout)
					defer end()
					time.AfterFunc(c.changedAfter, func() { to.dir.set(readNow(2, false, one, two, three)) })
					w, err := to.store.Watch(limited, &internalversion.ListOptions{ResourceVersion: at})
					if err != nil {
						t.Fatal(err)
					}
					got := 0
					for range w.ResultChan() {
						got++
					}
					if got != c.want {
						t.Errorf("%d events, want %d", got, c.want)
					}
					cancel()
					synctest.Wait()
					time.Sleep(time.Minute)
				})
			})
		}
	}
}

// A watch may break as often as it likes: the version of a client that has a part of the changes stays the same.
func TestAWatchThatBreaksAgainAndAgain(t *testing.T) {
	d := newDirectory(redSource(1))
	s := newJobStore(d)
	at := s.timeline.versionOfState(refreshed(t, s.timeline)).String()
	d.set(redSource(2, newJob(1, slurm.JobPending), newJob(2, slurm.JobPending)))
	refreshed(t, s.timeline)
	for range 10 {
		w, err := s.Watch(asUser("alice"), &internalversion.ListOptions{ResourceVersion: at})
		if err != nil {
			t.Fatal(err)
		}
		e := <-w.ResultChan()
		if got := formatEvent(e); got != "ADDED red.1" {
			t.Fatalf("the first event is %s", got)
		}
		at = e.Object.(*v1alpha1.SlurmJob).ResourceVersion
		w.Stop()
	}
}

// In a quiet cluster a replica has no new frame for a long time, and versions do not go back nevertheless.
func TestVersionsOfAQuietClusterDoNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(asUser("alice"))
		h := &handover{t: t, ctx: ctx}
		h.b = h.startStill(h.askA, readNow(1, false, newJob(1, slurm.JobRunning)))
		time.Sleep(time.Minute)
		h.a = h.startStill(nil, readNow(1, false, newJob(1, slurm.JobRunning)))
		h.b.dir.set(readNow(1, false, newJob(1, slurm.JobRunning)))
		synctest.Wait()
		at := mustVersion(t, h.list(h.a))
		time.Sleep(5 * time.Second)
		h.b.dir.set(readNow(1, false, newJob(1, slurm.JobRunning)))
		synctest.Wait()
		if next := mustVersion(t, h.list(h.b)); next <= at {
			t.Errorf("a list at b has version %d after %d", next, at)
		}
		w, err := h.b.store.Watch(ctx, &internalversion.ListOptions{ResourceVersion: at.String(), AllowWatchBookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		e := <-w.ResultChan() // a bookmark after 30 s
		if next := mustVersion(t, e.Object.(*v1alpha1.SlurmJob).ResourceVersion); next <= at {
			t.Errorf("the watch sends %s of version %d after %d", formatEvent(e), next, at)
		}
		w.Stop()
		cancel()
		synctest.Wait()
		time.Sleep(time.Minute)
	})
}
