package slurmclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// reply is a recorded answer.
type reply struct {
	status int
	kind   string // Content-Type
	body   []byte
}

const recorded = "testdata/recorded/"

// recordedReply reads a recorded answer. Recordings of errors begin with a line that contains the status
// and the content type; the others are HTTP 200 and JSON.
func recordedReply(t testing.TB, name string) reply {
	t.Helper()
	raw, err := os.ReadFile(recorded + name)
	if err != nil {
		t.Fatal(err)
	}
	out := reply{status: http.StatusOK, kind: "application/json", body: raw}
	if head, rest, ok := bytes.Cut(raw, []byte("\n")); ok && bytes.HasPrefix(head, []byte("HTTP ")) {
		fields := strings.Fields(string(head))
		out.status, err = strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		out.body, out.kind = rest, "text/plain"
		for _, f := range fields {
			if kind, found := strings.CutPrefix(f, "ct="); found {
				out.kind = kind
			}
		}
	}
	return out
}

// recordedAnywhere is recordedReply, but returns the answer of another version if this one was not
// recorded. Errors are the same in all versions.
func recordedAnywhere(t testing.TB, release, name string) reply {
	t.Helper()
	for _, dir := range append([]string{release}, recordedVersions(t)...) {
		if _, err := os.Stat(recorded + dir + "/" + name); err == nil {
			return recordedReply(t, dir+"/"+name)
		}
	}
	t.Fatalf("%s was not recorded in any version", name)
	return reply{}
}

// responder answers requests with a function instead of a network.
type responder func(r *http.Request) (reply, error)

func (p responder) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	a, err := p(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: a.status, Status: fmt.Sprint(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r,
	}, nil
}

// alwaysReply answers every request with the same reply.
func alwaysReply(a reply) responder { return func(*http.Request) (reply, error) { return a, nil } }

// newTestClient returns a client of one API version whose requests p answers.
func newTestClient(t testing.TB, version string, p responder) *slurmclient.Client {
	t.Helper()
	client, err := slurmclient.New(slurmclient.Config{URL: "http://localhost:1", Version: version,
		Token: staticToken("t")})
	if err != nil {
		t.Fatal(err)
	}
	client.SetTransport(p)
	return client
}

// recordedVersions lists the folders of all recordings, as release/version.
func recordedVersions(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(recorded + "*/v*")
	if err != nil || len(paths) != 7 {
		t.Fatalf("there are %d recorded versions, %v", len(paths), err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(filepath.ToSlash(p), recorded)
	}
	return paths
}

func versionOf(release string) string { return release[strings.LastIndex(release, "/")+1:] }

func wantCode(t *testing.T, what string, err error, want slurmclient.Code) {
	t.Helper()
	var e *slurmclient.Error
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (!errors.As(err, &e) || e.Code != want):
		t.Errorf("%s: the error is %v, its code should be %q", what, err, want)
	}
}

// TestMisleadingAnswers uses all answers of real servers that are easily misinterpreted.
func TestMisleadingAnswers(t *testing.T) {
	type ask = func(c *slurmclient.Client) error
	nodes := func(c *slurmclient.Client) error { _, err := c.Nodes(t.Context(), 0); return err }
	nodesSince := func(c *slurmclient.Client) error { _, err := c.Nodes(t.Context(), 1795219836); return err }
	jobsSince := func(c *slurmclient.Client) error { _, err := c.Jobs(t.Context(), 1795219836); return err }
	node := func(c *slurmclient.Client) error { _, err := c.Node(t.Context(), "nosuch"); return err }
	cancel := func(c *slurmclient.Client) error { return c.CancelJob(t.Context(), "7") }
	drain := func(c *slurmclient.Client) error { return c.Drain(t.Context(), "n4", "x") }
	submit := func(c *slurmclient.Client) error {
		_, err := c.SubmitJob(t.Context(), testJobRequest())
		return err
	}
	inline := func(status int, kind, body string) reply { return reply{status, kind, []byte(body)} }
	for _, release := range recordedVersions(t) {
		version := versionOf(release)
		file := func(name string) reply { return recordedAnywhere(t, release, name) }
		for _, tc := range []struct {
			name string
			ask  ask
			give reply
			want slurmclient.Code
		}{
			{"unchanged jobs are 200, an empty list and a warning", jobsSince, file("jobs_nochange.json"),
				slurmclient.CodeUnchanged},
			{"unchanged nodes are 304 without a body", nodesSince, reply{status: http.StatusNotModified},
				slurmclient.CodeUnchanged},
			{"an unknown node is 200 with an error numbered 0", node, file("node_unknown.json"),
				slurmclient.CodeNotFound},
			{"slurmctld is down", nodes, inline(502, "application/json", string(file("nodes_ctld_down.json").body)),
				slurmclient.CodeUnavailable},
			{"cancelling a finished job is 200", cancel, file("job_delete_finished.json"), slurmclient.CodeConflict},
			{"cancelling an unknown job is 200", cancel, file("job_delete_unknown.json"), slurmclient.CodeNotFound},
			{"an unknown path is text", nodes, inline(404, "text/plain", string(file("unknown_path_404.txt").body)),
				slurmclient.CodeUnsupported},
			{"no token is 401 and text", nodes, inline(401, "text/plain", "Authentication failure"),
				slurmclient.CodeUnauthorized},
			{"the page of a proxy is not a list", nodes, inline(200, "text/html", "<html>"),
				slurmclient.CodeUnavailable},
			{"an empty answer is not an empty list", nodes, inline(200, "application/json", "{}"),
				slurmclient.CodeUnavailable},
			{"an empty body is not an empty list", nodes, inline(200, "application/json", ""),
				slurmclient.CodeUnavailable},
			{"a truncated answer is not a shorter list", nodes, cutInHalf(file("nodes.json")),
				slurmclient.CodeUnavailable},
			{"an empty list without a warning is a list", jobsSince,
				inline(200, "application/json",
					`{"jobs": [], "last_update": {"set": true, "infinite": false, "number": 5}, "warnings": [], "errors": []}`), ""},
		} {
			t.Run(release+"/"+tc.name, func(t *testing.T) {
				wantCode(t, "the call", tc.ask(newTestClient(t, version, alwaysReply(tc.give))), tc.want)
			})
		}
	}
	for _, dir := range []string{"24.11/errors-v0.0.40", "24.11/errors-v0.0.42", "26.05/errors-v0.0.42",
		"26.05/errors-v0.0.45"} {
		version := strings.TrimPrefix(versionOf(dir), "errors-")
		for _, tc := range []struct {
			file string
			ask  ask
			want slurmclient.Code
		}{
			{"expired.txt", nodes, slurmclient.CodeUnauthorized}, {"garbage.txt", nodes, slurmclient.CodeUnauthorized},
			{"badkey.txt", nodes, slurmclient.CodeUnauthorized}, {"no-exp.txt", nodes, slurmclient.CodeUnauthorized},
			{"empty-token.txt", nodes, slurmclient.CodeUnauthorized},
			{"expired-submit.txt", submit, slurmclient.CodeUnauthorized},
			{"alice-drain.txt", drain, slurmclient.CodeUnauthorized},
			{"wrong-version.txt", nodes, slurmclient.CodeUnsupported},
			{"expired-slurmdb.txt", func(c *slurmclient.Client) error { _, err := c.Users(t.Context()); return err },
				slurmclient.CodeUnavailable},
		} {
			t.Run(dir+"/"+tc.file, func(t *testing.T) {
				wantCode(t, tc.file, tc.ask(newTestClient(t, version, alwaysReply(recordedReply(t, dir+"/"+tc.file)))),
					tc.want)
			})
		}
	}
}

func cutInHalf(a reply) reply {
	a.body = a.body[:len(a.body)/2]
	return a
}

// TestAGatedNodeListThatFailsIsReadWithoutTheGate answers like 24.11, which fails a request for nodes with
// update_time if no partition has changed. The client requests the list again without update_time.
func TestAGatedNodeListThatFailsIsReadWithoutTheGate(t *testing.T) {
	var gates []string
	client := newTestClient(t, "v0.0.41", func(r *http.Request) (reply, error) {
		gates = append(gates, r.URL.Query().Get("update_time"))
		if r.URL.Query().Has("update_time") {
			return reply{500, "application/json",
				[]byte(`{"nodes": [], "errors": [{"description": "Unable to query partitions", "error_number": -1, "error": "Unspecified error"}], "warnings": []}`)}, nil
		}
		return recordedReply(t, "24.11/v0.0.41/nodes.json"), nil
	})
	list, err := client.Nodes(t.Context(), 1795219836)
	if err != nil || len(list.Items) == 0 {
		t.Errorf("%d nodes, %v", len(list.Items), err)
	}
	if len(gates) != 2 || gates[0] != "uts1795219836" {
		t.Errorf("the gates were %q", gates)
	}
}

// TestPingWithABadTokenDoesNotRespond answers like servers that answer a ping with 200 regardless of the
// token.
func TestPingWithABadTokenDoesNotRespond(t *testing.T) {
	for _, dir := range []string{"24.11/errors-v0.0.40", "24.11/errors-v0.0.42", "26.05/errors-v0.0.42",
		"26.05/errors-v0.0.45"} {
		version := strings.TrimPrefix(versionOf(dir), "errors-")
		pings, err := newTestClient(t, version, alwaysReply(recordedReply(t, dir+"/expired-ping.txt"))).Ping(
			t.Context())
		for _, p := range pings {
			if p.Responding {
				t.Errorf("%s: slurmctld responds: %+v", dir, p)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

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
		{"the expected cluster has no such node", "c2605", file("node_unknown.json"), node("nosuch"),
			slurmclient.CodeNotFound},
		{"another cluster has no such node", "c1", file("node_unknown.json"), node("nosuch"), slurmclient.CodeConflict},
		{"the nodes of another cluster", "c1", file("nodes.json"), nodes, slurmclient.CodeConflict},
		{"a write that another cluster answers", "c1", file("job_delete_unknown.json"), cancel,
			slurmclient.CodeConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := newTestClient(t, versionOf(release), alwaysReply(tc.answer))
			wantCode(t, "the request", tc.ask(slurmclient.WithCluster(t.Context(), tc.expect), client), tc.want)
		})
	}
	client := newTestClient(t, versionOf(release), alwaysReply(file("node_n1.json")))
	wantCode(t, "a request without an expected cluster", node("n1")(t.Context(), client), "")
}

func TestConfPrivateData(t *testing.T) {
	whole := recordedReply(t, "26.05/v0.0.45/conf.json")
	with := func(old, text string) reply {
		changed := whole
		if changed.body = bytes.Replace(whole.body, []byte(old), []byte(text), 1); bytes.Equal(
			changed.body, whole.body) {
			t.Fatalf("%s was not recorded", old)
		}
		return changed
	}
	const words = "[\n      \"jobs\",\n      \"nodes\"\n    ]"
	for _, tc := range []struct {
		name string
		give reply
		want []string
		code slurmclient.Code
	}{
		{"jobs and nodes", whole, []string{"jobs", "nodes"}, ""},
		{"nothing is private", with(words, "[]"), []string{}, ""},
		{"PrivateData is null", with(words, "null"), nil, slurmclient.CodeUnavailable},
		{"PrivateData is missing", with(`"PrivateData"`, `"PublicData"`), nil, slurmclient.CodeUnavailable},
		{"PrivateData is not a list", with(words, `"jobs"`), nil, slurmclient.CodeUnavailable},
		{"an answer without a configuration", with(`"slurm_conf"`, `"slurm"`), nil, slurmclient.CodeUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conf, err := newTestClient(t, "v0.0.45", alwaysReply(tc.give)).Conf(t.Context())
			wantCode(t, "the configuration", err, tc.code)
			if err == nil && !slices.Equal(conf.PrivateData, tc.want) {
				t.Errorf("PrivateData is %q, want %q", conf.PrivateData, tc.want)
			}
		})
	}
}

// TestGRESOfJobs: every version reports what a job has, whatever AccountingStorageTRES lists.
func TestGRESOfJobs(t *testing.T) {
	for _, folder := range []string{"24.11/v0.0.40", "24.11/v0.0.41", "24.11/v0.0.42", "26.05/v0.0.42", "26.05/v0.0.43",
		"26.05/v0.0.44", "26.05/v0.0.45"} {
		jobs, err := newTestClient(t, filepath.Base(folder), alwaysReply(recordedReply(t, folder+"/jobs.json"))).Jobs(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		for _, j := range jobs.Items {
			if j.State.Base != slurm.JobRunning || !strings.Contains(j.TRESAllocated, "gres/gpu") {
				continue
			}
			counted++
			byItself := *j
			byItself.TRESAllocated, _, _ = strings.Cut(j.TRESAllocated, ",gres/")
			text, known := byItself.AllocatedTRES()
			want, _ := slurm.ParseTRES(j.TRESAllocated)
			if got, err := slurm.ParseTRES(text); err != nil || !known || got.GPUs() != want.GPUs() {
				t.Errorf("%s: job %d has %q, want the GPUs of %q", folder, j.ID, text, j.TRESAllocated)
			}
		}
		if counted == 0 {
			t.Errorf("%s: no job has GPUs", folder)
		}
	}
}
