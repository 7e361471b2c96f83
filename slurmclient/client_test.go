package slurmclient_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestAServerThatDoesNotAnswerIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: "http://" + address, Token: staticToken("very-secret")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Nodes(t.Context(), 0)
	wantCode(t, "a refused connection", err, slurmclient.CodeUnavailable)
	if err != nil && strings.Contains(err.Error(), "very-secret") {
		t.Errorf("the error contains the token: %v", err)
	}
}

// TestAnAnswerThatStallsTimesOut sends the start of a list and then nothing.
func TestAnAnswerThatStallsTimesOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"nodes": [`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Version: "v0.0.45", Token: staticToken("t"),
		Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	begin := time.Now()
	_, err = client.Nodes(t.Context(), 0)
	wantCode(t, "an answer that stalls", err, slurmclient.CodeUnavailable)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "restd.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nodesHandler(t))
	server.Listener = l
	server.Start()
	defer server.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: "unix://" + path, Version: "v0.0.45"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.Nodes(t.Context(), 0)
	if err != nil || len(list.Items) == 0 {
		t.Errorf("%d nodes, %v", len(list.Items), err)
	}
}

func nodesHandler(t *testing.T) http.Handler {
	body := recordedReply(t, "26.05/v0.0.45/nodes.json").body
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

func TestTLSWithAClientCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(nodesHandler(t))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	list := func(cfg *tls.Config) error {
		client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Version: "v0.0.45", Token: staticToken("t"),
			TLS: cfg})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Nodes(t.Context(), 0)
		return err
	}
	wantCode(t, "with the certificates", list(&tls.Config{RootCAs: roots, Certificates: server.TLS.Certificates}), "")
	wantCode(t, "without a client certificate", list(&tls.Config{RootCAs: roots}), slurmclient.CodeUnavailable)
	wantCode(t, "without the root", list(nil), slurmclient.CodeUnavailable)
}

func TestTokenRotationFailsNoRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("first.token.x\n")
	var good atomic.Value
	good.Store("first.token.x")
	body := recordedReply(t, "26.05/v0.0.45/nodes.json").body
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-SLURM-USER-TOKEN") != good.Load() {
			w.WriteHeader(511)
			_, _ = w.Write([]byte(`{"errors": [{"error_number": 1007, "error": "Protocol authentication error"}]}`))
			return
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Version: "v0.0.45",
		Token: slurmclient.TokenFromFile(file)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, next := range []string{"first.token.x", "second.token.x", "third.token.x"} {
		good.Store(next)
		write(next)
		_, err := client.Nodes(t.Context(), 0)
		wantCode(t, "with "+next, err, "")
	}
	good.Store("another.token.x")
	_, err = client.Nodes(t.Context(), 0)
	wantCode(t, "with an outdated token", err, slurmclient.CodeUnauthorized)
	if err != nil && strings.Contains(err.Error(), "third.token.x") {
		t.Errorf("the error contains the token: %v", err)
	}
}

// startPolling runs a cache whose requests p answers, in a synctest bubble.
func startPolling(t *testing.T, p responder, cfg slurmclient.CacheConfig) (*slurmclient.Cache, func()) {
	t.Helper()
	cache := slurmclient.NewCache(newTestClient(t, "v0.0.45", p), cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { cache.Run(ctx); close(done) }()
	return cache, func() { cancel(); <-done }
}

func TestTheLastGoodSnapshotIsServedWhilePollsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		good := recordedReply(t, "26.05/v0.0.45/nodes.json")
		cache, stop := startPolling(t, func(*http.Request) (reply, error) {
			if fail.Load() {
				return reply{}, errors.New("connection refused")
			}
			return good, nil
		}, slurmclient.CacheConfig{Period: 10 * time.Second, Resources: []slurmclient.Resource{slurmclient.Nodes}})
		defer stop()
		synctest.Wait()
		before := cache.Snapshot()
		if !before.Nodes.Known || before.Nodes.Err != nil || len(before.Nodes.Value) == 0 {
			t.Fatalf("the first reading is %+v", before.Nodes.Poll)
		}
		fail.Store(true)
		time.Sleep(time.Minute) // the bubble's
		synctest.Wait()
		during := cache.Snapshot()
		if !during.Nodes.Known || during.Nodes.Err == nil || during.Nodes.Failures < 2 ||
			&during.Nodes.Value[0] != &before.Nodes.Value[0] {
			t.Errorf("while polls fail it is %+v", during.Nodes.Poll)
		}
		if age := during.Nodes.Age(time.Now()); age < 30*time.Second {
			t.Errorf("the age is %v", age)
		}
		if during.Nodes.Sequence != before.Nodes.Sequence {
			t.Error("a failure increased the sequence of the value")
		}
		fail.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if after := cache.Snapshot(); after.Nodes.Err != nil || after.Nodes.Failures != 0 ||
			after.Nodes.Age(time.Now()) > 20*time.Second {
			t.Errorf("after it recovered it is %+v", after.Nodes.Poll)
		}
	})
}

// TestRequestsDoNotPileUpDuringAnOutage: slurmrestd has few threads, and each request holds one until slurmctld
// answers or has timed out.
func TestRequestsDoNotPileUpDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most, requests atomic.Int32
		_, stop := startPolling(t, func(*http.Request) (reply, error) {
			most.Store(max(most.Load(), open.Add(1)))
			requests.Add(1)
			time.Sleep(17 * time.Second)
			open.Add(-1)
			return reply{}, errors.New("timed out")
		}, slurmclient.CacheConfig{Period: 10 * time.Second, NewJobsInterval: time.Second})
		defer stop()
		time.Sleep(time.Minute) // the bubble's
		most.Store(0)
		requests.Store(0)
		time.Sleep(10 * time.Minute)
		if most.Load() != 1 || requests.Load() < 20 {
			t.Errorf("%d requests in ten minutes, up to %d at a time", requests.Load(), most.Load())
		}
	})
}

// TestALongPollAfterAnOutageKeepsNobodyWaiting: the first poll of a long queue takes minutes.
func TestALongPollAfterAnOutageKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		fail.Store(true)
		nodes, partitions := recordedReply(t, "26.05/v0.0.45/nodes.json"), recordedReply(t, "26.05/v0.0.45/partitions.json")
		cache, stop := startPolling(t, func(r *http.Request) (reply, error) {
			switch {
			case fail.Load():
				return reply{}, errors.New("connection refused")
			case strings.Contains(r.URL.Path, "/nodes"):
				time.Sleep(5 * time.Minute)
				return nodes, nil
			}
			return partitions, nil
		}, slurmclient.CacheConfig{Period: 10 * time.Second,
			Resources: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Partitions}})
		defer stop()
		time.Sleep(5 * time.Minute) // the bubble's
		fail.Store(false)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if s := cache.Snapshot(); !s.Partitions.Known {
			t.Errorf("the partitions are not read: %v", s.Partitions.Err)
		}
	})
}

// TestOneRecoveredPollWakesTheOthers: after an outage no resource stays unread until its own pause is over.
func TestOneRecoveredPollWakesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		fail.Store(true)
		nodes, partitions := recordedReply(t, "26.05/v0.0.45/nodes.json"), recordedReply(t, "26.05/v0.0.45/partitions.json")
		cache, stop := startPolling(t, func(r *http.Request) (reply, error) {
			if fail.Load() {
				time.Sleep(17 * time.Second) // as slurmrestd without slurmctld
				return reply{}, errors.New("timed out")
			}
			if strings.Contains(r.URL.Path, "/nodes") {
				return nodes, nil
			}
			return partitions, nil
		}, slurmclient.CacheConfig{Period: 10 * time.Second,
			Resources: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Partitions}})
		defer stop()
		time.Sleep(10 * time.Minute) // the bubble's
		fail.Store(false)
		isRead := func() (nodes, partitions bool) {
			synctest.Wait()
			s := cache.Snapshot()
			return s.Nodes.Known, s.Partitions.Known
		}
		for range 60 {
			if nodes, partitions := isRead(); nodes || partitions {
				break
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		if nodes, partitions := isRead(); !nodes || !partitions {
			t.Errorf("a second after the first recovered poll nodes are read: %t, partitions: %t", nodes, partitions)
		}
	})
}

func TestADamagedPollKeepsTheLastGoodSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		good := recordedReply(t, "26.05/v0.0.45/jobs.json")
		cache, stop := startPolling(t, func(*http.Request) (reply, error) {
			switch n.Add(1) {
			case 1:
				return good, nil
			case 2:
				return cutInHalf(good), nil
			}
			return reply{200, "application/json", []byte(`{"jobs": [{"job_id": "x"}]}`)}, nil
		}, slurmclient.CacheConfig{Period: time.Second, JobsReader: slurmclient.ReadList,
			Resources: []slurmclient.Resource{slurmclient.Jobs}})
		defer stop()
		synctest.Wait()
		jobs := len(cache.Snapshot().Jobs.Value)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		s := cache.Snapshot()
		if n.Load() < 3 || s.Jobs.Err == nil || len(s.Jobs.Value) != jobs || jobs == 0 {
			t.Errorf("after %d polls there are %d of %d jobs, %v", n.Load(), len(s.Jobs.Value), jobs, s.Jobs.Err)
		}
	})
}

func TestRefreshWaitsForAPollThatBeganAfterTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, most, now atomic.Int32
		good := recordedReply(t, "26.05/v0.0.45/nodes.json")
		cache, stop := startPolling(t, func(*http.Request) (reply, error) {
			begun.Add(1)
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return good, nil
		}, slurmclient.CacheConfig{Period: time.Hour, Resources: []slurmclient.Resource{slurmclient.Nodes}})
		defer stop()
		time.Sleep(500 * time.Millisecond) // the first poll is in flight
		errs := make(chan error, 20)
		for range 20 {
			go func() { errs <- cache.Refresh(t.Context(), slurmclient.Nodes) }()
		}
		begin := time.Now()
		for range 20 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begin); took < 1400*time.Millisecond {
			t.Errorf("it took %v: Refresh waited only for the poll in flight", took)
		}
		if begun.Load() != 2 || most.Load() != 1 {
			t.Errorf("%d polls for twenty calls, %d at a time", begun.Load(), most.Load())
		}
		wantCode(t, "refreshing a resource that is not polled", cache.Refresh(t.Context(), slurmclient.Shares),
			slurmclient.CodeInvalid)
	})
}

func TestRefreshFailsWhenTheCacheHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := recordedReply(t, "26.05/v0.0.45/nodes.json")
		cache, stop := startPolling(t, func(*http.Request) (reply, error) { return good, nil },
			slurmclient.CacheConfig{Period: time.Hour, Resources: []slurmclient.Resource{slurmclient.Nodes}})
		synctest.Wait()
		stop()
		wantCode(t, "refreshing a cache that has stopped", cache.Refresh(t.Context(), slurmclient.Nodes),
			slurmclient.CodeUnavailable)
	})
}

func TestUnchangedRecordsAreTheSameObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		good := recordedReply(t, "26.05/v0.0.45/jobs.json")
		other := good
		other.body = []byte(strings.Replace(string(good.body), `"RUNNING"`, `"COMPLETING"`, 1))
		noStates := good
		noStates.body = []byte(`{"jobs": [], "errors": []}`)
		cache, stop := startPolling(t, func(r *http.Request) (reply, error) {
			if !strings.HasSuffix(r.URL.Path, "/jobs/") {
				return noStates, nil
			}
			if n.Add(1) < 3 {
				return good, nil
			}
			return other, nil
		}, slurmclient.CacheConfig{Period: time.Second, JobsReader: slurmclient.ReadList,
			Resources: []slurmclient.Resource{slurmclient.Jobs}})
		defer stop()
		synctest.Wait()
		first := cache.Snapshot()
		second, err := cache.Next(t.Context(), first.Sequence)
		if err != nil || len(slurmclient.JobChanges(first, second)) != 0 ||
			second.Jobs.Sequence != first.Jobs.Sequence {
			t.Errorf("an unchanged list has %d changes, %v", len(slurmclient.JobChanges(first, second)), err)
		}
		third, err := cache.Next(t.Context(), second.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		changes := slurmclient.JobChanges(first, third)
		if len(changes) != 1 || changes[0].Old == nil || changes[0].New == nil || changes[0].Old == changes[0].New ||
			changes[0].Old.Same(changes[0].New) {
			t.Errorf("the changes are %+v", changes)
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	cache := slurmclient.NewCache(newTestClient(t, "v0.0.45", alwaysReply(reply{})), slurmclient.CacheConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cache.Next(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if s := cache.Snapshot(); s == nil || s.Jobs.Known || !s.Jobs.Enabled {
		t.Errorf("before the first poll the snapshot is %+v", s)
	}
}

// staticToken is a token that never changes.
type staticToken string

func (t staticToken) Token() (string, error) { return string(t), nil }
func (staticToken) Reload() (bool, error)    { return false, nil }
func (staticToken) Expiry() time.Time        { return time.Time{} }

func testJobRequest() slurm.JobRequest {
	return slurm.JobRequest{Name: "j", Script: "#!/bin/sh\n", Environment: []string{"A=B"}, WorkingDirectory: "/tmp"}
}
