package slurmclient_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// TestRenegotiation sends requests of each kind: lists that are decoded as a stream, answers that are
// read as a whole, and job records, which may be read in another version.
func TestRenegotiation(t *testing.T) {
	nodes := func(ctx context.Context, c *slurmclient.Client) error { _, err := c.Nodes(ctx, 0); return err }
	jobs := func(ctx context.Context, c *slurmclient.Client) error { _, err := c.Jobs(ctx, 0); return err }
	partitions := func(ctx context.Context, c *slurmclient.Client) error { _, err := c.Partitions(ctx, 0); return err }
	conf := func(ctx context.Context, c *slurmclient.Client) error { _, err := c.Conf(ctx); return err }
	for _, tc := range []struct {
		name   string
		ask    func(context.Context, *slurmclient.Client) error
		file   string
		before []string // the versions that the server offers
		after  []string // the same after it was replaced
		lacks  bool     // whether the new server lacks the path in every version
		want   slurmclient.Code
		tries  []string // the versions of the requests that the new server gets, without pings
	}{
		{"a list after an upgrade", nodes, "nodes", []string{"v0.0.43"}, []string{"v0.0.44"}, false, "", []string{"v0.0.43", "v0.0.44"}},
		{"a whole answer after an upgrade", partitions, "partitions", []string{"v0.0.43"}, []string{"v0.0.44"}, false, "", []string{"v0.0.43", "v0.0.44"}},
		{"job records after an upgrade", jobs, "jobs", []string{"v0.0.43"}, []string{"v0.0.44"}, false, "", []string{"v0.0.43", "v0.0.44"}},
		{"a list that the server lacks", nodes, "nodes", []string{"v0.0.43"}, []string{"v0.0.43"}, true, slurmclient.CodeUnsupported, []string{"v0.0.43"}},
		{"a whole answer that the server lacks", partitions, "partitions", []string{"v0.0.43"}, []string{"v0.0.43"}, true, slurmclient.CodeUnsupported, []string{"v0.0.43"}},
		{"a list that the upgraded server lacks", nodes, "nodes", []string{"v0.0.43"}, []string{"v0.0.44"}, true, slurmclient.CodeUnsupported, []string{"v0.0.43", "v0.0.44"}},
		{"a whole answer that the upgraded server lacks", partitions, "partitions", []string{"v0.0.43"}, []string{"v0.0.44"}, true, slurmclient.CodeUnsupported, []string{"v0.0.43", "v0.0.44"}},
		{"an operation that the version does not have", conf, "", []string{"v0.0.43"}, []string{"v0.0.44"}, false, slurmclient.CodeUnsupported, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			offered, lacks := tc.before, false
			var tries []string
			client := newTestClient(t, "", func(r *http.Request) (reply, error) {
				version, isPing := strings.Split(r.URL.Path, "/")[2], strings.HasSuffix(r.URL.Path, "/ping/")
				if !isPing {
					tries = append(tries, version)
				}
				switch {
				case !slices.Contains(offered, version), lacks && !isPing:
					return reply{http.StatusNotFound, "text/plain", []byte("Unable to find requested URL endpoint.")}, nil
				case isPing:
					return recordedAnywhere(t, "26.05/"+version, "ping.json"), nil
				}
				return recordedAnywhere(t, "26.05/"+version, tc.file+".json"), nil
			})
			if tc.file != "" {
				wantCode(t, "the first request", tc.ask(t.Context(), client), "")
			} else {
				_, err := client.Ping(t.Context())
				wantCode(t, "pinging slurmctld", err, "")
			}
			offered, lacks, tries = tc.after, tc.lacks, nil
			wantCode(t, "the request", tc.ask(t.Context(), client), tc.want)
			if !slices.Equal(tries, tc.tries) {
				t.Errorf("the requests have versions %q, want %q", tries, tc.tries)
			}
			if tc.want == "" && client.Version() != tc.after[0] {
				t.Errorf("the version is %q, want %q", client.Version(), tc.after[0])
			}
		})
	}
}
