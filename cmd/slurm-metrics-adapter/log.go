package main

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
)

// redirectLibraryLogs sends the logs of the Kubernetes libraries to l. Their info lines become
// debug lines.
func redirectLibraryLogs(l lines.Logger) { klog.SetSlogLogger(l.QuietSlog(isAbortedRequest)) }

// newWatchErrorLogger returns a function that logs watch errors, for each resource at most once per
// interval: informers retry by themselves.
func newWatchErrorLogger(l lines.Logger) func(resource string, err error) {
	const again = 10 * time.Minute
	var mu sync.Mutex
	lastLogged := map[string]time.Time{}
	return func(resource string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(lastLogged[resource]) < again {
			return
		}
		lastLogged[resource] = time.Now()
		l.Warn("watching fails, retrying", "resource", resource, "err", err)
	}
}

// isAbortedRequest reports whether a library logs a client that did not wait for its response.
// kube-apiserver does so: it checks the availability of an APIService several times in parallel and
// uses the first response.
func isAbortedRequest(msg string, keyvals []any) bool {
	if msg == "Timeout or abort while handling" || msg == "Post-timeout activity" {
		return true
	}
	return slices.ContainsFunc(keyvals, func(v any) bool {
		text, _ := v.(string)
		return strings.Contains(text, "http2: stream closed") || strings.HasSuffix(text, "http: Handler timeout")
	})
}
