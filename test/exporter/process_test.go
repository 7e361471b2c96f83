//go:build e2e

package exporter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
	binary = filepath.Join(dir, "slurm-exporter")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/slurm-exporter").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building slurm-exporter: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// process is a running slurm-exporter.
type process struct {
	t    *testing.T
	url  string
	cmd  *exec.Cmd
	logs *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// startExporter starts the program and returns when it is ready.
func startExporter(t *testing.T, flags ...string) *process {
	t.Helper()
	address := freeAddress(t)
	p := &process{t: t, url: "http://" + address, logs: &lockedBuffer{}}
	p.cmd = exec.Command(binary, append([]string{"--web.listen-address=" + address, "--slurm.poll-interval=1s"}, flags...)...)
	p.cmd.Stderr = p.logs
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	p.await("it to be ready", func() bool {
		r, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return p
}

// stop ends the program as an administrator would, and demands a clean end.
func (p *process) stop() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("slurm-exporter ended with %v", err)
	}
	if p.t.Failed() {
		p.t.Logf("slurm-exporter wrote:\n%s", p.logs)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// await looks until a condition holds, for half a minute.
func (p *process) await(what string, holds func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.t.Fatalf("waited in vain for %s; slurm-exporter wrote:\n%s", what, p.logs)
		}
	}
}

// series are the samples of a scrape by their name and labels.
type series map[string]float64

func (p *process) scrape() series {
	p.t.Helper()
	r, err := http.Get(p.url + "/metrics")
	if err != nil {
		p.t.Fatalf("scraping: %v", err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		p.t.Fatalf("scraping: HTTP %d, %v", r.StatusCode, err)
	}
	out := series{}
	for line := range strings.Lines(string(text)) {
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64)
		if err != nil {
			p.t.Fatalf("reading %q: %v", line, err)
		}
		out[line[:i]] = value
	}
	return out
}

// fresh scrapes when everything that polls often has been read after the call.
func (p *process) fresh(resources ...string) series {
	p.t.Helper()
	begin := time.Now()
	var s series
	p.await("everything to be read again", func() bool {
		s = p.scrape()
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
