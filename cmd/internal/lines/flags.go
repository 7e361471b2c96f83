package lines

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

// Flags choose the lines that are written.
type Flags struct{ Level, Format string }

// AddFlags adds the flags.
func (f *Flags) AddFlags(set *pflag.FlagSet) {
	flags.ChoiceVar(set, &f.Level, "log.level", "Minimum log level: debug, info, warn or error.",
		"info", "debug", "warn", "error")
	flags.ChoiceVar(set, &f.Format, "log.format", "Log format: logfmt or json.", "logfmt", "json")
}

// Logger returns a logger that writes to w.
func (f *Flags) Logger(w io.Writer) Logger { return New(w, f.Level, f.Format) }
