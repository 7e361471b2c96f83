package slurmclient_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
		{"a list after an upgrade", nodes, "nodes", []string{"v0.0.43"}, []string{"v0.0.44"}, false, "",
			[]string{"v0.0.43", "v0.0.44"}},
		{"a whole answer after an upgrade", partitions, "partitions", []string{"v0.0.43"}, []string{"v0.0.44"}, false,
			"", []string{"v0.0.43", "v0.0.44"}},
		{"job records after an upgrade", jobs, "jobs", []string{"v0.0.43"}, []string{"v0.0.44"}, false, "",
			[]string{"v0.0.43", "v0.0.44"}},
		{"a list that the server lacks", nodes, "nodes", []string{"v0.0.43"}, []string{"v0.0.43"}, true,
			slurmclient.CodeUnsupported, []string{"v0.0.43"}},
		{"a whole answer that the server lacks", partitions, "partitions", []string{"v0.0.43"}, []string{"v0.0.43"},
			true, slurmclient.CodeUnsupported, []string{"v0.0.43"}},
		{"a list that the upgraded server lacks", nodes, "nodes", []string{"v0.0.43"}, []string{"v0.0.44"}, true,
			slurmclient.CodeUnsupported, []string{"v0.0.43", "v0.0.44"}},
		{"a whole answer that the upgraded server lacks", partitions, "partitions", []string{"v0.0.43"},
			[]string{"v0.0.44"}, true, slurmclient.CodeUnsupported, []string{"v0.0.43", "v0.0.44"}},
		{"an operation that the version does not have", conf, "", []string{"v0.0.43"}, []string{"v0.0.44"}, false,
			slurmclient.CodeUnsupported, nil},
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
					return reply{http.StatusNotFound, "text/plain", []byte("Unable to find requested URL endpoint.")},
						nil
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

// serveVersions answers like a server that offers some API versions.
func serveVersions(t *testing.T, offered *atomic.Pointer[[]string], asked *[]string) responder {
	return func(r *http.Request) (reply, error) {
		version := strings.Split(r.URL.Path, "/")[2]
		*asked = append(*asked, version)
		for _, v := range *offered.Load() {
			if v == version && strings.HasSuffix(r.URL.Path, "/ping/") {
				return recordedAnywhere(t, "26.05/"+v, "ping.json"), nil
			}
			if v == version {
				return recordedAnywhere(t, "26.05/"+v, "nodes.json"), nil
			}
		}
		return reply{404, "text/plain", []byte("Unable to find requested URL endpoint.")}, nil
	}
}

func TestTheNewestCommonVersionIsUsed(t *testing.T) {
	var offered atomic.Pointer[[]string]
	offered.Store(&[]string{"v0.0.42", "v0.0.43"})
	var asked []string
	client := newTestClient(t, "", serveVersions(t, &offered, &asked))
	if client.Version() != "" {
		t.Errorf("before the first request the version is %q", client.Version())
	}
	_, err := client.Nodes(t.Context(), 0)
	wantCode(t, "listing nodes", err, "")
	if client.Version() != "v0.0.43" {
		t.Errorf("the version is %q, want v0.0.43", client.Version())
	}
	before := len(asked)
	_, err = client.Nodes(t.Context(), 0)
	wantCode(t, "listing nodes again", err, "")
	if len(asked) != before+1 {
		t.Errorf("the client negotiated the version again: %v", asked[before:])
	}
	offered.Store(&[]string{"v0.0.44", "v0.0.45"}) // the server is upgraded
	_, err = client.Nodes(t.Context(), 0)
	wantCode(t, "listing nodes of the new server", err, "")
	if client.Version() != "v0.0.45" {
		t.Errorf("after the upgrade the version is %q, want v0.0.45", client.Version())
	}
}

func TestNoCommonVersionSaysWhatToDo(t *testing.T) {
	offered := atomic.Pointer[[]string]{}
	offered.Store(&[]string{})
	var asked []string
	_, err := newTestClient(t, "", serveVersions(t, &offered, &asked)).Nodes(t.Context(), 0)
	wantCode(t, "a server without a common version", err, slurmclient.CodeUnsupported)
	if !strings.Contains(err.Error(), "Slurm 23.11 or later") {
		t.Errorf("the error is %v", err)
	}
	_, err = newTestClient(t, "v0.0.42", serveVersions(t, &offered, &asked)).Nodes(t.Context(), 0)
	wantCode(t, "a server without the pinned version", err, slurmclient.CodeUnsupported)
	_, err = slurmclient.New(slurmclient.Config{URL: "http://localhost:1", Version: "v0.0.39"})
	wantCode(t, "a version without bindings", err, slurmclient.CodeInvalid)
	_, err = slurmclient.New(slurmclient.Config{URL: "localhost:6820"})
	wantCode(t, "a URL without a scheme", err, slurmclient.CodeInvalid)
}

func TestJobsAreReadInTheMostDetailedVersion(t *testing.T) {
	for _, tc := range []struct {
		offered []string
		want    string
	}{
		{[]string{"v0.0.44", "v0.0.45"}, "v0.0.44"},
		{[]string{"v0.0.45"}, "v0.0.45"},
		{[]string{"v0.0.43", "v0.0.44"}, "v0.0.44"},
	} {
		jobs := map[string]int{}
		client := newTestClient(t, "", func(r *http.Request) (reply, error) {
			version := strings.Split(r.URL.Path, "/")[2]
			switch {
			case !slices.Contains(tc.offered, version):
				return reply{404, "text/plain", []byte("Unable to find requested URL endpoint.")}, nil
			case strings.HasSuffix(r.URL.Path, "/jobs/"):
				jobs[version]++
				return recordedAnywhere(t, "26.05/"+version, "jobs.json"), nil
			}
			return recordedAnywhere(t, "26.05/"+version, "ping.json"), nil
		})
		for range 2 {
			_, err := client.Jobs(t.Context(), 0)
			wantCode(t, "listing jobs", err, "")
		}
		newest := tc.offered[len(tc.offered)-1]
		if jobs[tc.want] != 2 || len(jobs) != 1 || client.Version() != newest {
			t.Errorf("with versions %v offered it reads jobs in %v and reports version %s", tc.offered, jobs,
				client.Version())
		}
	}
}

func TestAMissingPathIsNotTriedAgain(t *testing.T) {
	var lists atomic.Int32
	client := newTestClient(t, "", func(r *http.Request) (reply, error) {
		if strings.HasSuffix(r.URL.Path, "/nodes/") {
			lists.Add(1)
			return reply{404, "text/plain", []byte("Unable to find requested URL endpoint.")}, nil
		}
		return recordedAnywhere(t, "26.05/v0.0.45", "ping.json"), nil
	})
	_, err := client.Nodes(t.Context(), 0)
	wantCode(t, "a missing path", err, slurmclient.CodeUnsupported)
	if n := lists.Load(); n != 1 {
		t.Errorf("the list was requested %d times", n)
	}
}

// TestAnUnsupportedConfigurationIsNotRequested uses a server whose API version has no configuration: the
// reading is known and nil, and no request is made for it besides those that negotiate the version.
func TestAnUnsupportedConfigurationIsNotRequested(t *testing.T) {
	var asked atomic.Int32
	client := newTestClient(t, "", func(r *http.Request) (reply, error) {
		asked.Add(1)
		if r.URL.Path != "/slurm/v0.0.44/ping/" {
			return missingPath, nil
		}
		return recordedReply(t, "26.05/v0.0.44/ping.json"), nil
	})
	cache := slurmclient.NewCache(client,
		slurmclient.CacheConfig{Period: time.Hour, Resources: []slurmclient.Resource{slurmclient.Conf}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go cache.Run(ctx)
	for range 3 {
		if err := cache.Refresh(ctx, slurmclient.Conf); err != nil {
			t.Fatal(err)
		}
	}
	if conf := cache.Snapshot().Conf; !conf.Known || conf.Value != nil || conf.Err != nil {
		t.Errorf("the configuration is %+v", conf)
	}
	if n := asked.Load(); n > 2 {
		t.Errorf("%d requests were made; negotiating the version takes 2", n)
	}
}

// missingPath is what slurmrestd answers for a path that it does not have, and strangersPath what something in front of it does.
var (
	missingPath   = reply{http.StatusNotFound, "text/plain", []byte("Unable to find requested URL endpoint.")}
	strangersPath = reply{http.StatusNotFound, "text/html", []byte("<h1>404 page not found</h1>")}
)

// TestA404OfAProxyErasesNothing: what was read of slurmctld's configuration stays, with the error, until slurmrestd answers again.
func TestA404OfAProxyErasesNothing(t *testing.T) {
	var fault atomic.Pointer[reply]
	client := newTestClient(t, "", func(r *http.Request) (reply, error) {
		isPing := strings.HasSuffix(r.URL.Path, "/ping/")
		if answer := fault.Load(); answer != nil && !isPing {
			return *answer, nil
		}
		if isPing {
			return recordedAnywhere(t, "26.05/v0.0.45", "ping.json"), nil
		}
		return recordedReply(t, "26.05/v0.0.45/conf.json"), nil
	})
	cache := slurmclient.NewCache(client,
		slurmclient.CacheConfig{Period: time.Hour, Resources: []slurmclient.Resource{slurmclient.Conf}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go cache.Run(ctx)
	if err := cache.Refresh(ctx, slurmclient.Conf); err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		answer := strangersPath
		answer.status = status
		fault.Store(&answer)
		wantCode(t, "a proxy's answer", cache.Refresh(ctx, slurmclient.Conf), slurmclient.CodeUnavailable)
		if conf := cache.Snapshot().Conf; conf.Value == nil || conf.Err == nil {
			t.Errorf("after a proxy's %d the configuration is %v, the error %v", status, conf.Value, conf.Err)
		}
	}
	fault.Store(nil)
	if err := cache.Refresh(ctx, slurmclient.Conf); err != nil {
		t.Error(err)
	}
	fault.Store(&missingPath)
	if err := cache.Refresh(ctx, slurmclient.Conf); err != nil {
		t.Error(err)
	}
	if conf := cache.Snapshot().Conf; conf.Value != nil {
		t.Errorf("slurmrestd has no configuration, and it is %v", conf.Value)
	}
}

// TestA404OfAProxyIsNoVersion: a proxy answers 404 once, or to every version but an old one.
func TestA404OfAProxyIsNoVersion(t *testing.T) {
	for _, tc := range []struct {
		name    string
		strange int // how many pings of v0.0.45 the proxy answers
		want    string
	}{
		{"once", 1, "v0.0.45"},
		{"always, as one that replaces what slurmrestd answers", 1000, "v0.0.44"},
	} {
		var strange int
		var read []string
		client := newTestClient(t, "", func(r *http.Request) (reply, error) {
			version := strings.Split(r.URL.Path, "/")[2]
			if !strings.HasSuffix(r.URL.Path, "/ping/") {
				read = append(read, version)
				return recordedReply(t, "26.05/"+version+"/partitions.json"), nil
			}
			if version == "v0.0.45" && strange < tc.strange {
				strange++
				return strangersPath, nil
			}
			return recordedAnywhere(t, "26.05/"+version, "ping.json"), nil
		})
		if _, err := client.Partitions(t.Context(), 0); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if !slices.Equal(read, []string{tc.want}) {
			t.Errorf("%s: it was read in %v", tc.name, read)
		}
	}
}

// TestA404OfAProxyFindsAnotherVersion: slurmrestd was replaced behind a proxy that hides its answers.
func TestA404OfAProxyFindsAnotherVersion(t *testing.T) {
	var offered atomic.Value
	offered.Store("v0.0.45")
	client := newTestClient(t, "", func(r *http.Request) (reply, error) {
		version := strings.Split(r.URL.Path, "/")[2]
		switch {
		case version != offered.Load():
			return strangersPath, nil
		case strings.HasSuffix(r.URL.Path, "/ping/"):
			return recordedAnywhere(t, "26.05/"+version, "ping.json"), nil
		}
		return recordedReply(t, "26.05/"+version+"/partitions.json"), nil
	})
	for _, version := range []string{"v0.0.45", "v0.0.44"} {
		offered.Store(version)
		if _, err := client.Partitions(t.Context(), 0); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}
