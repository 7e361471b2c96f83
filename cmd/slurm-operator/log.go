package main

import (
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
)

// logger returns a logger for the level and format of the flags. Its lines have the format of the
// other programs' lines.
func (o *options) logger(w io.Writer) logr.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.log.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: renameAttr}
	if o.log.Format == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(w, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(w, options))
}

// renameAttr formats time and level as the other programs do.
func renameAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if at, ok := a.Value.Any().(time.Time); ok {
			return slog.String("ts", at.UTC().Format(time.RFC3339Nano))
		}
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("level", levelName(level))
		}
	}
	return a
}

// levelName returns one of four names. Libraries also use levels between and below them.
func levelName(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "error"
	case level >= slog.LevelWarn:
		return "warn"
	case level >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}
