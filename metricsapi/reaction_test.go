package metricsapi

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func everything() labels.Selector { return labels.Everything() }

func TestHowLongAShortageLasts(t *testing.T) {
	type step struct{ after, required, replicas uint64 } // seconds
	for _, tc := range []struct {
		name  string
		steps []step
		want  []time.Duration
	}{
		{"nothing is required", []step{{0, 0, 0}, {10, 0, 0}}, nil},
		{"as many as required", []step{{0, 2, 2}, {10, 2, 3}}, nil},
		{"given at once", []step{{0, 0, 0}, {10, 3, 0}, {12, 3, 3}}, []time.Duration{2 * time.Second}},
		{"given in steps", []step{{0, 9, 0}, {15, 9, 4}, {30, 9, 8}, {45, 9, 9}}, []time.Duration{45 * time.Second}},
		{"given more than required", []step{{0, 3, 0}, {7, 3, 5}}, []time.Duration{7 * time.Second}},
		{"more is required meanwhile", []step{{0, 3, 0}, {5, 6, 3}, {9, 6, 6}}, []time.Duration{9 * time.Second}},
		{"less is required meanwhile, and that is given", []step{{0, 9, 2}, {5, 5, 5}}, []time.Duration{5 * time.Second}},
		{"nothing is given and nothing required any more", []step{{0, 9, 2}, {5, 2, 2}}, nil},
		{"taken away, and not required any more", []step{{0, 9, 2}, {5, 9, 1}, {9, 1, 1}}, nil},
		{"never given", []step{{0, 9, 2}, {5, 9, 2}, {3600, 9, 2}}, nil},
		{"workers are taken away that are required", []step{{0, 4, 4}, {5, 4, 2}, {8, 4, 4}}, []time.Duration{3 * time.Second}},
		{"twice", []step{{0, 1, 0}, {2, 1, 1}, {5, 3, 1}, {6, 3, 3}}, []time.Duration{2 * time.Second, time.Second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s shortage
			var got []time.Duration
			for _, at := range tc.steps {
				next, took, given := s.next(noon().Add(time.Duration(at.after)*time.Second), at.required, at.replicas)
				if s = next; given {
					got = append(got, took)
				}
			}
			if len(got) != len(tc.want) {
				t.Fatalf("it tells of %v, want %v", got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("it tells of %v, want %v", got, tc.want)
				}
			}
		})
	}
}

// looks is a cluster with jobs that need so many workers of so many, as it is read.
func looks(required int, replicas uint64) *Reading {
	var jobs []*slurm.Job
	for i := range required {
		jobs = append(jobs, aJob(uint32(i+1), "a", "Resources"))
	}
	pool := demand.Pool{Name: "team/a", Feature: "a", Partitions: []string{"a"}, Running: replicas, Shape: &demand.Shape{CPUs: 8, MemoryMiB: 16000}}
	return new(Reader).Read(noon(), snapshotOf(nil, jobs, aPartition("a")), []demand.Pool{pool})
}

func TestReactions(t *testing.T) {
	red := access.Key{Kind: "Cluster", Namespace: "team", Name: "red"}
	at := func(seconds int) time.Time { return noon().Add(time.Duration(seconds) * time.Second) }
	const name = "slurm_nodeset_short_since_time_seconds"
	since := func(t *testing.T, m *Reactions, want string) {
		t.Helper()
		if want != "" {
			want = "# HELP " + name + " " + sinceHelp + "\n# TYPE " + name + " gauge\n" + name + `{cluster="team/red",namespace="team",nodeset="a"} ` + want + "\n"
		}
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	}
	measured := func(t *testing.T, m *Reactions, want string) {
		t.Helper()
		if text := exposition(t, m); !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	const count, sum = `slurm_nodeset_reaction_seconds_count{cluster="team/red",namespace="team",nodeset="a"} `, `slurm_nodeset_reaction_seconds_sum{cluster="team/red",namespace="team",nodeset="a"} `

	t.Run("a shortage that is made good", func(t *testing.T) {
		m := NewReactions()
		m.See(red, at(0), looks(0, 0))
		measured(t, m, count+"0\n")
		since(t, m, "")
		m.See(red, at(10), looks(2, 0))
		since(t, m, "1.77236641e+09")
		m.See(red, at(14), looks(2, 2))
		measured(t, m, count+"1\n")
		measured(t, m, sum+"4\n")
		since(t, m, "")
	})
	t.Run("since when is not known of one that was there at first", func(t *testing.T) {
		m := NewReactions()
		m.See(red, at(0), looks(2, 0))
		since(t, m, "")
		m.See(red, at(10), looks(2, 2))
		measured(t, m, count+"0\n")
	})
	t.Run("a reading without numbers says nothing", func(t *testing.T) {
		m := NewReactions()
		m.See(red, at(0), looks(0, 0))
		m.See(red, at(1), looks(2, 0))
		unread := looks(0, 0)
		unread.demand.Known = false
		m.See(red, at(2), unread)
		m.See(red, at(5), looks(2, 2))
		measured(t, m, sum+"4\n")
	})
	t.Run("the series of a NodeSet end with it, and with its cluster", func(t *testing.T) {
		m := NewReactions()
		m.See(red, at(0), looks(0, 0))
		m.See(red, at(1), new(Reader).Read(noon(), snapshotOf(nil, nil), nil))
		if text := exposition(t, m); text != "" {
			t.Errorf("without the NodeSet there is\n%s", text)
		}
		m.See(red, at(2), looks(3, 0))
		m.Gone(red)
		if text := exposition(t, m); text != "" {
			t.Errorf("without the cluster there is\n%s", text)
		}
	})
}
