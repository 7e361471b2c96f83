package metricsapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestAReadingIsComputedOnce(t *testing.T) {
	pools := []demand.Pool{{Name: "x", Feature: "x", Max: 3}}
	base := snapshotOf(nil, nil, aPartition("a"))
	for _, tc := range []struct {
		name  string
		later time.Duration
		next  func(s *slurmclient.Snapshot)
		pools []demand.Pool
		again bool
	}{
		{"the snapshot is the same", time.Second, func(*slurmclient.Snapshot) {}, pools, false},
		{"a poll found no change", time.Second, func(s *slurmclient.Snapshot) { s.Jobs.ReadAt = noon(); s.Sequence++ },
			pools, false},
		{"the jobs have changed", time.Second, func(s *slurmclient.Snapshot) { s.Jobs.Sequence++ }, pools, true},
		{"the reservations have changed", time.Second, func(s *slurmclient.Snapshot) { s.Reservations.Sequence++ },
			pools, true},
		{"the limits of accounts have changed", time.Second,
			func(s *slurmclient.Snapshot) { s.Associations.Sequence++ }, pools, true},
		{"the licences have changed", time.Second, func(s *slurmclient.Snapshot) { s.Licenses.Sequence++ }, pools,
			true},
		{"the configuration has changed", time.Second, func(s *slurmclient.Snapshot) { s.Conf.Sequence++ }, pools,
			true},
		{"a pool has changed", time.Second, func(*slurmclient.Snapshot) {},
			[]demand.Pool{{Name: "x", Feature: "x", Max: 4}}, true},
		{"time has passed", memo.MaxAge, func(*slurmclient.Snapshot) {}, pools, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Reader
			first := r.Read(noon(), base, pools)
			next := *base
			tc.next(&next)
			second := r.Read(noon().Add(tc.later), &next, tc.pools)
			if second.snapshot != &next {
				t.Error("the reading is not of the newest snapshot")
			}
			if again := &first.demand.Partitions[0] != &second.demand.Partitions[0]; again != tc.again {
				t.Errorf("computed again: %v", again)
			}
		})
	}
}

func TestACanceledReadHasNoReading(t *testing.T) {
	var r Reader
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := snapshotOf(nil, nil, aPartition("a"))
	if reading, err := r.ReadContext(ctx, noon(), s, nil); reading != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("the reading is %+v, %v", reading, err)
	}
	if reading, err := r.ReadContext(t.Context(), noon(), s, nil); err != nil || !reading.Known() {
		t.Errorf("the next reading is %+v, %v", reading, err)
	}
}

func TestAReadingIsAsOldAsItsOldestPart(t *testing.T) {
	s := snapshotOf(nil, nil)
	s.Partitions.ReadAt = noon().Add(-time.Minute)
	if got := new(Reader).Read(noon(), s, nil).ReadAt(); !got.Equal(s.Partitions.ReadAt) {
		t.Errorf("its time is %v", got)
	}
}

func TestTheOldestPendingJobIsAsOldAsSlurmctldsClockSays(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stats *slurm.Stats
		want  uint64
	}{
		{"without statistics the clocks are assumed to agree", nil, 3599},
		{"slurmctld's clock is a minute ahead, and at the end of the second that it reports",
			&slurm.Stats{At: slurm.At(noon().Add(59 * time.Second))}, 3660},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshotOf(nil, []*slurm.Job{aJob(1, "a", "Resources")}, aPartition("a"))
			if tc.stats != nil {
				s.Stats.Value, s.Stats.Known, s.Stats.ReadAt = tc.stats, true, noon().Add(-time.Second)
			}
			r := new(Reader).Read(noon(), s, nil)
			if got := r.selectPartitions("red", nil, labels.Everything()).oldestPending(); got != tc.want {
				t.Errorf("it has been pending for %d s, want %d", got, tc.want)
			}
		})
	}
}

func TestAClusterIsSettledOnceItWasReadOrHasFailed(t *testing.T) {
	s := snapshotOf(nil, nil)
	s.Jobs.Poll = slurmclient.Poll{Resource: slurmclient.Jobs}
	if new(Reader).Read(noon(), s, nil).Settled() {
		t.Error("the reading is settled although its jobs were not read")
	}
	s.Jobs.Err = fmt.Errorf("down")
	if !new(Reader).Read(noon(), s, nil).Settled() {
		t.Error("the reading is not settled although reading its jobs has failed")
	}
}

func TestPartitionsThatAPoolServes(t *testing.T) {
	byNodeSet, everything := aPartition("by-nodeset"), aPartition("everything")
	byNodeSet.NodeSets, everything.NodeSets = "other,gpu", "ALL"
	future := aNode("f0", "gpu", "future", slurm.NodeFuture)
	s := snapshotOf([]*slurm.Node{aNode("n0", "gpu", "nodes", slurm.NodeIdle), future}, nil,
		byNodeSet, everything, aPartition("else"), aPartition("own"), aPartition("nodes"), aPartition("future"))
	r := new(Reader).Read(noon(), s, []demand.Pool{{Name: "team/gpu", Feature: "gpu", Partitions: []string{"own"}},
		{Name: "team/none", Feature: "none"}})
	got := [][]string{r.demand.Pools[0].Partitions, r.demand.Pools[1].Partitions}
	want := [][]string{{"by-nodeset", "everything", "future", "nodes", "own"}, {"everything"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkQuery queries metrics of a NodeSet with 100,000 jobs.
func BenchmarkQuery(b *testing.B) {
	var jobs []*slurm.Job
	for i := range uint32(100_000) {
		jobs = append(jobs, aJob(i+1, fmt.Sprintf("p%d,p%d", i%200, (i+1)%200), "Resources"))
	}
	var partitions []*slurm.Partition
	var pools []demand.Pool
	d := fakeDirectory{}
	for i := range 200 {
		name := fmt.Sprintf("p%d", i)
		partitions = append(partitions, aPartition(name))
		pools = append(pools, demand.Pool{Name: "team/" + name, Feature: name, Partitions: []string{name}, Max: 1000})
	}
	c := clusterOf("large", snapshotOf(nil, jobs, partitions...), pools...)
	for _, p := range pools {
		d["nodesets"] = append(d["nodesets"],
			fakeObject{Object{Namespace: "team", Name: p.Feature, Pool: p.Name, Clusters: []Cluster{c}}, labels.Set{}})
	}
	p := providerOf(d, noon())
	for b.Loop() {
		for _, metric := range []string{"slurm_nodeset_required_nodes", "slurm_partition_pending_jobs"} {
			if _, err := p.GetMetricByName(b.Context(), nameInTeam("p77"), infoOf(metric),
				labels.Everything()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(c.reading.ComputeTime().Seconds()*1000, "ms/snapshot")
}

// A nil record stands for data that the code does not expect.
func TestAPanicIsAnErrorOfItsClusterOnly(t *testing.T) {
	d := testDirectory(func(s *slurmclient.Snapshot) { s.Jobs.Value = append(s.Jobs.Value, nil) })
	p := providerOf(d, noon())
	_, err := p.GetMetricByName(t.Context(), nameInTeam("a"), infoOf("slurm_nodeset_required_nodes"),
		labels.Everything())
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "computing the demand: panic: ") {
		t.Errorf("the answer is %v", err)
	}
	blue := provider.CustomMetricInfo{GroupResource: Controllers().GroupResource, Namespaced: true,
		Metric: "slurm_partition_pending_jobs"}
	if v, err := p.GetMetricByName(t.Context(), nameInTeam("blue"), blue, labels.Everything()); err != nil ||
		v.Value.Value() != 1 {
		t.Errorf("another cluster answers %v, %v", v, err)
	}
}
