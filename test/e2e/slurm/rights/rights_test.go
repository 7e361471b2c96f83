//go:build e2e

package rights

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

const (
	slurmUser = "slurm" // SlurmUser
	ordinary  = "carol" // has no rights, and no job
	operator  = "bob"   // has AdminLevel=Operator
	unknown   = "nobodyknows"
)

// collectors are all that are off by default.
var collectors = []string{
	"--collector.job_usage", "--collector.user_usage", "--collector.job_info", "--collector.job_efficiency",
	"--collector.user_efficiency", "--collector.users",
}

// polled are the resources that the exporter reads with these collectors.
var polled = []string{"nodes", "jobs", "partitions", "reservations", "licenses", "diag", "shares", "qos", "associations", "ended_jobs"}

// TestLeastRights: an ordinary user's token reads everything that the exporter needs. With PrivateData it reads less, and
// an operator's token everything. The table of docs/install-bare-metal.md says the same.
func TestLeastRights(t *testing.T) {
	if why := realslurm.MissingRequirement(); why != "" {
		t.Skip(why)
	}
	program, err := process.Build(t.Context(), t.TempDir(), "slurm-exporter")
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, Nodes: 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			})
			e := &exported{cluster: cluster, program: program}
			e.submitAndReserve(t)
			t.Run("PrivateData is not set", func(t *testing.T) {
				want := e.families(t, slurmUser)
				for _, user := range []string{ordinary, unknown, operator} {
					if diff := cmp.Diff(want, e.families(t, user)); diff != "" {
						t.Errorf("%s reads something else than SlurmUser (-SlurmUser +%s):\n%s", user, user, diff)
					}
				}
			})
			for _, private := range []struct{ value, hidden string }{
				{"jobs", "slurm_job_info"},
				{"nodes", "slurm_node_info"},
				{"partitions", "slurm_partition_cpus"},
				{"reservations", "slurm_reservation_info"},
				{"accounts,usage,users", "slurm_fairshare_user_factor"},
			} {
				t.Run("PrivateData="+private.value, func(t *testing.T) {
					e.setPrivateData(t, private.value)
					want, got := e.families(t, slurmUser), e.families(t, ordinary)
					if want[private.hidden] == 0 || got[private.hidden] >= want[private.hidden] {
						t.Errorf("%s: an ordinary user sees %d samples and SlurmUser %d", private.hidden, got[private.hidden], want[private.hidden])
					}
					t.Logf("an ordinary user lacks samples of %s", strings.Join(lacking(want, got), ", "))
					if diff := cmp.Diff(want, e.families(t, operator)); diff != "" {
						t.Errorf("an operator reads something else than SlurmUser (-SlurmUser +operator):\n%s", diff)
					}
				})
			}
		})
	}
}

// lacking returns the families of which got has fewer samples.
func lacking(want, got map[string]int) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] < want[name] {
			names = append(names, name)
		}
	}
	return names
}

// exported is a cluster that slurm-exporter reads.
type exported struct {
	cluster *realslurm.Cluster
	program string
}

func (e *exported) run(t *testing.T, user string, argv ...string) string {
	t.Helper()
	out, err := e.cluster.Run(t.Context(), user, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (e *exported) submitAndReserve(t *testing.T) {
	t.Helper()
	e.run(t, "alice", "sbatch", "-o", "/dev/null", "-n", "1", "-t", "30", "--wrap", "sleep 1800")
	e.run(t, "root", "scontrol", "create", "reservation", "reservationname=r", "users=alice", "nodecnt=1", "starttime=now+3hours", "duration=60")
	process.AwaitValue(t, "the state of alice's job", "RUNNING", func(ctx context.Context) (string, error) {
		out, err := e.cluster.Run(ctx, "root", "squeue", "-h", "-o", "%T")
		return strings.TrimSpace(out), err
	})
}

// setPrivateData changes slurm.conf and, since it has its own, slurmdbd.conf.
func (e *exported) setPrivateData(t *testing.T, value string) {
	t.Helper()
	for _, file := range []string{"slurm.conf", "slurmdbd.conf"} {
		if file == "slurmdbd.conf" && !strings.Contains(value, "users") {
			continue // slurmdbd knows neither nodes nor partitions
		}
		path := filepath.Join(e.cluster.Dir, "etc", file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, _, _ := strings.Cut(string(text), "PrivateData=")
		if err := os.WriteFile(path, []byte(before+"PrivateData="+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.run(t, "root", "sacctmgr", "reconfigure")
	e.run(t, "root", "scontrol", "reconfigure")
	process.AwaitValue(t, "PrivateData", value, func(ctx context.Context) (string, error) {
		out, err := e.cluster.Run(ctx, "root", "scontrol", "show", "config")
		for line := range strings.Lines(out) {
			if name, shown, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "PrivateData" {
				return strings.TrimSpace(shown), err
			}
		}
		return out, err
	})
}

// families returns how many samples of each metric an exporter with a token of the user serves, without its own and those that
// count requests.
func (e *exported) families(t *testing.T, user string) map[string]int {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	text := e.run(t, "root", "scontrol", "token", "username="+user, "lifespan=600")
	if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := process.FreeAddress(t)
	p := process.Start(t, e.program, append([]string{
		"--web.listen-address=" + address, "--slurm.url=" + e.cluster.URL, "--slurm.token-file=" + token,
		"--slurm.poll-interval=1s", "--slurm.slow-poll-interval=1s",
	}, collectors...)...)
	var page string
	// Each resource has been polled, whether it succeeded or not.
	process.Await(t, func() error {
		var err error
		if page, err = fetch("http://" + address + "/metrics"); err != nil {
			return err
		}
		polls := pollsOf(page)
		for _, resource := range polled {
			if polls[resource] == 0 {
				return fmt.Errorf("%s was not polled", resource)
			}
		}
		return nil
	})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	return countSamples(page)
}

func fetch(url string) (string, error) {
	response, err := http.Get(url) //nolint:noctx,gosec // an address of this test
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// pollsOf returns the number of polls of each resource, failed ones included.
func pollsOf(page string) map[string]int {
	polls := map[string]int{}
	for line := range strings.Lines(page) {
		var resource string
		var n float64
		rest, ok := strings.CutPrefix(line, `slurm_exporter_polls_total{resource="`)
		if !ok {
			continue
		}
		resource, rest, _ = strings.Cut(rest, `"`)
		if _, value, ok := strings.Cut(rest, "} "); ok {
			_, _ = fmt.Sscan(value, &n)
		}
		polls[resource] += int(n)
	}
	return polls
}

// resetByReconfigure is unset for some seconds after a reconfigure.
const resetByReconfigure = "slurm_controller_stats_start_time_seconds"

// countSamples counts the samples of each metric. Metrics of slurmctld's requests also count the test's own commands, and
// slurm_exporter metrics are not read from Slurm.
func countSamples(page string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(page) {
		name := line[:strings.IndexAny(line+" ", "{ \n")]
		if strings.HasPrefix(name, "slurm_") && name != resetByReconfigure && !strings.HasPrefix(name, "slurm_exporter_") && !strings.HasPrefix(name, "slurm_rpc_") {
			counts[name]++
		}
	}
	return counts
}
