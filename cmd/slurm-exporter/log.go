package main

import (
	"io"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
)

type logger = lines.Logger

// logger returns a logger for the level and format of the flags.
func (o *options) logger(w io.Writer) logger { return lines.New(w, o.logLevel, o.logFormat) }
