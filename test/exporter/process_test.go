//go:build e2e

package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/process"
	"github.com/slurmtide/slurmtide/test/realslurm"
)

// binary is slurm-exporter, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if missing := realslurm.Missing(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		return 1
	}
	dir, err := os.MkdirTemp("", "exporter")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = process.Build(context.Background(), dir, "slurm-exporter"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// exporter is a running slurm-exporter.
type exporter struct {
	*process.Process
	t   *testing.T
	url string
}

// startExporter starts the program and returns when it is ready.
func startExporter(t *testing.T, flags ...string) *exporter {
	t.Helper()
	address := process.FreeAddress(t)
	e := &exporter{t: t, url: "http://" + address}
	e.Process = process.Start(t, binary, append([]string{"--web.listen-address=" + address, "--slurm.poll-interval=1s"}, flags...)...)
	process.Await(t, func() error { return process.Answers(e.url + "/-/ready") })
	return e
}

// await looks until a condition holds, for half a minute.
func (e *exporter) await(what string, holds func() bool) {
	e.t.Helper()
	process.Await(e.t, func() error {
		if !holds() {
			return errors.New(what + ": not yet")
		}
		return nil
	})
}

// series are the samples of a scrape by their name and labels.
type series map[string]float64

func (e *exporter) scrape() series {
	e.t.Helper()
	r, err := http.Get(e.url + "/metrics")
	if err != nil {
		e.t.Fatalf("scraping: %v", err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		e.t.Fatalf("scraping: HTTP %d, %v", r.StatusCode, err)
	}
	out := series{}
	for line := range strings.Lines(string(text)) {
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64)
		if err != nil {
			e.t.Fatalf("reading %q: %v", line, err)
		}
		out[line[:i]] = value
	}
	return out
}

// fresh scrapes when everything that polls often has been read after the call.
func (e *exporter) fresh(resources ...string) series {
	e.t.Helper()
	begin := time.Now()
	var s series
	e.await("everything to be read again", func() bool {
		s = e.scrape()
		now := time.Since(begin).Seconds()
		for _, r := range resources {
			age, ok := s[fmt.Sprintf("slurm_exporter_snapshot_age_seconds{resource=%q}", r)]
			if !ok || age >= now {
				return false
			}
		}
		return true
	})
	return s
}
