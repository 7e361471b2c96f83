package daemon

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// heartbeatOf returns a heartbeat as slurmctld writes it.
func heartbeatOf(number uint64, at time.Time) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(at.Unix())), number) //nolint:gosec // it is a time
}

func TestLastHeartbeat(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name  string
		files map[string][]byte
		want  int
	}{
		{"the only slurmctld writes none", nil, noHeartbeat},
		{"the second one serves", map[string][]byte{"heartbeat": heartbeatOf(1, now.Add(-30*time.Second))}, 1},
		{"a clock that is a day ahead", map[string][]byte{"heartbeat": heartbeatOf(1, now.Add(24*time.Hour))}, noHeartbeat},
		{"a clock that is ahead", map[string][]byte{"heartbeat": heartbeatOf(1, now.Add(time.Minute))}, 1},
		{"it is being replaced", map[string][]byte{"heartbeat.new": heartbeatOf(0, now)}, 0},
		{"it is being written", map[string][]byte{"heartbeat": heartbeatOf(1, now), "heartbeat.new": heartbeatOf(0, now)[:8]}, 1},
		{"the disk is full", map[string][]byte{"heartbeat": heartbeatOf(1, now.Add(-heartbeatAge-time.Second))}, noHeartbeat},
		{"it is torn", map[string][]byte{"heartbeat": heartbeatOf(1, now)[:12]}, noHeartbeat},
		{"it is of another program", map[string][]byte{"heartbeat": heartbeatOf(1<<40, now)}, noHeartbeat},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := lastHeartbeat(dir, now, heartbeatAge); got != tc.want {
				t.Errorf("lastHeartbeat() = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestIsServedByAnother(t *testing.T) {
	const (
		bothUp     = "Slurmctld(primary) at ctl-0 is UP\nSlurmctld(backup) at ctl-1 is UP\n"
		firstDown  = "Slurmctld(primary) at ctl-0 is DOWN\nSlurmctld(backup) at ctl-1 is UP\n"
		secondDown = "Slurmctld(primary) at ctl-0 is UP\nSlurmctld(backup) at ctl-1 is DOWN\n"
		bothDown   = "Slurmctld(primary) at ctl-0 is DOWN\nSlurmctld(backup) at ctl-1 is DOWN\n"
	)
	for _, tc := range []struct {
		name, ping, host string
		heartbeat        int
		want             bool
	}{
		{"the first one serves", bothUp, "ctl-0", 0, false},
		{"the second one is in standby", bothUp, "ctl-1", 0, true},
		{"the second one is in standby, on a full disk", bothUp, "ctl-1", noHeartbeat, true},
		{"the second one, while the first one executes itself again", firstDown, "ctl-1", 0, true},
		{"the first one executes itself again", firstDown, "ctl-0", 0, false},
		{"the second one has taken over", firstDown, "ctl-1", 1, false},
		{"the second one has taken over, on a full disk", firstDown, "ctl-1", noHeartbeat, false},
		{"the first one does not run, and the second one has taken over", firstDown, "ctl-0", 1, true},
		{"the first one executes itself again, on a full disk", firstDown, "ctl-0", noHeartbeat, false},
		{"the second one starts", secondDown, "ctl-1", 0, true},
		{"none runs, and the second one has served", bothDown, "ctl-0", 1, false}, // it may need a correction
		{"the only one", "Slurmctld(primary) at ctl-0 is UP\n", "ctl-0", noHeartbeat, false},
		{"the only one, after the second one has served and was removed", "Slurmctld(primary) at ctl-0 is UP\n", "ctl-0", 1, false},
		{"the second one takes over, after the third one has served and was removed", firstDown, "ctl-1", 2, false},
		{"a host of which Slurm does not know", firstDown, "node", 1, false},
		{"nothing is said", "", "ctl-0", 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := isServedByAnother(tc.ping, tc.host, func(time.Duration) int { return tc.heartbeat })
			if got != tc.want {
				t.Errorf("isServedByAnother() = %t, want %t", got, tc.want)
			}
		})
	}
}

// TestAnOldHeartbeatOfOneThatIsDown: the second slurmctld was removed, and is added again while the first one serves. While the first
// one was alone, it wrote no heartbeat.
func TestAnOldHeartbeatOfOneThatIsDown(t *testing.T) {
	const ping = "Slurmctld(primary) at ctl-0 is UP\nSlurmctld(backup) at ctl-1 is DOWN\n"
	for age, want := range map[time.Duration]bool{time.Minute: true, 5 * time.Minute: false} {
		dir, now := t.TempDir(), time.Now()
		if err := os.WriteFile(filepath.Join(dir, "heartbeat"), heartbeatOf(1, now.Add(-age)), 0o600); err != nil {
			t.Fatal(err)
		}
		got := isServedByAnother(ping, "ctl-0", func(age time.Duration) int { return lastHeartbeat(dir, now, age) })
		if got != want {
			t.Errorf("with a heartbeat of %s ago another one serves: %t", age, got)
		}
	}
}
