package lines

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-kit/log/level"
)

// Slog returns a logger for libraries that write through log/slog.
func (l Logger) Slog() *slog.Logger { return slog.New(&slogHandler{to: l}) }

// QuietSlog is Slog for libraries that log a lot. Their info lines, and the lines for which hush
// returns true, become debug lines. Their lower levels are dropped.
func (l Logger) QuietSlog(hush func(msg string, keyvals []any) bool) *slog.Logger {
	return slog.New(&slogHandler{to: l, isNoise: hush})
}

// slogHandler passes records of log/slog to go-kit/log.
type slogHandler struct {
	to      Logger
	attrs   []any
	group   string
	isNoise func(msg string, keyvals []any) bool // nil unless the logger is quiet
}

// Enabled leaves the filtering to go-kit/log, except for the lower levels of quiet libraries: at
// its highest verbosity, client-go logs the bodies of requests, Secrets included.
func (h *slogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.isNoise == nil || level >= slog.LevelInfo
}

func (h *slogHandler) Handle(_ context.Context, r slog.Record) error {
	keyvals := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		keyvals = append(keyvals, h.group+a.Key, a.Value.Resolve().String())
		return true
	})
	v := level.DebugValue()
	switch {
	case h.isNoise != nil && h.isNoise(r.Message, keyvals):
	case r.Level >= slog.LevelError:
		v = level.ErrorValue()
	case r.Level >= slog.LevelWarn:
		v = level.WarnValue()
	case r.Level >= slog.LevelInfo && h.isNoise == nil:
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
