package slurmclient_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// TestAnAnswerOfAnotherClusterIsAConflict: what was recorded is of a cluster c2605. Whoever
// expects another one must not take a node, or that there is none, for its own.
func TestAnAnswerOfAnotherClusterIsAConflict(t *testing.T) {
	const release = "26.05/v0.0.45"
	file := func(name string) reply { return recordedReply(t, release+"/"+name) }
	untold := file("node_n1.json")
	untold.body = bytes.ReplaceAll(untold.body, []byte(`"cluster": "c2605"`), []byte(`"cluster": ""`))
	node := func(name string) func(context.Context, *slurmclient.Client) error {
		return func(ctx context.Context, c *slurmclient.Client) error { _, err := c.Node(ctx, name); return err }
	}
	nodes := func(ctx context.Context, c *slurmclient.Client) error { _, err := c.Nodes(ctx, 0); return err }
	cancel := func(ctx context.Context, c *slurmclient.Client) error { return c.CancelJob(ctx, "7") }
	for _, tc := range []struct {
		name   string
		expect string
		answer reply
		ask    func(context.Context, *slurmclient.Client) error
		want   slurmclient.Code
	}{
		{"a node of the cluster that is expected", "c2605", file("node_n1.json"), node("n1"), ""},
		{"a node of another", "c1", file("node_n1.json"), node("n1"), slurmclient.CodeConflict},
		{"a node of any", "", file("node_n1.json"), node("n1"), ""},
		{"a node of one that does not tell its name", "c1", untold, node("n1"), ""},
		{"the cluster that is expected has no such node", "c2605", file("node_unknown.json"), node("nosuch"), slurmclient.CodeNotFound},
		{"another has no such node", "c1", file("node_unknown.json"), node("nosuch"), slurmclient.CodeConflict},
		{"the nodes of another", "c1", file("nodes.json"), nodes, slurmclient.CodeConflict},
		{"a write that another answers", "c1", file("job_delete_unknown.json"), cancel, slurmclient.CodeConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := playing(t, versionOf(release), always(tc.answer))
			wantCode(t, "asking", tc.ask(slurmclient.WithCluster(t.Context(), tc.expect), client), tc.want)
		})
	}
	client := playing(t, versionOf(release), always(file("node_n1.json")))
	wantCode(t, "asking without a name", node("n1")(t.Context(), client), "")
}
