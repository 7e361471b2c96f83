package daemon

import "regexp"

// pingLine is a line of scontrol ping, such as "Slurmctld(backup) at slurm-controller-1 is UP".
var pingLine = regexp.MustCompile(`(?m)^Slurmctld\([^)]*\) at (\S+) is (\S+)`)

// isStandby reports whether scontrol ping says that a slurmctld before that of a host is up. Of those that are up the first
// one is active. A host that is not among several is not in standby.
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

// areOnlyOthersUp reports whether scontrol ping says that the slurmctld of a host is down while another one is up, which would get
// the requests of scontrol.
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

// isServedByAnother reports whether another slurmctld than that of a host serves: one before it is up, or another one has sent the
// last heartbeat (lastHeartbeat) and any is up. scontrol ping alone does not tell a slurmctld that has taken over from one in standby
// while the one that serves executes itself again, nor a first one that starts after a takeover from one that executes itself again.
// A heartbeat may be that of a slurmctld that was removed from slurm.conf since.
func isServedByAnother(ping, host string, heartbeat int) bool {
	lines := pingLine.FindAllStringSubmatch(ping, -1)
	own, isAnyUp := -1, false
	for i, line := range lines {
		if line[1] == host {
			own = i
		}
		isAnyUp = isAnyUp || line[2] == "UP"
	}
	isOfAnother := heartbeat != noHeartbeat && heartbeat != own && heartbeat < len(lines)
	return isStandby(ping, host) || own >= 0 && isAnyUp && isOfAnother
}

// hasAnswered reports whether scontrol ping says that the slurmctld of a host is up, or any if there is but one.
func hasAnswered(ping, host string) bool {
	lines := pingLine.FindAllStringSubmatch(ping, -1)
	for _, line := range lines {
		if (len(lines) == 1 || line[1] == host) && line[2] == "UP" {
			return true
		}
	}
	return false
}
