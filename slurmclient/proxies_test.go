package slurmclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// newClient returns a client of a server that answers with the handler.
func newClientOf(t *testing.T, handler http.HandlerFunc) *slurmclient.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Version: "v0.0.45", Token: staticToken("secret")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestARedirectIsReportedAndNotFollowed(t *testing.T) {
	followed := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	t.Cleanup(elsewhere.Close)
	client := newClientOf(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/login?next=secret", http.StatusFound)
	})
	for what, call := range map[string]func(context.Context) error{
		"a list":         func(ctx context.Context) error { _, err := client.Nodes(ctx, 0); return err },
		"another answer": func(ctx context.Context) error { _, err := client.Ping(ctx); return err },
	} {
		err := call(t.Context())
		if slurmclient.CodeOf(err) != slurmclient.CodeUnavailable || !strings.Contains(err.Error(), "redirects to "+elsewhere.URL+",") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if followed {
		t.Error("the redirect was followed, with the token")
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tc := range []struct {
		status int
		header string
		want   time.Duration
	}{
		{http.StatusServiceUnavailable, "7", 7 * time.Second},
		{http.StatusTooManyRequests, "90", 90 * time.Second},
		{http.StatusServiceUnavailable, "", 0},
		{http.StatusServiceUnavailable, "-3", 0},
		{http.StatusServiceUnavailable, "soon", 0},
		{http.StatusServiceUnavailable, "Sat, 01 Jan 2000 00:00:00 GMT", 0},
		{http.StatusInternalServerError, "7", 0},
	} {
		t.Run(fmt.Sprint(tc.status, tc.header), func(t *testing.T) {
			client := newClientOf(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tc.header)
				w.WriteHeader(tc.status)
			})
			_, err := client.Nodes(t.Context(), 0)
			var e *slurmclient.Error
			if !errors.As(err, &e) || e.RetryAfter != tc.want {
				t.Errorf("got %+v, want %s", e, tc.want)
			}
		})
	}
}

func TestADateInRetryAfter(t *testing.T) {
	client := newClientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err := client.Ping(t.Context())
	var e *slurmclient.Error
	if !errors.As(err, &e) || e.RetryAfter < 50*time.Second || e.RetryAfter > time.Minute {
		t.Errorf("got %+v, want a minute", e)
	}
}

// TestPollsWaitAsLongAsTheServerAsks: the second poll would come after 10 ms.
func TestPollsWaitAsLongAsTheServerAsks(t *testing.T) {
	polls := make(chan struct{}, 100)
	client := newClientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		polls <- struct{}{}
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{Period: 10 * time.Millisecond, Resources: []slurmclient.Resource{slurmclient.Nodes}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); cache.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	<-polls
	for cache.Snapshot().Nodes.Poll.Err == nil {
		time.Sleep(time.Millisecond)
	}
	if pause := cache.Snapshot().Nodes.Poll.Period; pause != 5*time.Minute {
		t.Errorf("the next poll comes after %s, want the maximum", pause)
	}
}

func TestAnswersOfCachesAreNotWanted(t *testing.T) {
	got := make(chan string, 1)
	client := newClientOf(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Cache-Control")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, _ = client.Ping(t.Context())
	if header := <-got; header != "no-cache" {
		t.Errorf("Cache-Control is %q", header)
	}
}

// TestAListThatNeverEndsTimesOut: each chunk arrives within the request timeout.
func TestAListThatNeverEndsTimesOut(t *testing.T) {
	client := newClientOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"nodes":[`))
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	client.SetListDeadline(100 * time.Millisecond)
	if _, err := client.Nodes(t.Context(), 0); slurmclient.CodeOf(err) != slurmclient.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}
