package slurmclient_test

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestRecordedVariants reads answers of many different clusters: records in which a field has a form
// that occurs in no other recording.
func TestRecordedVariants(t *testing.T) {
	for _, release := range []string{"24.11/v0.0.42", "26.05/v0.0.45"} {
		t.Run(release, func(t *testing.T) {
			a := recordedReply(t, release+"/jobs_menagerie.json")
			jobs, err := newTestClient(t, versionOf(release), alwaysReply(a)).Jobs(t.Context(), 0)
			if err != nil || len(jobs.Items) < 10 {
				t.Fatalf("%d jobs, %v", len(jobs.Items), err)
			}
			for i, r := range decodeRecords(t, a.body, "jobs") {
				j := jobs.Items[i]
				sameFields(t, fmt.Sprintf("job %d", j.ID), jobFields(j), r, "job_state")
				checkResourceTexts(t, fmt.Sprintf("job %d", j.ID), nil, []string{j.TRESRequested, j.TRESAllocated})
			}
			a = recordedReply(t, release+"/nodes_menagerie.json")
			nodes, err := newTestClient(t, versionOf(release), alwaysReply(a)).Nodes(t.Context(), 0)
			if err != nil || len(nodes.Items) < 10 {
				t.Fatalf("%d nodes, %v", len(nodes.Items), err)
			}
			for i, r := range decodeRecords(t, a.body, "nodes") {
				n := nodes.Items[i]
				sameFields(t, "node "+n.Name, nodeFields(n), r, "state")
				checkResourceTexts(t, "node "+n.Name, []string{n.GRES, n.GRESUsed}, []string{n.TRES, n.TRESUsed})
			}
		})
	}
}

// checkResourceTexts checks that all texts of GRES and TRES can be parsed.
func checkResourceTexts(t *testing.T, what string, gres, tres []string) {
	t.Helper()
	for _, text := range gres {
		if _, err := slurm.ParseGRES(text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, text := range tres {
		if _, err := slurm.ParseTRES(text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
