package answer

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func serveAnswer(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAnswers(t *testing.T) {
	const up, down = "# TYPE slurm_up gauge\nslurm_up{cluster=\"a\"} 1\n", "slurm_up{cluster=\"b\"} 0\n"
	for name, tc := range map[string]struct {
		status int
		body   string
		// says is the command's output, or "" if it fails.
		says string
	}{
		"every cluster is up":    {http.StatusOK, up, "clusters that answer: 1"},
		"there is none":          {http.StatusOK, "# TYPE go_threads gauge\ngo_threads 7\n", "clusters that answer: 0"},
		"one is down":            {http.StatusOK, up + down, ""},
		"it asks for a password": {http.StatusUnauthorized, "", "asks for credentials"},
		"it asks for a right":    {http.StatusForbidden, "", "asks for credentials"},
		"it is not ready":        {http.StatusServiceUnavailable, "", ""},
		"it is another page":     {http.StatusOK, "<html>", ""},
		"it is not there":        {http.StatusNotFound, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			code := Run(t.Context(), "slurm-exporter", []string{"--url=" + serveAnswer(t, tc.status, tc.body), "--timeout=100ms"}, &out)
			if want := tc.says == ""; (code == 1) != want || !strings.Contains(out.String(), tc.says) {
				t.Errorf("the status is %d, the output %q", code, &out)
			}
		})
	}
}

// TestItWaits: the command repeats its request while a program starts, or has not read Slurm yet.
func TestItWaits(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	var out bytes.Buffer
	if code := Run(t.Context(), "x", []string{"--url=" + server.URL}, &out); code != 0 || requests.Load() != 2 {
		t.Errorf("the status is %d after %d requests", code, requests.Load())
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{nil, {"--url"}, {"--what"}, {"--url=x", "more"}} {
		if code := Run(t.Context(), "x", args, &bytes.Buffer{}); code != 2 {
			t.Errorf("with %v the status is %d, not 2", args, code)
		}
	}
}
