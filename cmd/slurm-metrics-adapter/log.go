package main

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
)

type logger = lines.Logger

// logger returns a logger for the level and format of the flags.
func (o *options) logger(w io.Writer) logger { return lines.New(w, o.logLevel, o.logFormat) }

// takeLibraries has what the Kubernetes libraries say written here, their notes on
// what they do as debug lines.
func takeLibraries(l logger) { klog.SetSlogLogger(l.Quiet(hungUp)) }

// watchFailed returns what to do with errors of watches: each is told once in a
// while for its resource, since informers go on trying.
func watchFailed(l logger) func(resource string, err error) {
	const again = 10 * time.Minute
	var mu sync.Mutex
	told := map[string]time.Time{}
	return func(resource string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(told[resource]) < again {
			return
		}
		told[resource] = time.Now()
		l.Warn("watching fails, and is tried again", "resource", resource, "err", err)
	}
}

// hungUp reports that a library complains of a client that did not wait for its
// answer, as kube-apiserver does: it asks several times at once whether an
// APIService is available, and takes the first answer.
func hungUp(msg string, keyvals []any) bool {
	if msg == "Timeout or abort while handling" || msg == "Post-timeout activity" {
		return true
	}
	return slices.ContainsFunc(keyvals, func(v any) bool {
		text, _ := v.(string)
		return strings.Contains(text, "http2: stream closed") || strings.HasSuffix(text, "http: Handler timeout")
	})
}
