package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// pingLine is a line of scontrol ping, such as "Slurmctld(backup) at slurm-controller-1 is UP".
var pingLine = regexp.MustCompile(`(?m)^Slurmctld\([^)]*\) at (\S+) is (\S+)`)

// isStandby reports whether scontrol ping shows a slurmctld as up that comes before the one on this host. The first slurmctld that is
// up is the active one. A host that is not in the list is not in standby.
func isStandby(ping, host string) bool {
	isUp := false
	for _, line := range pingLine.FindAllStringSubmatch(ping, -1) {
		if line[1] == host {
			return isUp
		}
		isUp = isUp || line[2] == "UP"
	}
	return false
}

// areOnlyOthersUp reports whether scontrol ping shows the slurmctld of a host as down and another one as up. scontrol would send its
// requests to the other one.
func areOnlyOthersUp(ping, host string) bool {
	isDown, isAnotherUp := false, false
	for _, line := range pingLine.FindAllStringSubmatch(ping, -1) {
		if line[1] == host {
			isDown = line[2] != "UP"
		} else {
			isAnotherUp = isAnotherUp || line[2] == "UP"
		}
	}
	return isDown && isAnotherUp
}

// isServedByAnother reports whether a slurmctld on another host serves: one before it is up, or another one sent the last heartbeat and
// any is up. scontrol ping alone cannot distinguish two pairs of states: a slurmctld that took over and a standby, while the serving
// one executes itself again; a first slurmctld that starts after a takeover and one that executes itself again. heartbeat returns the
// number of lastHeartbeat, or noHeartbeat if the heartbeat is older than age. A slurmctld that is not up may never return.
func isServedByAnother(ping, host string, heartbeat func(age time.Duration) int) bool {
	var hosts []string
	isUp, isAnyUp := map[string]bool{}, false
	for _, line := range pingLine.FindAllStringSubmatch(ping, -1) {
		hosts, isUp[line[1]], isAnyUp = append(hosts, line[1]), line[2] == "UP", isAnyUp || line[2] == "UP"
	}
	number := heartbeat(heartbeatAge)
	if isUp[host] && number >= 0 && number < len(hosts) && !isUp[hosts[number]] {
		number = heartbeat(absenceAge)
	}
	return isStandby(ping, host) || isAnyUp && isHeartbeatOfAnother(number, hosts, host)
}

// isHeartbeatOfAnother reports whether one of the other slurmctlds wrote the heartbeat. A slurmctld that slurm.conf no longer names
// does not count.
func isHeartbeatOfAnother(heartbeat int, hosts []string, host string) bool {
	own := slices.Index(hosts, host)
	return own >= 0 && heartbeat != noHeartbeat && heartbeat != own && heartbeat < len(hosts)
}

// slurmctldHosts returns the names of slurmctlds in the slurm.conf of a folder, the first one first.
func slurmctldHosts(live string) []string {
	conf, err := os.ReadFile(filepath.Join(live, "slurm.conf")) //nolint:gosec // see Slurmctld
	if err != nil {
		return nil
	}
	var out []string
	for _, setting := range slurmconf.ParseSettings(string(conf)) {
		if strings.EqualFold(setting.Name, "SlurmctldHost") {
			name, _, _ := strings.Cut(setting.Value, "(")
			out = append(out, name)
		}
	}
	return out
}

// hasAnswered reports whether scontrol ping shows the slurmctld of a host as up. With a single slurmctld, the host does not matter.
func hasAnswered(ping, host string) bool {
	lines := pingLine.FindAllStringSubmatch(ping, -1)
	for _, line := range lines {
		if (len(lines) == 1 || line[1] == host) && line[2] == "UP" {
			return true
		}
	}
	return false
}
