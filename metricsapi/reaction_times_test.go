package metricsapi

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func matchEverything() labels.Selector { return labels.Everything() }

func TestHowLongAShortageLasts(t *testing.T) {
	type step struct{ after, required, replicas uint64 } // seconds
	for _, tc := range []struct {
		name  string
		steps []step
		want  []time.Duration
	}{
		{"nothing is required", []step{{0, 0, 0}, {10, 0, 0}}, nil},
		{"replicas are sufficient", []step{{0, 2, 2}, {10, 2, 3}}, nil},
		{"raised at once", []step{{0, 0, 0}, {10, 3, 0}, {12, 3, 3}}, []time.Duration{2 * time.Second}},
		{"raised in steps", []step{{0, 9, 0}, {15, 9, 4}, {30, 9, 8}, {45, 9, 9}}, []time.Duration{45 * time.Second}},
		{"raised above the required number", []step{{0, 3, 0}, {7, 3, 5}}, []time.Duration{7 * time.Second}},
		{"more workers become required", []step{{0, 3, 0}, {5, 6, 3}, {9, 6, 6}}, []time.Duration{9 * time.Second}},
		{"fewer workers become required, and replicas are raised to that number", []step{{0, 9, 2}, {5, 5, 5}},
			[]time.Duration{5 * time.Second}},
		{"the requirement ends without a change of replicas", []step{{0, 9, 2}, {5, 2, 2}}, nil},
		{"replicas are lowered, and the requirement ends", []step{{0, 9, 2}, {5, 9, 1}, {9, 1, 1}}, nil},
		{"never raised", []step{{0, 9, 2}, {5, 9, 2}, {3600, 9, 2}}, nil},
		{"replicas are lowered below the required number", []step{{0, 4, 4}, {5, 4, 2}, {8, 4, 4}},
			[]time.Duration{3 * time.Second}},
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
				t.Fatalf("the reaction times are %v, want %v", got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("the reaction times are %v, want %v", got, tc.want)
				}
			}
		})
	}
}

// readingWith returns a reading of a cluster that requires some workers of a NodeSet and has
// some replicas.
func readingWith(required int, replicas uint64) *Reading {
	var jobs []*slurm.Job
	for i := range required {
		jobs = append(jobs, aJob(uint32(i+1), "a", "Resources"))
	}
	pool := demand.Pool{Name: "team/a", Feature: "a", Partitions: []string{"a"}, Replicas: replicas,
		Shape: &demand.Shape{CPUs: 8, MemoryMiB: 16000}}
	return new(Reader).Read(noon(), snapshotOf(nil, jobs, aPartition("a")), []demand.Pool{pool})
}

func TestReactionTimes(t *testing.T) {
	red := refs.ClusterKey{Kind: "Cluster", Namespace: "team", Name: "red"}
	at := func(seconds int) time.Time { return noon().Add(time.Duration(seconds) * time.Second) }
	const name = "slurm_nodeset_short_since_time_seconds"
	since := func(t *testing.T, m *ReactionTimes, want string) {
		t.Helper()
		if want != "" {
			want = "# HELP " + name + " " + shortSinceHelp + "\n# TYPE " + name + " gauge\n" + name +
				`{cluster="team/red",namespace="team",nodeset="a"} ` + want + "\n"
		}
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	}
	measured := func(t *testing.T, m *ReactionTimes, want string) {
		t.Helper()
		if text := gatherText(t, m); !strings.Contains(text, want) {
			t.Errorf("the exposition lacks %q:\n%s", want, text)
		}
	}
	const count, sum = `slurm_nodeset_reaction_seconds_count{cluster="team/red",namespace="team",nodeset="a"} `,
		`slurm_nodeset_reaction_seconds_sum{cluster="team/red",namespace="team",nodeset="a"} `

	t.Run("a shortage that ends", func(t *testing.T) {
		m := NewReactionTimes()
		m.ObserveReading(red, at(0), readingWith(0, 0))
		measured(t, m, count+"0\n")
		since(t, m, "")
		m.ObserveReading(red, at(10), readingWith(2, 0))
		since(t, m, "1.77236641e+09")
		m.ObserveReading(red, at(14), readingWith(2, 2))
		measured(t, m, count+"1\n")
		measured(t, m, sum+"4\n")
		since(t, m, "")
	})
	t.Run("the begin of a shortage at the first reading is unknown", func(t *testing.T) {
		m := NewReactionTimes()
		m.ObserveReading(red, at(0), readingWith(2, 0))
		since(t, m, "")
		m.ObserveReading(red, at(10), readingWith(2, 2))
		measured(t, m, count+"0\n")
	})
	t.Run("a reading without numbers is ignored", func(t *testing.T) {
		m := NewReactionTimes()
		m.ObserveReading(red, at(0), readingWith(0, 0))
		m.ObserveReading(red, at(1), readingWith(2, 0))
		unread := readingWith(0, 0)
		unread.demand.Known = false
		m.ObserveReading(red, at(2), unread)
		m.ObserveReading(red, at(5), readingWith(2, 2))
		measured(t, m, sum+"4\n")
	})
	t.Run("the series of a NodeSet end with it, and with its cluster", func(t *testing.T) {
		m := NewReactionTimes()
		m.ObserveReading(red, at(0), readingWith(0, 0))
		m.ObserveReading(red, at(1), new(Reader).Read(noon(), snapshotOf(nil, nil), nil))
		if text := gatherText(t, m); text != "" {
			t.Errorf("without the NodeSet the exposition is\n%s", text)
		}
		m.ObserveReading(red, at(2), readingWith(3, 0))
		m.ForgetCluster(red)
		if text := gatherText(t, m); text != "" {
			t.Errorf("without the cluster the exposition is\n%s", text)
		}
	})
}
