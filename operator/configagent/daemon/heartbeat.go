package daemon

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"time"
)

// noHeartbeat is the number of lastHeartbeat if there is none.
const noHeartbeat = -1

// heartbeatAge is how old a heartbeat may be: of several slurmctlds the one that serves writes one at least every 30 seconds, which
// it cannot while the disk is full.
const heartbeatAge = 10 * time.Minute

// lastHeartbeat returns the number of the slurmctld that has served last, in the order of SlurmctldHost, as it writes it to
// StateSaveLocation with the time. It returns noHeartbeat if that is older than heartbeatAge, or if there is but one slurmctld.
func lastHeartbeat(state string, now time.Time) int {
	return heartbeatSince(state, now.Add(-heartbeatAge))
}

// freshHeartbeatAge is how old the heartbeat of a slurmctld may be that serves without doubt.
const freshHeartbeatAge = time.Minute

// heartbeatSince returns the number of lastHeartbeat, or noHeartbeat if it is older than a time.
func heartbeatSince(state string, earliest time.Time) int {
	// slurmctld removes the file before it gives the new one its name.
	for _, name := range []string{"heartbeat", "heartbeat.new", "heartbeat"} {
		text, err := os.ReadFile(filepath.Join(state, name)) //nolint:gosec // see Slurmctld
		if err != nil || len(text) != 16 {
			continue
		}
		at, number := binary.BigEndian.Uint64(text), binary.BigEndian.Uint64(text[8:])
		if time.Unix(int64(at), 0).Before(earliest) || number >= maxSlurmctlds { //nolint:gosec // it is a time
			return noHeartbeat
		}
		return int(number)
	}
	return noHeartbeat
}

// maxSlurmctlds is more than slurm.conf can name.
const maxSlurmctlds = 1000
