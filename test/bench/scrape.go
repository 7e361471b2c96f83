package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// exporter is slurm-exporter at work on a large cluster.
type exporter struct {
	process
	dir    string
	server *process
}

// startExporter builds slurm-exporter and lets it poll a simulated cluster of the
// full size that keeps running its jobs.
func startExporter(ctx context.Context) (*exporter, error) {
	server, err := startServer(ctx, totalJobs, "living")
	if err != nil {
		return nil, err
	}
	e := &exporter{server: server}
	if err := e.start(ctx); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

func (e *exporter) start(ctx context.Context) (err error) {
	if e.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	binary := filepath.Join(e.dir, "slurm-exporter")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/slurm-exporter")
	if build.Dir, err = repositoryPath("."); err != nil {
		return err
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building slurm-exporter: %w: %s", err, out)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, "--slurm.url="+e.server.url, "--web.listen-address="+address,
		"--slurm.jobs-reader=list", "--log.level=warn")
	cmd.Env = append(os.Environ(), "SLURM_JWT=t")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	e.process = process{cmd, "http://" + address}
	return e.awaitReady(ctx)
}

func (e *exporter) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("slurm-exporter is not ready after a minute"))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if status, _, err := httpGet(ctx, e.url+"/-/ready"); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (e *exporter) stop() {
	if e.cmd != nil {
		e.process.stop()
	}
	e.server.stop()
	_ = os.RemoveAll(e.dir)
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// httpGet reads an answer to its end.
func httpGet(ctx context.Context, url string, header ...string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

const scrapeCount = 500

// benchScrape scrapes all native collectors repeatedly while polls continue.
func benchScrape(ctx context.Context) ([]figure, error) {
	e, err := startExporter(ctx)
	if err != nil {
		return nil, err
	}
	defer e.stop()
	_, plain, err := httpGet(ctx, e.url+"/metrics", "Accept-Encoding", "identity")
	if err != nil {
		return nil, err
	}
	series := 0
	for line := range strings.Lines(string(plain)) {
		if !strings.HasPrefix(line, "#") {
			series++
		}
	}
	out := []figure{{"scrape_series", float64(series), "series", ""},
		{"scrape_bytes", float64(len(plain)) / 1e6, "MB", ""}}
	for _, c := range []struct{ name, encoding string }{{"scrape_gzip", "gzip"}, {"scrape_plain", "identity"}} {
		times, err := timeScrapes(ctx, e.url, c.encoding)
		if err != nil {
			return nil, err
		}
		out = append(out,
			figure{c.name + "_p50", quantile(times, 0.50), "ms", ""},
			figure{c.name + "_p99", quantile(times, 0.99), "ms", "under 50"})
	}
	return out, nil
}

// timeScrapes spreads the scrapes over some polls.
func timeScrapes(ctx context.Context, url, encoding string) ([]float64, error) {
	var times []float64
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range scrapeCount {
		took, err := timeScrape(ctx, url, encoding)
		if err != nil {
			return nil, err
		}
		times = append(times, took.Seconds()*1e3)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	slices.Sort(times)
	return times, nil
}

// timeScrape reads one scrape to its end and keeps nothing.
func timeScrape(ctx context.Context, url, encoding string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", encoding)
	begin := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("scraping: HTTP %d", resp.StatusCode)
	}
	return time.Since(begin), err
}

func quantile(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1))] }

// benchMemory scrapes the exporter while it polls a cluster in which jobs start and end.
func benchMemory(ctx context.Context) ([]figure, error) {
	e, err := startExporter(ctx)
	if err != nil {
		return nil, err
	}
	defer e.stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range 60 {
		if _, _, err := httpGet(ctx, e.url+"/metrics", "Accept-Encoding", "gzip"); err != nil {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	peak, err := processStatus(e.cmd.Process.Pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	now, err := processStatus(e.cmd.Process.Pid, "VmRSS")
	if err != nil {
		return nil, err
	}
	return []figure{{"memory_rss_peak", peak, "MiB", "under 300"}, {"memory_rss", now, "MiB", "110 or less"}}, nil
}

// processStatus reads a line of /proc/PID/status, in MiB.
func processStatus(pid int, name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			var kib float64
			_, err := fmt.Sscanf(value, "%f kB", &kib)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("there is no %s", name)
}
