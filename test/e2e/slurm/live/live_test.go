//go:build e2e

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

var blueKey = refs.ClusterKey{Kind: "Controller", Namespace: "team", Name: "blue"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// forEachRelease runs a test with a cluster of every release.
func forEachRelease(t *testing.T, test func(t *testing.T, cluster *realslurm.Cluster)) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(),
				realslurm.Config{Version: release, WithoutAccounting: true, Conf: []string{"MaxNodeCount=100"}})
			must(t, err)
			t.Cleanup(func() { must(t, cluster.Close()) })
			test(t, cluster)
		})
	}
}

// keyFile returns the key that signs tokens, in place of Secrets.
type keyFile string

func (k keyFile) Read(context.Context, refs.KeyRef) (access.SecretContent, error) {
	raw, err := os.ReadFile(string(k))
	return access.SecretContent{Data: map[string][]byte{"jwt": raw}}, err
}

// scontrolRunner runs scontrol on the host of slurmctld.
type scontrolRunner struct{ *realslurm.Cluster }

func (i scontrolRunner) Run(ctx context.Context, _ refs.ClusterKey, args ...string) error {
	_, err := i.Cluster.Run(ctx, "", append([]string{"scontrol"}, args...)...)
	return err
}

// startLiveCluster starts the operator's clients and returns the one of the cluster.
func startLiveCluster(t *testing.T, cluster *realslurm.Cluster) *slurmclients.Cluster {
	t.Helper()
	clients := slurmclients.New(slurmclients.Config{
		Access:   access.Config{Secrets: keyFile(cluster.KeyFile), User: "slurm", Lifetime: time.Hour},
		Cache:    slurmclient.CacheConfig{Period: 200 * time.Millisecond},
		Scontrol: scontrolRunner{cluster},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- clients.Start(ctx) }()
	t.Cleanup(func() { cancel(); must(t, <-done) })
	clients.Set(blueKey, refs.Endpoint{URL: cluster.URL, MintsTokens: true,
		Token: refs.KeyRef{Kind: "Secret", Namespace: "team", Name: "key", Key: "jwt"}})
	return clients.For(blueKey)
}

// awaitReading waits for a reading that satisfies ok.
func awaitReading(t *testing.T, s *slurmclients.Cluster, what string, ok func(r *slurmclients.Reading) bool) {
	t.Helper()
	process.Await(t, func() error {
		if !ok(s.Reading()) {
			return fmt.Errorf("waiting for %s: %s %v", what, s.Problem(), s.Reading().Work)
		}
		return nil
	})
}

// runCommand runs a command in the cluster and returns the last word of its output.
func runCommand(t *testing.T, cluster *realslurm.Cluster, argv ...string) string {
	t.Helper()
	out, err := cluster.Run(t.Context(), "", argv...)
	must(t, err)
	words := strings.Fields(out)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

func TestRealNodeWork(t *testing.T) {
	forEachRelease(t, func(t *testing.T, cluster *realslurm.Cluster) {
		s, ctx := startLiveCluster(t, cluster), t.Context()
		awaitReading(t, s, "the first reading", (*slurmclients.Reading).Complete)
		if r := s.Reading(); len(r.Nodes) != 4 || len(r.Work) != 0 || s.Problem() != "" {
			t.Errorf("%d nodes, work %v, problem %q", len(r.Nodes), r.Work, s.Problem())
		}
		job := runCommand(t, cluster, "sbatch", "-w", "n2,n3", "-N", "2", "--time", "10", "--wrap", "sleep 600")
		id, err := strconv.ParseUint(job, 10, 32)
		must(t, err)
		awaitReading(t, s, "the job",
			func(r *slurmclients.Reading) bool { return r.Work["n2"].Jobs == 1 && r.Work["n3"].Jobs == 1 })
		if w := s.Reading().Work["n3"]; w.LastJob != uint32(id) || time.Until(w.End) < 9*time.Minute ||
			time.Until(w.End) > 11*time.Minute {
			t.Errorf("the work is %+v", w)
		}
		runCommand(t, cluster, "scontrol", "suspend", strconv.FormatUint(id, 10))
		awaitReading(t, s, "an unknown end of the suspended job",
			func(r *slurmclients.Reading) bool { return r.Work["n2"].Jobs == 1 && r.Work["n2"].End.IsZero() })
		runCommand(t, cluster, "scontrol", "resume", strconv.FormatUint(id, 10))
		begun := time.Now()
		must(t, s.Drain(ctx, "n2", "slurm-operator: test"))
		awaitReading(t, s, "the drain", func(r *slurmclients.Reading) bool { return !r.DrainedSince["n2"].IsZero() })
		if r := s.Reading(); r.DrainedSince["n2"].Before(begun) || r.Work["n2"].Jobs != 1 ||
			r.Nodes["n2"].State.Drained() {
			t.Errorf("n2 is %v since %v with %+v", r.Nodes["n2"].State, r.DrainedSince["n2"], r.Work["n2"])
		}
		runCommand(t, cluster, "scancel", strconv.FormatUint(id, 10))
		awaitReading(t, s, "the end of the job",
			func(r *slurmclients.Reading) bool {
				return r.Complete() && len(r.Work) == 0 && r.Nodes["n2"].State.Drained()
			})
		n, err := s.ReadNode(ctx, "n2")
		if err != nil || !n.State.Drained() || n.Reason != "slurm-operator: test" {
			t.Errorf("node n2 is %+v, %v", n, err)
		}
		must(t, s.Undrain(ctx, "n2"))
		awaitReading(t, s, "the end of the drain",
			func(r *slurmclients.Reading) bool { return r.DrainedSince["n2"].IsZero() && r.Complete() })
		must(t, cluster.Stop(ctx, "slurmctld"))
		awaitReading(t, s, "an error on reading nodes",
			func(r *slurmclients.Reading) bool { return r.Snapshot.Nodes.Err != nil })
		if r := s.Reading(); !r.Complete() || len(r.Nodes) != 4 || r.DrainedSince != nil || s.Problem() == "" {
			t.Error("the last reading is lost, or it still confirms drains")
		}
	})
}

func TestRealFutureRecords(t *testing.T) {
	forEachRelease(t, func(t *testing.T, cluster *realslurm.Cluster) {
		s, ctx := startLiveCluster(t, cluster), t.Context()
		awaitReading(t, s, "the first reading", (*slurmclients.Reading).Complete)
		if _, err := cluster.Run(ctx, "", "sbatch", "-C", "later", "--wrap", "true"); err == nil {
			t.Error("Slurm accepted a job for an unknown feature")
		}
		must(t, s.CreateNodes(ctx, "later-[0-2]", "CPUs=2 RealMemory=1000 Features=later State=FUTURE"))
		comment := `{"namespace":"team","nodeSetUID":"u"}`
		must(t, s.UpdateNode(ctx, "later-[0-2]", slurmclient.NodeUpdate{Comment: &comment}))
		awaitReading(t, s, "the records", func(r *slurmclients.Reading) bool {
			n := r.Nodes["later-2"]
			return len(r.Nodes) == 7 && n.State.Base == slurm.NodeFuture && n.Comment == comment && n.CPUs == 2
		})
		runCommand(t, cluster, "sbatch", "-C", "later", "-N", "3", "--wrap", "true")
		if err := s.CreateNodes(ctx, "later-[2-3]", "CPUs=2 State=FUTURE"); !slurmclient.IsConflict(err) {
			t.Errorf("creating a record twice: %v", err)
		}
		for _, name := range []string{"later-0", "later-1", "later-2"} {
			must(t, s.DeleteNode(ctx, name))
		}
		if _, err := s.ReadNode(ctx, "later-0"); !slurmclient.IsNotFound(err) {
			t.Errorf("reading a deleted record: %v", err)
		}
		awaitReading(t, s, "the deletion of the records",
			func(r *slurmclients.Reading) bool { return len(r.Nodes) == 4 })
	})
}

func TestRealReservations(t *testing.T) {
	forEachRelease(t, func(t *testing.T, cluster *realslurm.Cluster) {
		s, ctx := startLiveCluster(t, cluster), t.Context()
		awaitReading(t, s, "the first reading", (*slurmclients.Reading).Complete)
		named := func(r *slurmclients.Reading) *slurm.Reservation {
			for _, v := range r.Snapshot.Reservations.Value {
				if v.Name == "SlurmOperatorMaint-gpu" {
					return v
				}
			}
			return nil
		}
		start := slurm.At(time.Now().Add(time.Hour))
		want := slurm.ReservationRequest{Name: "SlurmOperatorMaint-gpu", StartTime: start, Duration: slurm.Num(30),
			Nodes: []string{"n1", "n2"},
			Users: []string{"root"}, Flags: []string{"MAINT", "IGNORE_JOBS"}}
		must(t, s.SetReservation(ctx, want))
		awaitReading(t, s, "the reservation", func(r *slurmclients.Reading) bool {
			v := named(r)
			return v != nil && v.StartTime == start && v.EndTime == start+1800 && v.NodeCount == 2
		})
		want.Duration = slurm.Num(60)
		must(t, s.SetReservation(ctx, want))
		awaitReading(t, s, "the longer reservation",
			func(r *slurmclients.Reading) bool { v := named(r); return v != nil && v.EndTime == start+3600 })
		must(t, s.DeleteReservation(ctx, want.Name))
		awaitReading(t, s, "the deletion of the reservation",
			func(r *slurmclients.Reading) bool { return named(r) == nil })
		err := s.UpdateNode(ctx, "n1", slurmclient.NodeUpdate{Topology: new("nosuch:x")})
		var e *slurmclient.Error
		if !errors.As(err, &e) || cluster.Version == "24.11" && e.Code != slurmclient.CodeUnsupported {
			t.Errorf("setting an unknown topology: %v", err)
		}
	})
}
