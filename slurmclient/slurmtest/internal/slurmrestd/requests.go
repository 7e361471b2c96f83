package slurmrestd

import (
	"maps"
	"strings"
	"sync"
)

// requests counts the requests received.
type requests struct {
	mu         sync.Mutex
	counts     map[string]int
	running    map[string]int
	maxRunning map[string]int
}

// begin counts a request. The returned function marks its end.
func (q *requests) begin(method, path string, r route) (end func()) {
	key := method + " " + path
	if r.path != "" {
		parts := strings.Split(strings.Trim(path, "/"), "/")
		key = method + " " + r.versionedPath(parts[1])
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counts == nil {
		q.counts, q.maxRunning = map[string]int{}, map[string]int{}
	}
	if q.running == nil {
		q.running = map[string]int{}
	}
	q.counts[key]++
	q.running[key]++
	q.maxRunning[key] = max(q.maxRunning[key], q.running[key])
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.running[key]--
	}
}

// RequestCounts returns how often each operation was requested since the last ResetRequests,
// including requests that met a fault. Operations have names such as "GET /slurm/v0.0.45/nodes/"
// and "POST /slurm/v0.0.45/node/{node_name}"; unknown paths are listed as requested.
func (s *Server) RequestCounts() map[string]int {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return maps.Clone(s.requests.counts)
}

// MaxConcurrentRequests returns the largest number of concurrent requests for each operation, with
// the names of RequestCounts.
func (s *Server) MaxConcurrentRequests() map[string]int {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return maps.Clone(s.requests.maxRunning)
}

// ResetRequests resets RequestCounts and MaxConcurrentRequests to 0.
func (s *Server) ResetRequests() {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	s.requests.counts, s.requests.maxRunning = nil, nil
}
