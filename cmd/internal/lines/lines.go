// Package lines writes the programs' log lines, as logfmt or JSON, through go-kit/log.
package lines

import (
	"io"
	"slices"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Logger writes log lines. It may be used by many goroutines. A log that can not be
// written is nothing that a log line could tell.
type Logger struct{ to log.Logger }

// New returns a Logger. level is debug, info, warn or error, info if it is none of
// these; format is json, anything else is logfmt.
func New(w io.Writer, least, format string) Logger {
	to := log.NewLogfmtLogger(log.NewSyncWriter(w))
	if format == "json" {
		to = log.NewJSONLogger(log.NewSyncWriter(w))
	}
	to = level.NewFilter(to, level.Allow(level.ParseDefault(least, level.InfoValue())))
	return Logger{log.With(to, "ts", log.TimestampFormat(func() time.Time { return time.Now().UTC() }, time.RFC3339Nano))}
}

// Info writes a line of level info.
func (l Logger) Info(msg string, keyvals ...any) { l.log(level.InfoValue(), msg, keyvals) }

// Warn writes a line of level warn.
func (l Logger) Warn(msg string, keyvals ...any) { l.log(level.WarnValue(), msg, keyvals) }

// Error writes a line of level error.
func (l Logger) Error(msg string, keyvals ...any) { l.log(level.ErrorValue(), msg, keyvals) }

// With returns a Logger whose lines have the pair.
func (l Logger) With(key, value string) Logger { return Logger{log.With(l.to, key, value)} }

func (l Logger) log(v level.Value, msg string, keyvals []any) {
	_ = l.to.Log(slices.Concat([]any{level.Key(), v, "msg", msg}, keyvals)...)
}
