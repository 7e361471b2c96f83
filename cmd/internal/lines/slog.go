package lines

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-kit/log/level"
)

// Slog returns a logger for libraries that write through log/slog.
func (l Logger) Slog() *slog.Logger { return slog.New(&handler{to: l}) }

// Quiet is Slog for libraries that tell much: what is only information for them is a
// line of level debug, and so is what hush says is nothing. Their finer levels never
// pass.
func (l Logger) Quiet(hush func(msg string, keyvals []any) bool) *slog.Logger {
	return slog.New(&handler{to: l, hush: hush})
}

// handler hands records of log/slog on to go-kit/log.
type handler struct {
	to    Logger
	attrs []any
	group string
	hush  func(msg string, keyvals []any) bool // set for those that are quiet
}

// Enabled lets go-kit/log filter, but for the finer levels of quiet libraries: the
// finest of Kubernetes' print the bodies of requests, Secrets among them.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.hush == nil || level >= slog.LevelInfo
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	keyvals := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		keyvals = append(keyvals, h.group+a.Key, a.Value.Resolve().String())
		return true
	})
	v := level.DebugValue()
	switch {
	case h.hush != nil && h.hush(r.Message, keyvals):
	case r.Level >= slog.LevelError:
		v = level.ErrorValue()
	case r.Level >= slog.LevelWarn:
		v = level.WarnValue()
	case r.Level >= slog.LevelInfo && h.hush == nil:
		v = level.InfoValue()
	}
	h.to.log(v, r.Message, keyvals)
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		out.attrs = append(out.attrs, h.group+a.Key, a.Value.Resolve().String())
	}
	return &out
}

func (h *handler) WithGroup(name string) slog.Handler {
	out := *h
	out.group += name + "."
	return &out
}
