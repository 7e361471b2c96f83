package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newJobStore returns a store of the jobs in a directory.
func newJobStore(d *fakeDirectory) *store[slurm.Job] {
	v := New(d, Config{Now: noon})
	return newStore(v, v.jobs, authorizer.AuthorizerFunc(authorizeRequest))
}

func asUser(who string) context.Context {
	return request.WithUser(context.Background(), &user.DefaultInfo{Name: who})
}

// queueOf returns a cluster with jobs 1 to n, alternately of alice and bob.
func queueOf(h ClusterRef, sequence uint64, n int) Source {
	var jobs []any
	for i := range n {
		jobs = append(jobs, newJob(uint32(i+1), slurm.JobPending, ofUser([]string{"alice", "bob"}[i%2])))
	}
	return sourceOf(h, sequence, jobs...)
}

// listPages returns the object names of each page, separated by bars.
func listPages(t *testing.T, s *store[slurm.Job], who string, opts internalversion.ListOptions, between func()) (
	string, error) {
	t.Helper()
	var out []string
	for {
		got, err := s.List(asUser(who), &opts)
		if err != nil {
			return strings.Join(out, " | "), err
		}
		list := got.(*v1alpha1.SlurmJobList)
		var names []string
		for _, j := range list.Items {
			names = append(names, j.Name)
		}
		page := strings.Join(names, " ")
		if n := list.RemainingItemCount; n != nil {
			page += fmt.Sprintf(" +%d", *n)
		}
		out = append(out, page)
		if opts.Continue = list.Continue; opts.Continue == "" {
			return strings.Join(out, " | "), nil
		}
		between()
	}
}

func TestPages(t *testing.T) {
	even := labels.SelectorFromSet(labels.Set{"user": "bob"})
	for _, tc := range []struct {
		name, who string
		opts      internalversion.ListOptions
		private   bool
		want      string
	}{
		{"across two clusters", "root", internalversion.ListOptions{Limit: 2}, false,
			"red.1 red.2 +4 | red.3 blue.1 +2 | blue.2 blue.3"},
		{"with the limit at the number of jobs", "root", internalversion.ListOptions{Limit: 6}, false,
			"red.1 red.2 red.3 blue.1 blue.2 blue.3"},
		{"with a selector, without a remaining count", "root",
			internalversion.ListOptions{Limit: 1, LabelSelector: even}, false, "red.2 | blue.2"},
		{"with private jobs, without a remaining count", "alice", internalversion.ListOptions{Limit: 3}, true,
			"red.1 red.3 blue.1 | blue.3"},
		{"without a limit", "root", internalversion.ListOptions{}, true, "red.1 red.2 red.3 blue.1 blue.2 blue.3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := PrivateData{Jobs: tc.private}
			s := newJobStore(newDirectory(queueOf(clusterRef("a", "red"), 1, 3).withDefault(p),
				queueOf(clusterRef("b", "blue"), 1, 3).withDefault(p)))
			got, err := listPages(t, s, tc.who, tc.opts, func() {})
			if err != nil || got != tc.want {
				t.Errorf("pages are %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestPagesAreOfOneFrame(t *testing.T) {
	d := newDirectory(queueOf(clusterRef("a", "red"), 1, 5))
	s := newJobStore(d)
	got, err := listPages(t, s, "root", internalversion.ListOptions{Limit: 2},
		func() { d.set(queueOf(clusterRef("a", "red"), 2, 3)) })
	if want := "red.1 red.2 +3 | red.3 red.4 +1 | red.5"; err != nil || got != want {
		t.Errorf("pages are %q, %v, want %q", got, err, want)
	}
}

func TestAPageOfADroppedFrameIsExpired(t *testing.T) {
	d := newDirectory(queueOf(clusterRef("a", "red"), 1, 5))
	at := noon()
	v := New(d, Config{Now: func() time.Time { return at }, MaxAge: time.Hour})
	s := newStore(v, v.jobs, authorizer.AuthorizerFunc(authorizeRequest))
	first, err := s.List(asUser("root"), &internalversion.ListOptions{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxFrames + 1 {
		at = at.Add(keepFrames / maxFrames * 2)
		d.set(queueOf(clusterRef("a", "red"), uint64(i+2), 6+i%2))
		refreshed(t, s.timeline)
	}
	_, err = s.List(asUser("root"),
		&internalversion.ListOptions{Limit: 2, Continue: first.(*v1alpha1.SlurmJobList).Continue})
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("the error is %v", err)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("the error %v has no status", err)
	}
	opts := internalversion.ListOptions{Limit: 2, Continue: status.Status().ListMeta.Continue}
	if got, err := listPages(t, s, "root", opts, func() {}); err != nil || got != "red.3 red.4 +2 | red.5 red.6" {
		t.Errorf("with the token of the error the list continues with %q, %v", got, err)
	}
}

func TestAPageIsBounded(t *testing.T) {
	s := newJobStore(newDirectory(queueOf(clusterRef("a", "red"), 1, maxItems+1)))
	got, err := s.List(asUser("root"), &internalversion.ListOptions{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if list := got.(*v1alpha1.SlurmJobList); len(list.Items) != maxItems || list.Continue == "" {
		t.Errorf("with a high limit there are %d items, and the continue token is %q", len(list.Items), list.Continue)
	}
}

// client-go lists without a limit when its version has expired, and informers do when they list again.
func TestListsWithoutALimitAreServedOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJobStore(newDirectory(queueOf(clusterRef("a", "red"), 1, maxItems+1)))
		first, written := context.WithCancel(asUser("root"))
		defer written()
		for _, ctx := range []context.Context{first, asUser("root")} {
			begun := time.Now()
			go func() {
				time.Sleep(10 * time.Second)
				written()
			}()
			got, err := s.List(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if list := got.(*v1alpha1.SlurmJobList); len(list.Items) != maxItems+1 || list.Continue != "" {
				t.Errorf("there are %d items, and the continue token is %q", len(list.Items), list.Continue)
			}
			if waited := time.Since(begun); waited != 0 && ctx == first || waited != 10*time.Second && ctx != first {
				t.Errorf("the list took %s", waited)
			}
		}
		if _, err := s.List(asUser("root"), nil); !apierrors.IsServerTimeout(err) {
			t.Errorf("beside a list that is never written, the error is %v", err)
		}
		if _, err := s.List(asUser("root"), &internalversion.ListOptions{Limit: 10}); err != nil {
			t.Errorf("beside a long list, the error of a page is %v", err)
		}
	})
}

func TestObjectsShowWhatSlurmReports(t *testing.T) {
	view := New(newDirectory(sourceOf(clusterRef("a", "red"), 1,
		newJob(7, slurm.JobRunning, onNodes("n0"), inPartitions("cpu,gpu"), func(j *slurm.Job) {
			j.TimeLimit, j.Priority = slurm.Infinite(), slurm.Number{}
			j.EditOwner(func(o *slurm.JobOwner) { o.UserName = "alice@site" })
			j.ArrayJobID, j.ArrayTaskID = 5, slurm.Num(0)
			j.EndTime = slurm.Never
		}))), Config{Now: noon})
	server := serverOf(t, view)
	version := refreshed(t, view.jobs).version
	_, body := askAs(t, server, "root", groupPath+"/namespaces/a/slurmjobs/red.7")
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"kind": "SlurmJob", "apiVersion": "view.slinky.slurm.net/v1alpha1",
		"metadata.name": "red.7", "metadata.creationTimestamp": "2026-03-01T11:00:00Z",
		"metadata.labels.cluster": "red",
		"metadata.labels.user":    nil, "metadata.labels.node": "n0", "metadata.labels.partition": "cpu",
		"metadata.resourceVersion": version.String(),
		"spec.user":                "alice@site", "spec.timeLimitMinutes": "unlimited", "spec.arrayTaskID": 0.0,
		"spec.arrayJobID": 5.0,
		"status.priority": nil, "status.endTime": nil, "status.startTime": "2026-03-01T11:50:00Z", "status.cpus": 4.0,
	} {
		if at := lookupPath(got, path); at != want {
			t.Errorf("%s is %v, want %v", path, at, want)
		}
	}
}

func lookupPath(o any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		m, _ := o.(map[string]any)
		o = m[key]
	}
	return o
}

func FuzzContinueTokens(f *testing.F) {
	f.Add(continueToken{5, []version{6}, clusterRef("a", "red"), "7"}.encode())
	f.Add("nonsense")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := parseContinueToken(token)
		if err != nil {
			return
		}
		if again, err := parseContinueToken(p.encode()); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%q is %+v, and then %+v, %v", token, p, again, err)
		}
		s := newJobStore(newDirectory(queueOf(clusterRef("a", "red"), 1, 3)))
		_, _ = s.List(asUser("root"), &internalversion.ListOptions{Limit: 1, Continue: token})
	})
}
