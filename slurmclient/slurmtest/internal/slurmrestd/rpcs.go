package slurmrestd

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// rpcRecord is a row of sdiag's tables of RPCs, by type or by user.
type rpcRecord struct {
	name  string
	id    uint64
	count uint64
}

// rpcMicros is how long each RPC takes, in microseconds.
const rpcMicros = 600

func rpcFields() template.Fields[rpcRecord] {
	type r = rpcRecord
	name := template.Text(func(r r) string { return r.name })
	id := template.Count(func(r r) uint64 { return r.id })
	return template.Fields[rpcRecord]{
		"message_type": name, "user": name, "type_id": id, "user_id": id,
		"count":        template.Count(func(r r) uint64 { return r.count }),
		"average_time": template.Count(func(rpcRecord) uint64 { return rpcMicros }),
		"total_time":   template.Count(func(r r) uint64 { return rpcMicros * r.count }),
	}
}

func writeAll[T any](w *template.Writer, t *template.Template[T], list []T) {
	w.Array()
	for _, v := range list {
		w.Item()
		t.Append(w, v)
	}
	w.EndArray()
}

// rpcs counts the RPCs that requests cause.
type rpcs struct {
	mu             sync.Mutex
	byPath, byUser map[string]uint64
}

func (q *rpcs) add(r route, user string) {
	if r.isDatabase() {
		return
	}
	q.count(r.method+" "+r.path, user)
}

// count counts an RPC under the slurmrestd operation that causes it.
func (q *rpcs) count(operation, user string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byPath == nil {
		q.byPath, q.byUser = map[string]uint64{}, map[string]uint64{}
	}
	q.byPath[operation]++
	q.byUser[user]++
}

func (q *rpcs) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byPath, q.byUser = nil, nil
}

// rpcTypes returns the message type of each operation. All others count as REQUEST_PING.
func rpcTypes() map[string]rpcRecord {
	return map[string]rpcRecord{
		"GET /slurm/jobs":         {name: "REQUEST_JOB_INFO", id: 2003},
		"GET /slurm/job/{}":       {name: "REQUEST_JOB_INFO_SINGLE", id: 2021},
		"GET /slurm/jobs/state":   {name: "REQUEST_JOB_STATE", id: 2057},
		"GET /slurm/nodes":        {name: "REQUEST_NODE_INFO", id: 2007},
		"GET /slurm/node/{}":      {name: "REQUEST_NODE_INFO_SINGLE", id: 2040},
		"GET /slurm/partitions":   {name: "REQUEST_PARTITION_INFO", id: 2009},
		"GET /slurm/reservations": {name: "REQUEST_RESERVATION_INFO", id: 2024},
		"GET /slurm/licenses":     {name: "REQUEST_LICENSE_INFO", id: 1021},
		"GET /slurm/shares":       {name: "REQUEST_SHARE_INFO", id: 2022},
		"GET /slurm/diag":         {name: "REQUEST_STATS_INFO", id: 2035},
		"POST /slurm/job/submit":  {name: "REQUEST_SUBMIT_BATCH_JOB", id: 4003},
		"DELETE /slurm/job/{}":    {name: "REQUEST_KILL_JOB", id: 5032},
		"POST /slurm/job/{}":      {name: "REQUEST_UPDATE_JOB", id: 3001},
		"POST /slurm/node/{}":     {name: "REQUEST_UPDATE_NODE", id: 3002},
	}
}

// records returns the rows, the most frequent first.
func (q *rpcs) records(c *slurmctld.Cluster) (types, byUser []rpcRecord) {
	q.mu.Lock()
	defer q.mu.Unlock()
	known, rest := rpcTypes(), rpcRecord{name: "REQUEST_PING", id: 1008}
	for _, path := range slices.Sorted(maps.Keys(q.byPath)) {
		if r, ok := known[path]; ok {
			r.count = q.byPath[path]
			types = append(types, r)
		} else {
			rest.count += q.byPath[path]
		}
	}
	if rest.count > 0 {
		types = append(types, rest)
	}
	for _, user := range slices.Sorted(maps.Keys(q.byUser)) {
		u, _ := c.User(user)
		byUser = append(byUser, rpcRecord{user, uint64(u.UID), q.byUser[user]})
	}
	most := func(a, b rpcRecord) int { return cmp.Compare(b.count, a.count) }
	slices.SortStableFunc(types, most)
	slices.SortStableFunc(byUser, most)
	return types, byUser
}

// CountRPC counts an RPC that a client other than slurmrestd sends, under the operation of slurmrestd
// that would cause it.
func (s *Server) CountRPC(operation, user string) { s.rpcs.count(operation, user) }

// ResetRPCs forgets all RPCs, as a restart of slurmctld does.
func (s *Server) ResetRPCs() { s.rpcs.reset() }
