package slurmtest

import (
	"maps"
	"strings"
	"sync"
)

// requests counts what was asked for.
type requests struct {
	mu     sync.Mutex
	counts map[string]int
}

func (q *requests) add(method, path string, r route) {
	key := method + " " + path
	if r.path != "" {
		parts := strings.Split(strings.Trim(path, "/"), "/")
		key = method + " " + r.versioned(parts[1])
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counts == nil {
		q.counts = map[string]int{}
	}
	q.counts[key]++
}

// Requests returns how often each operation was asked for since the last
// ResetRequests, faults included, by names such as "GET /slurm/v0.0.45/nodes/"
// and "POST /slurm/v0.0.45/node/{node_name}". Unknown paths stand as they came.
func (c *Cluster) Requests() map[string]int {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	return maps.Clone(c.reqs.counts)
}

// ResetRequests makes Requests count from 0.
func (c *Cluster) ResetRequests() {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	c.reqs.counts = nil
}
