package slurmtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func newClient(t *testing.T, c *slurmtest.Cluster, version string) *slurmclient.Client {
	t.Helper()
	t.Setenv("SLURM_JWT", "token")
	cl, err := slurmclient.New(slurmclient.Config{URL: startServer(t, c).URL, Version: version,
		Token: slurmclient.TokenFromEnv("SLURM_JWT"), Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// forEachVersion runs a test for every API version of every release.
func forEachVersion(t *testing.T, test func(t *testing.T, release, version string)) {
	for release, versions := range servedVersions() {
		for _, v := range versions {
			t.Run(release+" "+v, func(t *testing.T) { test(t, release, v) })
		}
	}
}

func TestClientReadsEveryList(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		cl := newClient(t, demoCluster(t, release), v)
		ctx := t.Context()
		checks := map[string]func() (int, error){
			"nodes":        func() (int, error) { l, err := cl.Nodes(ctx, 0); return len(l.Items), err },
			"jobs":         func() (int, error) { l, err := cl.Jobs(ctx, 0); return len(l.Items), err },
			"states":       func() (int, error) { l, err := cl.JobStates(ctx, 1, 2, 3, 4, 99); return len(l), err },
			"partitions":   func() (int, error) { l, err := cl.Partitions(ctx, 0); return len(l.Items), err },
			"reservations": func() (int, error) { l, err := cl.Reservations(ctx, 0); return len(l.Items), err },
			"licenses":     func() (int, error) { l, err := cl.Licenses(ctx); return len(l.Items), err },
			"shares":       func() (int, error) { l, err := cl.Shares(ctx); return len(l.Items), err },
			"associations": func() (int, error) { l, err := cl.Associations(ctx); return len(l.Items), err },
			"accounts":     func() (int, error) { l, err := cl.Accounts(ctx); return len(l.Items), err },
			"users":        func() (int, error) { l, err := cl.Users(ctx); return len(l.Items), err },
			"qos":          func() (int, error) { l, err := cl.QOS(ctx); return len(l.Items), err },
			"pings":        func() (int, error) { l, err := cl.Ping(ctx); return len(l), err },
		}
		want := map[string]int{"nodes": 5, "jobs": 6, "states": 13, "partitions": 2, "reservations": 1, "licenses": 1,
			"shares": 7, "associations": 7, "accounts": 3, "users": 4, "qos": 2, "pings": 1}
		for name, check := range checks {
			n, err := check()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n != want[name] {
				t.Errorf("%s: %d items, want %d", name, n, want[name])
			}
		}
		s, err := cl.Stats(ctx)
		if err != nil || s.JobsSubmitted != 13 || s.JobsRunning != 4 {
			t.Errorf("statistics %+v, %v", s, err)
		}
	})
}

func TestClientReadsTheModel(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := demoCluster(t, release)
		cl := newClient(t, c, v)
		nodes, err := cl.Nodes(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := cl.Jobs(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var wantNodes []*slurm.Node
		for _, n := range c.Nodes() {
			wantNodes = append(wantNodes, &n)
		}
		var wantJobs []*slurm.Job
		for _, j := range c.Jobs() {
			wantJobs = append(wantJobs, &j)
		}
		if diff := cmp.Diff(wantNodes, nodes.Items, equateEmpty()); diff != "" {
			t.Errorf("nodes (-model +client):\n%s", diff)
		}
		if diff := cmp.Diff(wantJobs, jobs.Items); diff != "" {
			t.Errorf("jobs (-model +client):\n%s", diff)
		}
	})
}

// equateEmpty treats an empty list and nil as equal.
func equateEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 },
		cmp.Comparer(func(_, _ []string) bool { return true }))
}

func TestAnswersForUnchangedLists(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := demoCluster(t, release)
		url := startServer(t, c).URL + "/slurm/" + v
		c.Step(time.Minute)
		since := fmt.Sprintf("?update_time=uts%d", c.Now().Unix())
		for _, list := range []string{"/nodes/", "/partitions/", "/reservations/"} {
			status, body := doRequest(t, "GET", url+list+since, "")
			if status != http.StatusNotModified || body != "" {
				t.Errorf("%s: %d %q, want 304 and no body", list, status, body)
			}
		}
		status, body := doRequest(t, "GET", url+"/jobs/"+since, "")
		answer := decodeJSON(t, body)
		if status != http.StatusOK || len(answer["jobs"].([]any)) != 0 || len(answer["warnings"].([]any)) != 1 {
			t.Errorf("jobs: %d %s", status, body)
		}
		if err := c.UpdateNode("n2", "DRAIN", "test"); err != nil {
			t.Fatal(err)
		}
		want := http.StatusOK
		if release == slurmtest.Release2411 {
			want = http.StatusInternalServerError
		}
		if status, body = doRequest(t, "GET", url+"/nodes/"+since, ""); status != want {
			t.Errorf("changed nodes: status %d, want %d: %.200s", status, want, body)
		}
	})
}

func TestPlainEpochIsRefusedByOldVersions(t *testing.T) {
	srv := startServer(t, demoCluster(t, slurmtest.Release2411))
	for path, want := range map[string]int{
		"/slurm/v0.0.40/nodes/": 500, "/slurm/v0.0.41/jobs/": 422, "/slurm/v0.0.42/jobs/": 200,
	} {
		if status, body := doRequest(t, "GET", srv.URL+path+"?update_time=1795220000", ""); status != want {
			t.Errorf("%s: status %d, want %d: %.200s", path, status, want, body)
		}
	}
}

func TestAnswersForUnknownObjects(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		url := startServer(t, demoCluster(t, release)).URL + "/slurm/" + v
		partition := http.StatusOK
		if release == slurmtest.Release2411 {
			partition = http.StatusUnprocessableEntity
		}
		for path, want := range map[string]int{
			"/node/nosuch": http.StatusOK, "/job/4242": http.StatusNotFound, "/partition/nosuch": partition,
			"/reservation/nosuch": http.StatusUnprocessableEntity, "/nosuch/": http.StatusNotFound,
			"/../v0.0.39/nodes/": http.StatusNotFound,
		} {
			if status, body := doRequest(t, "GET", url+path, ""); status != want {
				t.Errorf("%s: status %d, want %d: %s", path, status, want, body)
			}
		}
		_, body := doRequest(t, "GET", url+"/node/nosuch", "")
		if answer := decodeJSON(t, body); answer["nodes"] != nil || len(answer["errors"].([]any)) != 1 {
			t.Errorf("unknown node: %s", body)
		}
		status, body := doRequest(t, "DELETE", url+"/job/4242", "")
		if status != http.StatusOK || !strings.Contains(body, `"code": 2017`) {
			t.Errorf("cancelling an unknown job: %d %s", status, body)
		}
	})
}

func TestAnswersForWrongTokens(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	c := slurmtest.New(slurmtest.Config{Key: key, Now: testClock, Nodes: []slurmtest.NodeConf{{Names: "n[1-2]"}}})
	srv := startServer(t, c)
	ask := func(key []byte, user, as string, lifetime time.Duration, path string) (int, string) {
		source := slurmclient.TokenFromKey(key, user, lifetime, testClock)
		token, err := source.Token()
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-SLURM-USER-TOKEN", token)
		req.Header.Set("X-SLURM-USER-NAME", as)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var b strings.Builder
		_ = resp.Write(&b)
		return resp.StatusCode, b.String()
	}
	const nodes = "/slurm/v0.0.45/nodes/"
	cases := []struct {
		name, user, as, path string
		key                  []byte
		lifetime             time.Duration
		want                 int
		text                 string
	}{
		{"a good token is accepted", "alice", "", nodes, key, time.Hour, 200, `"nodes"`},
		{"an expired token gets 511", "alice", "", nodes, key, -time.Hour, 511, `"error_number": 1007`},
		{"a token of another key gets 511", "alice", "", nodes, []byte("another key"), time.Hour, 511,
			`"error_number": 1007`},
		{"root may act as another user", "root", "bob", nodes, key, time.Hour, 200, `"nodes"`},
		{"alice may not act as another user", "alice", "bob", nodes, key, time.Hour, 511, `"error_number": 1007`},
		{"slurmdb reports an unavailable database", "alice", "", "/slurmdb/v0.0.45/users/", key, -time.Hour, 502,
			`"error_number": 7000`},
		{"ping gets 200 and reports no response", "alice", "", "/slurm/v0.0.45/ping/", key, -time.Hour, 200,
			`"responding": false`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			status, body := ask(tc.key, tc.user, tc.as, tc.lifetime, tc.path)
			if status != tc.want || !strings.Contains(body, tc.text) {
				t.Errorf("status %d, want %d with %s in %s", status, tc.want, tc.text, body)
			}
		})
	}
	resp, err := http.Get(srv.URL + nodes)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: status %d, want 401", resp.StatusCode)
	}
}
