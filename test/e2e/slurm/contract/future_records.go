package contract

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// testFutureRecords checks that the client's list of nodes is the server's default list, state for state, plus the
// FUTURE records. A list since update_time must contain these too.
func (s *suite) testFutureRecords(t *testing.T) {
	ctx := t.Context()
	id := s.submit(t, s.client, slurm.JobRequest{RequiredNodes: "n1", Tasks: 1, Script: "#!/bin/sh\nsleep 600\n"})
	defer s.cancelAll(t, id)
	s.awaitJob(t, id, "running", func(j *slurm.Job) bool { return j.State.Base == slurm.JobRunning })
	s.awaitListed(t, "n1", "mixed", func(n *slurm.Node) bool {
		return n.State.Base == slurm.NodeMixed &&
			n.AllocCPUs > 0
	})
	n1, err := s.client.Node(ctx, "n1")
	if err != nil || n1.State.Base != slurm.NodeMixed {
		t.Errorf("node n1 is %+v, %v", n1, err)
	}
	before, err := s.client.Nodes(ctx, 0)
	must(t, err)

	must(t, s.server.CreateNodes(ctx, "NodeName=later-[1-2] CPUs=2 RealMemory=1000 Feature=later State=FUTURE"))
	changed := s.changedSince(t, before.ServerTime)
	var listed, future []string
	for _, n := range changed.Items {
		if n.State.Base == slurm.NodeFuture {
			future = append(future, n.Name+" "+n.State.String())
			continue
		}
		listed = append(listed, n.Name+" "+n.State.String())
	}
	if want := []string{"later-1 FUTURE+DYNAMIC_NORM", "later-2 FUTURE+DYNAMIC_NORM"}; !slices.Equal(future, want) {
		t.Errorf("the FUTURE records are %q", future)
	}
	if diff := cmp.Diff(s.defaultNodeStates(t), listed); diff != "" {
		t.Errorf("the other nodes differ from the server's default list: %s", diff)
	}
	if !slices.ContainsFunc(listed,
		func(n string) bool { return strings.HasPrefix(n, "n1 MIXED") }) { // sometimes +PLANNED
		t.Errorf("n1 is not mixed: %q", listed)
	}
	must(t, s.client.DeleteNode(ctx, "later-1"))
	must(t, s.client.DeleteNode(ctx, "later-2"))
	s.cancelAll(t, id)
	s.awaitListed(t, "n1", "idle in the end", isIdle)
}

// awaitListed is awaitNode with the list of nodes.
func (s *suite) awaitListed(t *testing.T, name, what string, holds func(n *slurm.Node) bool) {
	t.Helper()
	s.eventually(t, "node "+name+" "+what, func(ctx context.Context) (bool, error) {
		list, err := s.client.Nodes(ctx, 0)
		return slices.ContainsFunc(list.Items, func(n *slurm.Node) bool { return n.Name == name && holds(n) }), err
	})
}

// changedSince waits until the list of nodes since update_time contains the FUTURE records.
func (s *suite) changedSince(t *testing.T, since slurm.Time) slurmclient.List[*slurm.Node] {
	t.Helper()
	var list slurmclient.List[*slurm.Node]
	s.eventually(t, "the FUTURE records in the list since update_time", func(ctx context.Context) (bool, error) {
		var err error
		list, err = s.client.Nodes(ctx, since)
		if slurmclient.IsUnchanged(err) {
			return false, nil
		}
		return slices.ContainsFunc(list.Items, func(n *slurm.Node) bool { return n.Name == "later-2" }), err
	})
	return list
}

// defaultNodeStates returns names and states in the server's default list of nodes, in the client's
// format.
func (s *suite) defaultNodeStates(t *testing.T) []string {
	t.Helper()
	token, err := slurmclient.TokenFromKeyFile(s.server.KeyFile, "slurm", time.Hour).Token()
	must(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		s.server.URL+"/slurm/"+s.version+"/nodes/", nil)
	must(t, err)
	request.Header.Set("X-SLURM-USER-TOKEN", token)
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	var body struct {
		Nodes []struct {
			Name  string
			State []string
		}
	}
	must(t, json.NewDecoder(answer.Body).Decode(&body))
	var out []string
	for _, n := range body.Nodes {
		out = append(out, n.Name+" "+slurm.ParseNodeState(n.State...).String())
	}
	return out
}
