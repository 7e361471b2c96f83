package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestInvalidFlags(t *testing.T) {
	t.Setenv("SLURM_URL", "")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no cluster", nil, "give --slurm.url="},
		{"two clusters", []string{"--slurm.simulate", "--slurm.url=http://localhost:1"}, "cannot be combined with"},
		{"half a client certificate", []string{"--slurm.url=https://localhost:1", "--slurm.cert-file=x"}, "needs both"},
		{"an unknown set", []string{"--slurm.simulate", "--compat=vpenso,nope"}, `no set "nope"`},
		{"an unknown reader", []string{"--slurm.simulate", "--slurm.jobs-reader=fast"}, "must be one of"},
		{"a poll interval that is too short", []string{"--slurm.simulate", "--slurm.poll-interval=1ms"}, "at least 1s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseFlags(tc.args)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestASimulatedClusterIsServedAndEndsCleanly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"--slurm.simulate", "--cluster=alpha", "--web.listen-address=" + address,
			"--compat=vpenso,slinky", "--log.level=error"})
	}()
	for _, page := range []struct{ path, want string }{
		{"/-/ready", "ready"}, {"/metrics", "slurm_up{cluster=\"alpha\"} 1\n"},
		{"/metrics/vpenso", "slurm_queue_running{cluster=\"alpha\"} "}, {"/", "Cluster demo"},
		{"/-/healthy", "healthy"},
	} {
		if body := awaitPage(ctx, t, "http://"+address+page.path); !strings.Contains(body, page.want) {
			t.Errorf("%s has no %q", page.path, page.want)
		}
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("the exit status is %d", got)
	}
}

// awaitPage retries until the page is available and returns it.
func awaitPage(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, err := http.Get(url); err == nil {
			body, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err == nil && r.StatusCode == http.StatusOK && !strings.Contains(string(body), "slurm_up 0\n") {
				return string(body)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not respond", url)
		}
	}
}
