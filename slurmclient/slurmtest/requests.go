package slurmtest

import (
	"maps"
	"strings"
	"sync"
)

// requests counts what was asked for.
type requests struct {
	mu      sync.Mutex
	counts  map[string]int
	running map[string]int
	most    map[string]int
}

// begin counts a request. The returned function ends it.
func (q *requests) begin(method, path string, r route) (end func()) {
	key := method + " " + path
	if r.path != "" {
		parts := strings.Split(strings.Trim(path, "/"), "/")
		key = method + " " + r.versioned(parts[1])
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counts == nil {
		q.counts, q.most = map[string]int{}, map[string]int{}
	}
	if q.running == nil {
		q.running = map[string]int{}
	}
	q.counts[key]++
	q.running[key]++
	q.most[key] = max(q.most[key], q.running[key])
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.running[key]--
	}
}

// Requests returns how often each operation was asked for since the last
// ResetRequests, faults included, by names such as "GET /slurm/v0.0.45/nodes/"
// and "POST /slurm/v0.0.45/node/{node_name}". Unknown paths stand as they came.
func (c *Cluster) Requests() map[string]int {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	return maps.Clone(c.reqs.counts)
}

// MostAtOnce returns, by the names of Requests, how many requests for an operation
// were under way at the same time at most.
func (c *Cluster) MostAtOnce() map[string]int {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	return maps.Clone(c.reqs.most)
}

// ResetRequests makes Requests and MostAtOnce count from 0.
func (c *Cluster) ResetRequests() {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	c.reqs.counts, c.reqs.most = nil, nil
}
