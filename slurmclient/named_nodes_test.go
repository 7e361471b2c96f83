package slurmclient

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestObjectsThatNameTooManyNodesAreNoReading: each reader of a snapshot would fill its memory. The next poll begins with a new reader: the
// old one assumes that the jobs were stored, and "unchanged" would mark the older jobs as fresh.
func TestObjectsThatNameTooManyNodesAreNoReading(t *testing.T) {
	for name, update := range map[string]func(*Snapshot){
		"too many nodes": func(s *Snapshot) {
			for id := range 10 {
				s.Jobs.Value = append(s.Jobs.Value, &slurm.Job{ID: uint32(id + 1), Nodes: fmt.Sprintf("x%d-[0-1048000]", id)})
			}
		},
		"a panic": func(*Snapshot) { panic("halfway") },
	} {
		t.Run(name, func(t *testing.T) {
			client, err := New(Config{URL: "http://127.0.0.1:1", Token: TokenFromKey([]byte("key"), "slurm", time.Hour, time.Now)})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			c := NewCache(client, CacheConfig{Resources: []Resource{Jobs}})
			p, polls := c.pollers[0], 0
			p.read = func(context.Context) (reading, error) {
				if polls++; polls > 1 {
					return reading{}, nil // unchanged
				}
				return reading{update: update}, nil
			}
			for range 2 {
				p.pollOnce(t.Context())
				if poll := c.Snapshot().Jobs; poll.Known || len(poll.Value) != 0 || poll.Err == nil {
					t.Errorf("%d jobs are read, %v", len(poll.Value), poll.Err)
				}
			}
		})
	}
}

// TestUsersWhoNameManyNodesHideNoJobs: each job excludes all nodes but one, and those who expand the lists have bounds.
func TestUsersWhoNameManyNodesHideNoJobs(t *testing.T) {
	s := &Snapshot{}
	for id := range 1_000 {
		s.Jobs.Value = append(s.Jobs.Value, &slurm.Job{ID: uint32(id + 1),
			SharedDetails: slurm.ShareDetails(slurm.JobDetails{RequiredNodes: fmt.Sprintf("n%d", id),
				ExcludedNodes: fmt.Sprintf("n[0-%d],n[%d-9999]", id, id+2)})})
	}
	if err := checkNamedNodes(s, Jobs); err != nil {
		t.Error(err)
	}
}

// TestEqualListsNameTheirNodesOnce: many jobs are planned on the same nodes.
func TestEqualListsNameTheirNodesOnce(t *testing.T) {
	s := &Snapshot{}
	for id := range 100_000 {
		s.Jobs.Value = append(s.Jobs.Value, &slurm.Job{ID: uint32(id + 1), Nodes: fmt.Sprintf("n%d", id%10_000),
			SharedDetails: slurm.ShareDetails(slurm.JobDetails{ScheduledNodes: "n[0-9999]"})})
	}
	if err := checkNamedNodes(s, Jobs); err != nil {
		t.Error(err)
	}
}
