package numbers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// Exporter is a running slurm-exporter.
type Exporter struct {
	*process.Process
	t   testing.TB
	url string
}

// StartExporter starts the program, which polls every second, and returns when it is ready. It ends
// with the test.
func StartExporter(t testing.TB, binary string, flags ...string) *Exporter {
	t.Helper()
	address := process.FreeAddress(t)
	e := &Exporter{t: t, url: "http://" + address}
	e.Process = process.Start(t, binary,
		append([]string{"--web.listen-address=" + address, "--slurm.poll-interval=1s"}, flags...)...)
	process.Await(t, func() error { return process.CheckOK(e.url + "/-/ready") })
	return e
}

// Await polls until the condition holds.
func (e *Exporter) Await(what string, holds func() bool) {
	e.t.Helper()
	process.Await(e.t, func() error {
		if !holds() {
			return errors.New(what + ": not yet")
		}
		return nil
	})
}

// Scrape returns the current samples.
func (e *Exporter) Scrape() Series {
	e.t.Helper()
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, e.url+"/metrics", http.NoBody)
	if err != nil {
		e.t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		e.t.Fatalf("scraping: %v", err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		e.t.Fatalf("scraping: HTTP %d, %v", r.StatusCode, err)
	}
	out := Series{}
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

// ScrapeFresh scrapes when the exporter has read all the given resources after the call.
func (e *Exporter) ScrapeFresh(resources ...string) Series {
	e.t.Helper()
	begin := time.Now()
	var s Series
	e.Await("everything to be read again", func() bool {
		s = e.Scrape()
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
