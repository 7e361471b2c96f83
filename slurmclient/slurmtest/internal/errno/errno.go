// Package errno has the numbers and texts of Slurm's errors.
package errno

import "strconv"

// InvalidFlag is slurmrestd's own error for a word that it does not know.
const InvalidFlag = 9207

// Text returns Slurm's text for an error number, as slurm_strerror() does.
func Text(number int) string {
	texts := map[int]string{
		-1: "Unspecified error", 0: "No error",
		1007: "Protocol authentication error",
		1800: "Unable to contact slurm controller (connect failure)",
		2000: "Invalid partition name specified",
		2003: "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
		2010: "Invalid user id", 2014: "Requested node configuration is not available",
		2015: "Requested partition configuration not available now",
		2016: "Requested nodes are busy", 2017: "Invalid job id specified",
		2018: "Invalid node name specified",
		2020: "Requested time limit is invalid (missing or exceeds some limit)",
		2021: "Job/step already completing or completed",
		2019: "I/O error writing script/environment to file",
		2028: "Invalid node state specified", 2029: "Invalid feature specification",
		2038: "Job dependency problem", 2045: "Invalid account or account/partition combination specified",
		2048: "Invalid license specification", 2053: "Requested reservation is invalid",
		2066: "Invalid qos specification",
		2072: "Invalid generic resource (gres) specification", 2081: "Invalid job array specification",
		2127: "Environment is missing in job", 2180: "Invalid node state transition",
		5004: "Socket timed out on send/recv operation",
		6010: "Rejecting authentication of user nobody or group nobody",
		7000: "Unable to connect to database",
		9207: "Data parser unable to parse invalid flag",
		9000: "Query parameter is invalid",
	}
	if t, ok := texts[number]; ok {
		return t
	}
	return "Unknown error " + strconv.Itoa(number)
}
