package slurmclients

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

var (
	red  = refs.ClusterKey{Kind: "Cluster", Namespace: "team", Name: "red"}
	blue = refs.ClusterKey{Kind: "Controller", Namespace: "team", Name: "blue"}
)

// fakeSecrets returns the same token for every reference.
type fakeSecrets struct{}

func (fakeSecrets) Read(context.Context, refs.KeyRef) (access.SecretContent, error) {
	return access.SecretContent{Data: map[string][]byte{"jwt": []byte("token")}, TokenAnnotation: "true"}, nil
}

func endpointAt(url string) refs.Endpoint {
	return refs.Endpoint{URL: url, Token: refs.KeyRef{Kind: "Secret", Namespace: "team", Name: "token", Key: "jwt"}}
}

// newSimulatedCluster starts a simulated cluster of four nodes and returns its URL.
func newSimulatedCluster(t *testing.T, release string) (*slurmtest.Cluster, string) {
	t.Helper()
	c := slurmtest.New(slurmtest.Config{Release: release,
		Nodes: []slurmtest.NodeConf{{Names: "n[1-4]", CPUs: 4, MemoryMiB: 8000, Dynamic: true}}})
	server := httptest.NewServer(c.Handler())
	t.Cleanup(server.Close)
	return c, server.URL
}

// startClusters starts Clusters that read until the test ends.
func startClusters(t *testing.T, scontrol Scontrol) *Clusters {
	t.Helper()
	c := New(Config{Access: access.Config{Secrets: fakeSecrets{}},
		Cache: slurmclient.CacheConfig{Period: 20 * time.Millisecond}, Scontrol: scontrol})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// waitUntil polls until ok returns true.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

func isComplete(c *Clusters, k refs.ClusterKey) func() bool {
	return func() bool { s := c.For(k); return s != nil && s.Reading().Complete() }
}

func TestAClusterFollowsItsObject(t *testing.T) {
	_, one := newSimulatedCluster(t, slurmtest.Release2605)
	two, other := newSimulatedCluster(t, slurmtest.Release2605)
	c := startClusters(t, nil)
	if c.For(red) != nil {
		t.Error("there is a cluster before there is an object")
	}
	c.Set(red, endpointAt(one))
	waitUntil(t, "the cluster is read", isComplete(c, red))
	first := c.For(red)
	c.Set(red, endpointAt(one))
	if c.For(red) != first {
		t.Error("setting the same endpoint opened another connection")
	}
	two.StartSlurmd(slurmtest.NodeConf{Names: "other-1", CPUs: 1})
	c.Set(red, endpointAt(other))
	if s := c.For(red); s == first || s.Reading().Complete() {
		t.Error("the reading of the previous server is kept")
	}
	waitUntil(t, "the other server is read", isComplete(c, red))
	if c.For(red).Reading().Nodes["other-1"] == nil {
		t.Error("the other server's nodes are missing")
	}
	waitUntil(t, "the first connection has ended", func() bool {
		return slurmclient.CodeOf(first.Drain(t.Context(), "n1", "x")) == slurmclient.CodeUnavailable
	})
	c.Remove(red)
	if c.For(red) != nil {
		t.Error("the cluster exists without its object")
	}
}

func TestReadersCauseNoRequests(t *testing.T) {
	slurmd, url := newSimulatedCluster(t, slurmtest.Release2605)
	c := startClusters(t, nil)
	c.cfg.Cache.Period = time.Hour
	c.Set(red, endpointAt(url))
	waitUntil(t, "the cluster is read", isComplete(c, red))
	for range 10_000 {
		if !c.For(red).Reading().Complete() {
			t.Fatal("the reading was complete before")
		}
	}
	for path, n := range slurmd.RequestCounts() {
		if strings.Contains(path, "diag") {
			n-- // the first reading of jobs asks whether jobs are hidden
		}
		if n > 1 && !strings.Contains(path, "ping") || strings.Contains(path, "slurmdb") {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
}

func TestAnUnreachableClusterKeepsItsLastReading(t *testing.T) {
	slurmd, url := newSimulatedCluster(t, slurmtest.Release2605)
	c := startClusters(t, nil)
	c.Set(blue, refs.Endpoint{Problem: "no RestApi"})
	if s := c.For(blue); s.Problem() != "no RestApi" || s.Reading().Complete() {
		t.Errorf("without a target the problem is %q", s.Problem())
	}
	if err := c.For(blue).Undrain(t.Context(), "n1"); slurmclient.CodeOf(err) != slurmclient.CodeUnavailable ||
		!strings.Contains(err.Error(), "no RestApi") {
		t.Errorf("a write fails with %v", err)
	}
	c.Set(red, endpointAt(url))
	waitUntil(t, "the cluster is read", isComplete(c, red))
	if p := c.For(red).Problem(); p != "" {
		t.Errorf("there is a problem: %s", p)
	}
	slurmd.InjectFault(slurmtest.Fault{Kind: slurmtest.FaultStatus, Status: 500})
	waitUntil(t, "the problem shows", func() bool { return strings.Contains(c.For(red).Problem(), "500") })
	waitUntil(t, "no drain is known", func() bool { return c.For(red).Reading().DrainedSince == nil })
	if r := c.For(red).Reading(); !r.Complete() || len(r.Nodes) != 4 {
		t.Errorf("the reading is lost: %+v", r)
	}
	slurmd.ClearFaults()
	waitUntil(t, "it has recovered", func() bool { return c.For(red).Problem() == "" })
}

func TestWritesShowInReadings(t *testing.T) {
	slurmd, url := newSimulatedCluster(t, slurmtest.Release2605)
	c := startClusters(t, nil)
	c.Set(red, endpointAt(url))
	waitUntil(t, "the cluster is read", isComplete(c, red))
	s, ctx := c.For(red), t.Context()
	id, err := slurmd.Submit(slurmtest.JobSpec{JobRequest: slurm.JobRequest{RequiredNodes: "n2",
		TimeLimit: slurm.Num(60)}, Forever: true})
	if err != nil {
		t.Fatal(err)
	}
	slurmd.Step(time.Second)
	waitUntil(t, "the job shows", func() bool { return s.Reading().Work["n2"].LastJob == id })
	if w := s.Reading().Work; w["n2"].Jobs != 1 || w["n2"].End.IsZero() || len(w) != 1 {
		t.Errorf("the work is %+v", w)
	}
	before := time.Now()
	if err := s.Drain(ctx, "n1", "slurm-operator: test"); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the drain shows", func() bool { return !s.Reading().DrainedSince["n1"].IsZero() })
	if r := s.Reading(); r.DrainedSince["n1"].Before(before) || r.Nodes["n1"].Reason != "slurm-operator: test" {
		t.Errorf("n1 is drained since %v: %+v", r.DrainedSince["n1"], r.Nodes["n1"])
	}
	slurmd.StopSlurmd("n1")
	for _, step := range []error{
		s.Future(ctx, "n1"),
		s.CreateNodes(ctx, "new-[0-2]", "CPUs=4 RealMemory=1000 Features=a,b State=FUTURE"),
		s.UpdateNode(ctx, "n3", slurmclient.NodeUpdate{Topology: new("topo:a"), Comment: new("c"),
			Features: []string{"a"}}),
		s.DeleteNode(ctx, "n4"), s.Refresh(ctx),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	waitUntil(t, "all writes show", func() bool {
		r := s.Reading()
		return r.Nodes["n1"].State.Base == slurm.NodeFuture && r.Nodes["new-2"] != nil && r.Nodes["n4"] == nil &&
			r.Nodes["n3"].Topology == "topo:a" && r.Nodes["n3"].Comment == "c" && r.DrainedSince["n1"].IsZero()
	})
	if n, err := s.ReadNode(ctx, "new-1"); err != nil || n.State.Base != slurm.NodeFuture {
		t.Errorf("reading a new record returns %+v, %v", n, err)
	}
	if _, err := s.ReadNode(ctx, "n4"); !slurmclient.IsNotFound(err) {
		t.Errorf("reading a deleted record: %v", err)
	}
}

func TestReconcilersAreNotifiedOfReadings(t *testing.T) {
	_, url := newSimulatedCluster(t, slurmtest.Release2605)
	c := startClusters(t, nil)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	ctx, cancel := context.WithCancel(t.Context())
	source := c.ChangeSource(func(_ context.Context, k refs.ClusterKey) []reconcile.Request {
		var r reconcile.Request
		r.Namespace, r.Name = k.Namespace, k.Name
		return []reconcile.Request{r}
	})
	if err := source.Start(ctx, queue); err != nil {
		t.Fatal(err)
	}
	c.Set(red, endpointAt(url))
	for range 5 { // each reading causes another notification
		r, _ := queue.Get()
		if r.Name != "red" || r.Namespace != "team" {
			t.Errorf("notified of %v", r)
		}
		queue.Done(r)
	}
	cancel()
	waitUntil(t, "nobody listens", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.listeners) == 0 })
}

// fakeScontrol is a Scontrol that records its commands.
type fakeScontrol struct {
	mu       sync.Mutex
	commands []string
}

func (w *fakeScontrol) Run(_ context.Context, k refs.ClusterKey, args ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands = append(w.commands, k.Name+" "+strings.Join(args, "|"))
	return nil
}

func TestScontrolWritesToOlderServers(t *testing.T) {
	_, url := newSimulatedCluster(t, slurmtest.Release2411)
	scontrol := &fakeScontrol{}
	c := startClusters(t, scontrol)
	c.Set(blue, endpointAt(url))
	waitUntil(t, "the cluster is read", isComplete(c, blue))
	s, ctx := c.For(blue), t.Context()
	if err := s.CreateNodes(ctx, "gpu-1,gpu-0", "CPUs=4 Gres=gpu:h100:4 State=FUTURE"); err != nil {
		t.Fatal(err)
	}
	err := s.SetReservation(ctx, slurm.ReservationRequest{Name: "SlurmOperatorMaint-gpu", StartTime: 2_000_000_000,
		Duration: slurm.Num(30),
		Nodes:    []string{"n1", "n2"}, Users: []string{"root"}, Flags: []string{"MAINT", "IGNORE_JOBS"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"blue create|NodeName=gpu-[0-1]|CPUs=4|Gres=gpu:h100:4|State=FUTURE",
		"blue create|ReservationName=SlurmOperatorMaint-gpu|StartTime=uts2000000000|Duration=30|Nodes=n1,n2|Users=root|Flags=MAINT,IGNORE_JOBS",
	}
	if got := strings.Join(scontrol.commands, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it ran\n%s", got)
	}
	if err := s.CreateNodes(ctx, "gpu-2,n3", "CPUs=4"); !slurmclient.IsConflict(err) || len(scontrol.commands) != 2 {
		t.Errorf("a record that is there: %v after %q", err, scontrol.commands)
	}
	if err := s.UpdateNode(ctx, "n1", slurmclient.NodeUpdate{Topology: new("x")}); slurmclient.CodeOf(
		err) != slurmclient.CodeUnsupported {
		t.Errorf("a topology: %v", err)
	}
	without := startClusters(t, nil)
	without.Set(red, endpointAt(url))
	waitUntil(t, "the cluster is read", isComplete(without, red))
	if err := without.For(red).CreateNodes(ctx, "gpu-0", ""); slurmclient.CodeOf(err) != slurmclient.CodeUnsupported {
		t.Errorf("without scontrol: %v", err)
	}
}

func TestInvalidNodeLinesAreNotSent(t *testing.T) {
	for _, tc := range []struct{ name, names, options string }{
		{"no names", "", "CPUs=1"},
		{"a malformed list", "n[1-", "CPUs=1"},
		{"a name with a shell's letters", "n1;reboot", ""},
		{"an option of scontrol", "--help", ""},
		{"an invalid option", "n1", "-M other"},
		{"a line break", "n1\nn2=", "CPUs=1"},
		{"another name", "n1", "NodeName=n2"},
		{"quotes", "n1", `Features="a"`},
		{"a substitution", "n1", "Features=$(id)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, got, err := scontrolNodeArgs(tc.names, tc.options); slurmclient.CodeOf(
				err) != slurmclient.CodeInvalid {
				t.Errorf("it is %q, %v", got, err)
			}
		})
	}
}
