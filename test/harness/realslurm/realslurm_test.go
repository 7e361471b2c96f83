//go:build e2e

package realslurm

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/instance"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

func TestMain(m *testing.M) {
	if missing := MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// startCluster starts a cluster that ends with the test. If the test has failed, it logs the
// cluster's logs.
func startCluster(t *testing.T, config Config) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// runSlurm runs a Slurm command and fails the test on an error.
func runSlurm(t *testing.T, c *Cluster, user string, argv ...string) string {
	t.Helper()
	out, err := c.Run(t.Context(), user, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// pingSlurmrestd requests a ping from slurmrestd, by URL or through its socket, and returns the
// HTTP status.
func pingSlurmrestd(ctx context.Context, c *Cluster, client *http.Client) (int, error) {
	token, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/slurm/v0.0.42/ping", http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-SLURM-USER-TOKEN", strings.TrimSpace(string(token)))
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// awaitPing waits until slurmrestd answers.
func awaitPing(t *testing.T, c *Cluster) {
	t.Helper()
	process.Await(t, func() error {
		code, err := pingSlurmrestd(t.Context(), c, http.DefaultClient)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("slurmrestd answers with status %d", code)
		}
		return err
	})
}

func TestCluster(t *testing.T) {
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, Config{Version: version, Nodes: 2})
			t.Run("slurmrestd answers on the port", func(t *testing.T) { awaitPing(t, c) })
			t.Run("slurmrestd answers on the socket", func(t *testing.T) { testSocket(t, c) })
			t.Run("the version is the requested one", func(t *testing.T) {
				if got := runSlurm(t, c, "", "sinfo", "--version"); !strings.HasPrefix(got, "slurm-wlm "+version+".") {
					t.Errorf("sinfo --version = %q, want %s", got, version)
				}
			})
			t.Run("a job of alice completes", func(t *testing.T) { testJob(t, c) })
			t.Run("sacctmgr knows the users", func(t *testing.T) {
				got := runSlurm(t, c, "", "sacctmgr", "-nP", "show", "user", "format=user,defaultaccount")
				want := "alice|ml\nbob|hpc\ncarol|hpc\nroot|root\nslurm|root"
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("users (-want +got):\n%s", diff)
				}
			})
			t.Run("daemons restart", func(t *testing.T) { testRestart(t, c) })
			t.Run("a hung slurmrestd continues", func(t *testing.T) { testHang(t, c) })
			t.Run("a dynamic node joins", func(t *testing.T) { testDynamicNode(t, c) })
		})
	}
}

func testSocket(t *testing.T, c *Cluster) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", c.Socket)
	}}
	defer transport.CloseIdleConnections()
	code, err := pingSlurmrestd(t.Context(), c, &http.Client{Transport: transport})
	if err != nil || code != http.StatusOK {
		t.Errorf("ping = %d, %v, want 200", code, err)
	}
}

func testJob(t *testing.T, c *Cluster) {
	runSlurm(t, c, "alice", "sbatch", "-J", "hello", "-N", "2", "--gpus=4", "-o", "/inst/scratch/out",
		"--wrap", `srun sh -c 'echo $(id -un) $SLURMD_NODENAME' | sort`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.awaitJobs(ctx, []Job{{Name: "hello", Want: []string{"COMPLETED"}}}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(c.Dir, "scratch", "out"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("alice n1\nalice n2\n", string(got)); diff != "" {
		t.Errorf("the job printed (-want +got):\n%s", diff)
	}
}

func testRestart(t *testing.T, c *Cluster) {
	for _, daemon := range []string{"slurmrestd", "slurmctld", "slurmd-n1"} {
		before, err := c.PID(t.Context(), daemon)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Restart(t.Context(), daemon); err != nil {
			t.Fatal(err)
		}
		after, err := c.PID(t.Context(), daemon)
		if err != nil {
			t.Fatal(err)
		}
		if before == after {
			t.Errorf("%s has pid %d before and after", daemon, before)
		}
	}
	awaitPing(t, c)
	if err := c.Stop(t.Context(), "slurmrestd"); err != nil {
		t.Fatal(err)
	}
	if pid, err := c.PID(t.Context(), "slurmrestd"); err == nil {
		t.Errorf("slurmrestd has pid %d after it was stopped", pid)
	}
	if err := c.Start(t.Context(), "slurmrestd"); err != nil {
		t.Fatal(err)
	}
	awaitPing(t, c)
}

func testHang(t *testing.T, c *Cluster) {
	cpu, err := c.CPU(t.Context(), "slurmrestd")
	if err != nil || cpu > time.Minute {
		t.Errorf("CPU = %s, %v, want less than a minute", cpu, err)
	}
	rss, err := c.RSS(t.Context(), "slurmrestd")
	if err != nil || rss < 1<<20 || rss > 1<<30 {
		t.Errorf("RSS = %d, %v, want between 1 MiB and 1 GiB", rss, err)
	}
	if err := c.Signal(t.Context(), "slurmrestd", syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if code, err := pingSlurmrestd(ctx, c, http.DefaultClient); err == nil {
		t.Errorf("a stopped slurmrestd answered %d", code)
	}
	if err := c.Signal(t.Context(), "slurmrestd", syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	awaitPing(t, c)
}

func testDynamicNode(t *testing.T, c *Cluster) {
	// A node record created before would make slurmd listen on the default port, which the
	// cluster of another test may use.
	if err := c.Start(t.Context(), "slurmd-dyn1", "-Z", "--conf",
		"CPUs=4 RealMemory=500 Port="+freePort(t)); err != nil {
		t.Fatal(err)
	}
	process.AwaitValue(t, "the state of dyn1", "idle", func(ctx context.Context) (string, error) {
		out, err := c.Run(ctx, "", "sinfo", "-h", "-n", "dyn1", "-o", "%T")
		return strings.TrimSpace(out), err
	})
}

func freePort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestPopulate(t *testing.T) {
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, Config{Version: version, Nodes: PopulateNodes})
			ids, err := c.Populate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(ids), 18; got != want {
				t.Errorf("populated %d jobs, want %d", got, want)
			}
			got := runSlurm(t, c, "", "squeue", "-h", "-r", "-t", "all", "-n", "array", "-o", "%T")
			if diff := cmp.Diff(map[string]int{"RUNNING": 2, "PENDING": 8}, countLines(got)); diff != "" {
				t.Errorf("array tasks (-want +got):\n%s", diff)
			}
		})
	}
}

func countLines(lines string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(lines) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

func TestPopulateWithoutAccounting(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Config{Nodes: PopulateNodes, WithoutAccounting: true})
	ids, err := c.Populate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, has := ids["for-qos"]; has {
		t.Error("a job waits for a QOS limit in a cluster without QOS")
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	c, err := Start(t.Context(), Config{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	runSlurm(t, c, "alice", "sbatch", "-N", "2", "--wrap", "srun sleep 600")
	namespace, err := c.PIDNamespace(t.Context(), "slurmctld")
	if err != nil {
		t.Fatal(err)
	}
	defer namespace.Close()
	if inside := namespace.Programs(t); len(inside) < 7 {
		t.Fatalf("processes in the cluster = %q, want at least its daemons", inside)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), namespace.Programs(t)); diff != "" {
		t.Errorf("processes left (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("the cluster's folder still exists: %v", err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), filepath.Dir(c.Dir)) {
		t.Errorf("a mount is left:\n%s", mounts)
	}
}

func TestClusterEndsWithItsOwner(t *testing.T) {
	instance.CheckEndsWithOwner(t, "slurm", "slurmctld", Config{Version: "26.05", Nodes: 1, WithoutAccounting: true}.flags()...)
}
