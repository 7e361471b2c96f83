package slurmtest

import (
	"maps"
	"strings"
	"sync"
)

// requests counts the requests received.
type requests struct {
	mu      sync.Mutex
	counts  map[string]int
	running map[string]int
	most    map[string]int
}

// begin counts a request. The returned function marks its end.
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

// RequestCounts returns how often each operation was requested since the last ResetRequests,
// including requests that met a fault. Operations have names such as "GET /slurm/v0.0.45/nodes/"
// and "POST /slurm/v0.0.45/node/{node_name}"; unknown paths are listed as requested.
func (c *Cluster) Requests() map[string]int {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	return maps.Clone(c.reqs.counts)
}

// MaxConcurrentRequests returns the largest number of concurrent requests for each operation, with
// the names of RequestCounts.
func (c *Cluster) MostAtOnce() map[string]int {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	return maps.Clone(c.reqs.most)
}

// ResetRequests resets RequestCounts and MaxConcurrentRequests to 0.
func (c *Cluster) ResetRequests() {
	c.reqs.mu.Lock()
	defer c.reqs.mu.Unlock()
	c.reqs.counts, c.reqs.most = nil, nil
}
