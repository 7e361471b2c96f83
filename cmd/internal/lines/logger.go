// Package lines writes the programs' log lines, as logfmt or JSON, through go-kit/log.
package lines

import (
	"io"
	"slices"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Logger writes log lines. It is safe for concurrent use. Write errors are ignored.
type Logger struct{ to log.Logger }

// New returns a Logger. least is debug, info, warn or error; any other value means info. format is
// json; any other value means logfmt.
func New(w io.Writer, least, format string) Logger {
	to := log.NewLogfmtLogger(log.NewSyncWriter(w))
	if format == "json" {
		to = log.NewJSONLogger(log.NewSyncWriter(w))
	}
	to = level.NewFilter(to, level.Allow(level.ParseDefault(least, level.InfoValue())))
	return Logger{log.With(to, "ts",
		log.TimestampFormat(func() time.Time { return time.Now().UTC() }, time.RFC3339Nano))}
}

// Info writes a line of level info.
func (l Logger) Info(msg string, keyvals ...any) { l.log(level.InfoValue(), msg, keyvals) }

// Warn writes a line of level warn.
func (l Logger) Warn(msg string, keyvals ...any) { l.log(level.WarnValue(), msg, keyvals) }

// Error writes a line of level error.
func (l Logger) Error(msg string, keyvals ...any) { l.log(level.ErrorValue(), msg, keyvals) }

// With returns a Logger that adds the pair to each line.
func (l Logger) With(key, value string) Logger { return Logger{log.With(l.to, key, value)} }

func (l Logger) log(v level.Value, msg string, keyvals []any) {
	_ = l.to.Log(slices.Concat([]any{level.Key(), v, "msg", msg}, keyvals)...)
}
