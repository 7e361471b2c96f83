package pacing

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// gateLifetime is how long update_time is trusted before the list is read without it. This limits how
// long a change that the server does not count as an update stays unnoticed.
const gateLifetime = 5 * time.Minute

// Gate determines the update_time of the next request. It ends with the server whose time it has.
type Gate struct {
	since  slurm.Time
	opened time.Time // when the list was last read without update_time
	server uint64    // number of the server that sent it
}

// UpdateTime returns the update_time to send to a server, 0 for none.
func (g *Gate) UpdateTime(now time.Time, server uint64) slurm.Time {
	if g.opened.IsZero() || now.Sub(g.opened) >= gateLifetime || g.server != server {
		return 0
	}
	return g.since
}

// RecordAnswer records that a list was read with since from a server. It always takes the server's time, so that
// a server whose clock went back does not get the old time.
func (g *Gate) RecordAnswer(now time.Time, server uint64, since, serverTime slurm.Time) {
	if since == 0 {
		g.opened, g.server = now, server
	}
	g.since = serverTime
}

// maxUngatedNodes is the number of nodes up to which the list is requested without update_time. That
// costs milliseconds, and servers have been observed to report an unchanged list that still contained
// a deleted node.
const maxUngatedNodes = 32

// NodesUpdateTime is UpdateTime for the list of nodes, of which this many are known.
func (g *Gate) NodesUpdateTime(now time.Time, server uint64, known int) slurm.Time {
	if known <= maxUngatedNodes {
		return 0
	}
	return g.UpdateTime(now, server)
}
