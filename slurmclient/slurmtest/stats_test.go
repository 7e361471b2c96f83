package slurmtest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestStatisticsCountTheRPCsOfRequests(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := demoCluster(t, release)
		cl := newClient(t, c, v)
		for range 3 {
			_, err := cl.Jobs(t.Context(), 0)
			must(t, err)
		}
		_, err := cl.Nodes(t.Context(), 0)
		must(t, err)
		s, err := cl.Stats(t.Context())
		must(t, err)
		types := map[string]uint64{}
		for _, r := range s.RPCsByType {
			types[r.Name] = r.Count
		}
		want := map[string]uint64{"REQUEST_JOB_INFO": 3, "REQUEST_NODE_INFO": 1, "REQUEST_STATS_INFO": 1}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Error(diff)
		}
		if u := s.RPCsByUser; len(u) != 1 || u[0].Name != "root" || u[0].Count != 5 {
			t.Errorf("by user: %+v", u)
		}
	})
}

func TestSharesFollowUsage(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := smallCluster(release)
		mustSubmit(t, c, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Tasks: 2}, User: "alice",
			RunFor: 100 * time.Second})
		c.Step(10 * time.Minute)
		list, err := newClient(t, c, v).Shares(t.Context())
		must(t, err)
		usage := map[string]uint64{}
		factors := map[string]float64{}
		for _, s := range list.Items {
			if s.User {
				usage[s.Name] = s.Usage
				factors[s.Name], _ = s.Factor.Value()
			}
		}
		if diff := cmp.Diff(map[string]uint64{"root": 0, "slurm": 0, "alice": 200, "bob": 0}, usage); diff != "" {
			t.Error(diff)
		}
		if factors["alice"] >= factors["bob"] {
			t.Errorf("alice's factor %v is not below bob's %v", factors["alice"], factors["bob"])
		}
	})
}
