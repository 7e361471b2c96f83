package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"
)

// pollCost is the processor time and memory that one child process used for one poll.
type pollCost struct {
	CPU      float64 // seconds
	PeakHeap float64 // MiB, beyond the heap before the poll
	Wall     float64 // seconds
	Bytes    float64 // of the answers
	Records  float64
}

const pollRuns = 3

// benchPoll compares ways to read the same answers, each in its own process.
func benchPoll(ctx context.Context) ([]figure, error) {
	server, err := startServer(ctx, totalJobs, "still")
	if err != nil {
		return nil, err
	}
	defer server.stop()
	got := map[string]pollCost{}
	for _, v := range variants {
		m, err := measureVariant(ctx, v.name, server.url)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		fmt.Fprintf(os.Stderr, "%-16s %6.2f s CPU, %6.2f s, %8.1f MiB peak heap, %.0f MB, %.0f records\n",
			v.name, m.CPU, m.Wall, m.PeakHeap, m.Bytes/1e6, m.Records)
		got[v.name] = m
	}
	ours, generated := got["ours"], got["generated"]
	floor, floorName := pollCost{}, ""
	out := []figure{
		{"poll_bytes", ours.Bytes / 1e6, "MB", ""}, {"poll_records", ours.Records, "records", ""},
		{"poll_wall_ours", ours.Wall, "s", ""}, {"poll_cpu_ours", ours.CPU, "s", ""},
		{"poll_cpu_generated", generated.CPU, "s", ""},
		{"poll_heap_ours", ours.PeakHeap, "MiB", ""}, {"poll_heap_generated", generated.PeakHeap, "MiB", ""},
		{"poll_throughput_ours", ours.Bytes / 1e6 / ours.CPU, "MB/s", ""},
	}
	for _, v := range variants[2:] {
		m := got[v.name]
		out = append(out, figure{"poll_cpu_" + v.name, m.CPU, "s", ""})
		if floorName == "" || m.CPU < floor.CPU {
			floor, floorName = m, v.name
		}
	}
	fmt.Fprintf(os.Stderr, "the floor is %s\n", floorName)
	return append(out,
		figure{"poll_cpu_generated_over_ours", generated.CPU / ours.CPU, "x", "10 or more"},
		figure{"poll_heap_generated_over_ours", generated.PeakHeap / ours.PeakHeap, "x", "20 or more"},
		figure{"poll_cpu_ours_over_floor", ours.CPU / floor.CPU, "x", "2.5 or less"},
	), nil
}

func measureVariant(ctx context.Context, variant, url string) (pollCost, error) {
	var cpu, heap, wall []float64
	var m pollCost
	for range pollRuns {
		out, err := exec.CommandContext(ctx, os.Args[0], "child", variant, url).Output()
		if err != nil {
			return m, fmt.Errorf("running the child: %w: %s", err, stderrOf(err))
		}
		if err := json.Unmarshal(out, &m); err != nil {
			return m, err
		}
		cpu, heap, wall = append(cpu, m.CPU), append(heap, m.PeakHeap), append(wall, m.Wall)
	}
	m.CPU, m.PeakHeap, m.Wall = median(cpu), median(heap), median(wall)
	return m, nil
}

func stderrOf(err error) string {
	if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it as it is
		return strings.TrimSpace(string(e.Stderr))
	}
	return ""
}

// runChild polls once and prints the cost.
func runChild(ctx context.Context, args []string) error {
	for _, v := range variants {
		if v.name != args[0] {
			continue
		}
		poll, err := v.prepare(args[1])
		if err != nil {
			return err
		}
		runtime.GC()
		heap := watchHeap()
		cpu, begin := cpuTime(), time.Now()
		bytes, records, err := poll(ctx)
		m := pollCost{CPU: cpuTime() - cpu, Wall: time.Since(begin).Seconds(), Bytes: float64(bytes),
			Records: float64(records)}
		m.PeakHeap = heap()
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(m)
	}
	return fmt.Errorf("there is no variant %q", args[0])
}

func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// watchHeap samples the heap until the returned function is called. That function returns the greatest growth in MiB.
func watchHeap() func() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() float64 { metrics.Read(sample); return float64(sample[0].Value.Uint64()) }
	base := read()
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		peak, tick := base, time.NewTicker(2*time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, read())
			case <-stop:
				done <- max(peak, read())
				return
			}
		}
	}()
	return func() float64 { close(stop); return (<-done - base) / (1 << 20) }
}
