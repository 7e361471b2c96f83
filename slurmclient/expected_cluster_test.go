package slurmclient_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// TestAnAnswerFromAnotherClusterIsAConflict uses answers recorded from a cluster named c2605. A caller
// that expects another cluster must not accept a node, or its absence, from this one.
func TestAnAnswerFromAnotherClusterIsAConflict(t *testing.T) {
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
		{"a node of the expected cluster", "c2605", file("node_n1.json"), node("n1"), ""},
		{"a node of another cluster", "c1", file("node_n1.json"), node("n1"), slurmclient.CodeConflict},
		{"a node of any cluster", "", file("node_n1.json"), node("n1"), ""},
		{"a node of a cluster that does not send its name", "c1", untold, node("n1"), ""},
		{"the expected cluster has no such node", "c2605", file("node_unknown.json"), node("nosuch"), slurmclient.CodeNotFound},
		{"another cluster has no such node", "c1", file("node_unknown.json"), node("nosuch"), slurmclient.CodeConflict},
		{"the nodes of another cluster", "c1", file("nodes.json"), nodes, slurmclient.CodeConflict},
		{"a write that another cluster answers", "c1", file("job_delete_unknown.json"), cancel, slurmclient.CodeConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := newTestClient(t, versionOf(release), alwaysReply(tc.answer))
			wantCode(t, "the request", tc.ask(slurmclient.WithCluster(t.Context(), tc.expect), client), tc.want)
		})
	}
	client := newTestClient(t, versionOf(release), alwaysReply(file("node_n1.json")))
	wantCode(t, "a request without an expected cluster", node("n1")(t.Context(), client), "")
}
