package daemon

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"time"
)

// noHeartbeat stands for a missing heartbeat in lastHeartbeat.
const noHeartbeat = -1

const (
	// heartbeatAge is the maximum age of a heartbeat. The serving one of several slurmctlds writes a heartbeat at least every 30
	// seconds, except while the disk is full.
	heartbeatAge = 10 * time.Minute
	// absenceAge is the maximum age of the heartbeat of a slurmctld that is not up because it executes itself again. A standby takes
	// over after SlurmctldTimeout, which is 2 minutes by default.
	absenceAge = 3 * time.Minute
	// freshHeartbeatAge is the maximum age of the heartbeat of a slurmctld that certainly serves.
	freshHeartbeatAge = time.Minute
)

// lastHeartbeat returns the number of the slurmctld that served last, in the order of SlurmctldHost. slurmctld writes it to
// StateSaveLocation with the time. lastHeartbeat returns noHeartbeat if the heartbeat is older than age, if its time is too far ahead
// to be trusted, or for a single slurmctld.
func lastHeartbeat(state string, now time.Time, age time.Duration) int {
	// slurmctld removes the file before it gives the new one its name.
	for _, name := range []string{"heartbeat", "heartbeat.new", "heartbeat"} {
		text, err := os.ReadFile(filepath.Join(state, name)) //nolint:gosec // see Slurmctld
		if err != nil || len(text) != 16 {
			continue
		}
		number := binary.BigEndian.Uint64(text[8:])
		at := time.Unix(int64(binary.BigEndian.Uint64(text)), 0) //nolint:gosec // it is a time
		if at.Before(now.Add(-age)) || at.After(now.Add(heartbeatAge)) || number >= maxSlurmctlds {
			return noHeartbeat
		}
		return int(number)
	}
	return noHeartbeat
}

// maxSlurmctlds is more than slurm.conf can name.
const maxSlurmctlds = 1000
