package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// withPendingJob adds job 5, which waits in partition "all" for the nodes, with a constraint. All records are in that
// partition, and have the feature "cpu".
func withPendingJob(nodes uint64, constraint string) func(*planInput) {
	return func(s *planInput) {
		s.observed.Slurm.Pending = references.PendingByPartition([]*slurm.Job{{ID: 5, Partition: "all",
			SharedDetails: slurm.ShareDetails(slurm.JobDetails{Features: constraint}), NodeCount: slurm.Num(nodes),
			State: slurm.JobState{Base: slurm.JobPending}}})
		in := references.Nodes{}
		for name, r := range s.observed.Slurm.Records {
			r.Partitions, r.Features = []string{"all"}, []string{"cpu"}
			s.observed.Slurm.Records[name] = r
			in.Add(r.Partitions, r.Features)
		}
		s.observed.Slurm.NodesIn = in
	}
}

// withOtherNodes adds nodes of others to the partition.
func withOtherNodes(n int) func(*planInput) {
	return func(s *planInput) {
		for range n {
			s.observed.Slurm.NodesIn.Add([]string{"all"}, []string{"other"})
		}
	}
}

// withOldSurplus has all records from an ordinal on surplus for an hour.
func withOldSurplus(from int) func(*planInput) {
	return func(s *planInput) {
		for i := from; i < len(s.observed.Slurm.Records); i++ {
			withSurplusSince(fmt.Sprintf("n-%d", i), time.Hour)(s)
		}
	}
}

func TestRecordsThatPendingJobsNeed(t *testing.T) {
	const needsFour = "job 5 needs 4 nodes of partition all"
	const waits = "job 5 waits in partition all, and the NodeSet would have no record left"
	fell := func(to int, change ...func(*planInput)) *planInput { // from six
		return newInput(0, 0, append([]func(*planInput){withFutures(6), withMaximum(to), withOldSurplus(to)}, change...)...)
	}
	for name, tc := range map[string]struct {
		s       *planInput
		deleted int
		reason  string // of all others that are surplus
	}{
		"nobody needs them":                       {fell(3), 3, ""},
		"four nodes where three would remain":     {fell(3, withPendingJob(4, "")), 0, needsFour},
		"three nodes where three would remain":    {fell(3, withPendingJob(3, "")), 3, ""},
		"four nodes, one of which is another's":   {fell(3, withPendingJob(4, ""), withOtherNodes(1)), 3, ""},
		"four of a feature that only three have":  {fell(3, withPendingJob(4, "cpu"), withOtherNodes(1)), 0, needsFour},
		"none would remain, and a job waits":      {fell(0, withPendingJob(1, ""), withOtherNodes(1)), 0, waits},
		"none would remain, of another feature":   {fell(0, withPendingJob(1, "other"), withOtherNodes(1)), 6, ""},
		"one would remain, and a job waits":       {fell(1, withPendingJob(1, "cpu")), 5, ""},
		"a worker would remain, and a job waits":  {newInput(1, 1, withFutures(3), withMaximum(0), withOldSurplus(1), withPendingJob(1, "cpu")), 2, ""},
		"a deleted NodeSet whose records it uses": {fell(0, withDeletion, withPendingJob(6, "")), 6, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.s.runPlanner()
			deleted := strings.Count(strings.Join(formatSteps(got), " "), "delete-record")
			want := map[string]string{}
			for i := *tc.s.desired.MaxWorkers; tc.reason != "" && i < 6; i++ {
				want[fmt.Sprintf("n-%d", i)] = tc.reason
			}
			if diff := cmp.Diff(want, got.KeptRecords, cmpopts.EquateEmpty()); diff != "" || deleted != tc.deleted {
				t.Errorf("%d are deleted, want %d; kept: %s", deleted, tc.deleted, diff)
			}
		})
	}
}

// TestANeededRecordIsDeletedWhenItsJobHasEnded: its time as a surplus record continues meanwhile.
func TestANeededRecordIsDeletedWhenItsJobHasEnded(t *testing.T) {
	s := newInput(0, 0, withFutures(2), withMaximum(1), withOldSurplus(1), withPendingJob(2, ""))
	if diff := cmp.Diff(Surplus{Records: []string{"n-1"}}, s.runPlanner().Surplus); diff != "" {
		t.Error(diff)
	}
	s.observed.Slurm.Pending = references.Pending{}
	expectSteps(t, s, "delete-record n-1")
}

func TestWhileItIsNotKnownWhatJobsNeedRecordsStay(t *testing.T) {
	s := newInput(0, 0, withFutures(2), withMaximum(1), withOldSurplus(1), func(s *planInput) {
		s.observed.Slurm.ReferencesProblem = "partitions have not been read yet"
	})
	expectSteps(t, s)
}
