package realslurm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the processor time that a daemon, its threads and its children have used since its
// start, with a resolution of a hundredth of a second.
func (c *Cluster) CPU(ctx context.Context, daemon string) (time.Duration, error) {
	usage, err := c.readUsage(ctx, daemon)
	return usage.cpu, err
}

// RSS returns the resident memory of a daemon and its children in bytes.
func (c *Cluster) RSS(ctx context.Context, daemon string) (int64, error) {
	usage, err := c.readUsage(ctx, daemon)
	return usage.rss, err
}

func (c *Cluster) readUsage(ctx context.Context, daemon string) (resourceUsage, error) {
	pid, err := c.PID(ctx, daemon)
	if err != nil {
		return resourceUsage{}, err
	}
	total, err := processUsage(pid)
	if err != nil {
		return resourceUsage{}, fmt.Errorf("reading the resource usage of %s: %w", daemon, err)
	}
	return total, nil
}

// resourceUsage is the processor time and the memory that a process uses.
type resourceUsage struct {
	cpu time.Duration
	rss int64
}

// tick is the unit of times in /proc: 1/100 s on every Linux.
const tick = time.Second / 100

// processUsage returns the sum of the usage of a process, its reaped children, and its live descendants.
func processUsage(pid int) (resourceUsage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return resourceUsage{}, err
	}
	total, err := parseStat(string(stat))
	if err != nil {
		return resourceUsage{}, err
	}
	children, err := childrenOf(pid)
	if err != nil {
		return resourceUsage{}, err
	}
	for _, child := range children {
		of, err := processUsage(child)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return resourceUsage{}, err
		}
		total.cpu += of.cpu
		total.rss += of.rss
	}
	return total, nil
}

// parseStat reads a line of /proc/PID/stat. Its second field, the program's
// name, may contain any character, so the fields are counted from its last parenthesis.
func parseStat(line string) (resourceUsage, error) {
	const utime, cstime, rss = 14 - 3, 17 - 3, 24 - 3 // proc(5) counts from 1, and two fields are cut off
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) <= rss {
		return resourceUsage{}, fmt.Errorf("parsing %q: too few fields", line)
	}
	var ticks int64
	for _, field := range fields[utime : cstime+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return resourceUsage{}, fmt.Errorf("parsing %q: %w", line, err)
		}
		ticks += n
	}
	pages, err := strconv.ParseInt(fields[rss], 10, 64)
	if err != nil {
		return resourceUsage{}, fmt.Errorf("parsing %q: %w", line, err)
	}
	return resourceUsage{cpu: time.Duration(ticks) * tick, rss: pages * int64(os.Getpagesize())}, nil
}

// childrenOf returns the live children of every thread of a process.
func childrenOf(pid int) ([]int, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	var children []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			return nil, err
		}
		for _, field := range strings.Fields(string(content)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("parsing %s: %w", file, err)
			}
			children = append(children, child)
		}
	}
	return children, nil
}
