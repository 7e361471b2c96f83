//go:build e2e

package contract

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

const (
	// heldJobs is the number of jobs that wait while others change. The delta reader needs many
	// more than maxPolls polls to read all of them.
	heldJobs = 1000
	// maxPolls is the number of polls within which a change must be visible (docs/metrics.md).
	maxPolls = 7
)

// TestDeltaReaderSeesChangesOfPendingJobs changes pending jobs without changing their state. A
// delta reader must see each change within a few polls; until then, the reported age must reach
// back before the change.
func TestDeltaReaderSeesChangesOfPendingJobs(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			s := startFullCluster(t, release)
			for _, tc := range []struct {
				name, submit, change string
				seen                 func(*slurm.Job) bool
			}{
				{"a released hold", "-H", "scontrol release %d", func(j *slurm.Job) bool { return !j.Hold }},
				{"another partition", "", "scontrol update jobid=%d partition=other",
					func(j *slurm.Job) bool { return j.Partition == "other" }},
				{"another size", "-n 1", "scontrol update jobid=%d numcpus=2-2",
					func(j *slurm.Job) bool { return j.CPUs.Or(0) == 2 }},
				{"another throttle", "-H --array=1-9%1", "scontrol update jobid=%d arraytaskthrottle=3",
					func(j *slurm.Job) bool { return j.ArrayMaxRunning() == 3 }},
				{"a fulfilled dependency", "-d afterany:" + s.heldJobID, "scancel " + s.heldJobID + " || : %d",
					func(j *slurm.Job) bool { return j.Dependency == "" }},
			} {
				id := s.submitJob(t, tc.submit)
				s.pollTimes(t, 2)
				if j := s.cache.Snapshot().Job(id); j == nil || tc.seen(j) {
					t.Fatalf("%s: before the change the record is %+v", tc.name, j)
				}
				// slurmctld refuses some changes while it schedules.
				s.runScript(t, "for i in $(seq 100); do "+fmt.Sprintf(tc.change, id)+
					" && exit 0; sleep 0.1; done; exit 1")
				s.awaitChange(t, tc.name, id, tc.seen)
			}
		})
	}
}

// fullCluster is a cluster without free nodes on which many jobs wait, and a delta reader.
type fullCluster struct {
	cluster *realslurm.Cluster
	client  *slurmclient.Client
	cache   *slurmclient.Cache
	// heldJobID is the id of one held job.
	heldJobID string
}

func startFullCluster(t *testing.T, release string) *fullCluster {
	cluster, err := realslurm.Start(t.Context(), realslurm.Config{
		Version: release, WithoutAccounting: true,
		NodeConfs: []string{"a1 CPUs=2 RealMemory=2000"}, Conf: []string{"PartitionName=other Nodes=a1"},
	})
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Close()) })
	s := &fullCluster{cluster: cluster}
	s.submitJob(t, "-n 2")
	s.heldJobID = strconv.FormatUint(uint64(s.submitJob(t, "-H")), 10)
	s.runScript(t, fmt.Sprintf(
		"for i in $(seq %d); do sbatch -H -o /dev/null --wrap 'sleep 600' >/dev/null || exit 1; done", heldJobs))
	client, err := slurmclient.New(slurmclient.Config{URL: cluster.URL,
		Token: slurmclient.TokenFromFile(cluster.TokenFile)})
	must(t, err)
	s.client = client
	s.cache = slurmclient.NewCache(client, slurmclient.CacheConfig{
		Period: time.Hour, JobsReader: slurmclient.ReadDelta, Resources: []slurmclient.Resource{slurmclient.Jobs},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { s.cache.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait(); client.Close() })
	return s
}

func (s *fullCluster) runScript(t *testing.T, script string) string {
	t.Helper()
	out, err := s.cluster.Run(t.Context(), "", "bash", "-c", script)
	must(t, err)
	return strings.TrimSpace(out)
}

func (s *fullCluster) submitJob(t *testing.T, args string) uint32 {
	t.Helper()
	id, err := strconv.ParseUint(s.runScript(t, "sbatch --parsable -o /dev/null "+args+" --wrap 'sleep 600'"), 10, 32)
	must(t, err)
	return uint32(id)
}

func (s *fullCluster) pollTimes(t *testing.T, n int) {
	t.Helper()
	for range n {
		must(t, s.cache.Refresh(t.Context(), slurmclient.Jobs))
	}
}

// awaitChange polls until the change is visible. slurmctld makes some changes later than requested,
// so polls count from the moment when the list has the change, and the age from the moment before
// that.
func (s *fullCluster) awaitChange(t *testing.T, what string, id uint32, seen func(*slurm.Job) bool) {
	t.Helper()
	unchanged := time.Now()
	for n := 0; n < maxPolls; {
		began := time.Now()
		list, err := s.client.Jobs(t.Context(), 0)
		must(t, err)
		changed := slices.ContainsFunc(list.Items, func(j *slurm.Job) bool { return j.ID == id && seen(j) })
		if changed {
			n++
		} else {
			unchanged = began
		}
		s.pollTimes(t, 1)
		jobs := s.cache.Snapshot().Jobs
		if jobs.Reader != slurmclient.ReadDelta {
			t.Fatalf("%s: jobs are read by %s", what, jobs.Reader)
		}
		if j := s.cache.Snapshot().Job(id); j != nil && seen(j) {
			t.Logf("%s was visible at poll %d of %d records", what, n, len(jobs.Value))
			return
		}
		if changed && n > 1 && jobs.OldestAt.After(began) {
			t.Errorf("%s: the record is outdated, but its age is counted from %v after the change", what,
				jobs.OldestAt.Sub(unchanged))
		}
	}
	t.Errorf("%s was not visible after %d polls", what, maxPolls)
}
