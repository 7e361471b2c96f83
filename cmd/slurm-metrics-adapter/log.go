package main

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"k8s.io/klog/v2"
)

// logger writes the program's log lines through go-kit/log.
type logger struct{ to log.Logger }

// logger returns a logger for the level and format of the flags.
func (o *options) logger(w io.Writer) logger {
	to := log.NewLogfmtLogger(log.NewSyncWriter(w))
	if o.logFormat == "json" {
		to = log.NewJSONLogger(log.NewSyncWriter(w))
	}
	to = level.NewFilter(to, level.Allow(level.ParseDefault(o.logLevel, level.InfoValue())))
	return logger{log.With(to, "ts", log.TimestampFormat(func() time.Time { return time.Now().UTC() }, time.RFC3339Nano))}
}

// A log that cannot be written is nothing that a log line could tell.

func (l logger) Info(msg string, keyvals ...any) { l.log(level.InfoValue(), msg, keyvals) }

func (l logger) Warn(msg string, keyvals ...any) { l.log(level.WarnValue(), msg, keyvals) }

func (l logger) Error(msg string, keyvals ...any) { l.log(level.ErrorValue(), msg, keyvals) }

// with returns a logger whose lines have the pair.
func (l logger) with(key, value string) logger { return logger{log.With(l.to, key, value)} }

func (l logger) log(v level.Value, msg string, keyvals []any) {
	_ = l.to.Log(slices.Concat([]any{level.Key(), v, "msg", msg}, keyvals)...)
}

// slog returns a logger for libraries that write through log/slog.
func (l logger) slog() *slog.Logger { return slog.New(&slogHandler{to: l}) }

// slogHandler hands records of log/slog on to go-kit/log.
type slogHandler struct {
	to    logger
	attrs []any
	group string
	// quiet: what is only information is for debugging.
	quiet bool
}

// Enabled lets go-kit/log filter. The finer levels of the Kubernetes libraries, of
// which the finest print the bodies of requests, Secrets among them, never pass.
func (h *slogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return !h.quiet || level >= slog.LevelInfo
}

func (h *slogHandler) Handle(_ context.Context, r slog.Record) error {
	keyvals := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		keyvals = append(keyvals, h.group+a.Key, a.Value.Resolve().String())
		return true
	})
	v := level.DebugValue()
	switch {
	case h.quiet && hungUp(r.Message, keyvals):
	case r.Level >= slog.LevelError:
		v = level.ErrorValue()
	case r.Level >= slog.LevelWarn:
		v = level.WarnValue()
	case r.Level >= slog.LevelInfo && !h.quiet:
		v = level.InfoValue()
	}
	h.to.log(v, r.Message, keyvals)
	return nil
}

func (h *slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		out.attrs = append(out.attrs, h.group+a.Key, a.Value.Resolve().String())
	}
	return &out
}

func (h *slogHandler) WithGroup(name string) slog.Handler {
	out := *h
	out.group += name + "."
	return &out
}

// takeLibraries has what the Kubernetes libraries say written here, their notes on
// what they do as debug lines.
func (l logger) takeLibraries() {
	klog.SetSlogLogger(slog.New(&slogHandler{to: l, quiet: true}))
}

// watchFailed returns what to do with errors of watches: each is told once in a
// while for its resource, since informers go on trying.
func (l logger) watchFailed() func(resource string, err error) {
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
