package steps

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// timePrefix is the time at the beginning of the scripts' lines.
	timePrefix = regexp.MustCompile(`^\[ *[0-9.]+s\] `)
	// packageCount is the progress line of hack/kube/build.
	packageCount = regexp.MustCompile(`^(.*): ([0-9]+) packages compiled of ([0-9]+) at most$`)
)

// ParseScriptLine returns the progress in a line of the scripts in hack. A line without progress
// returns before.
func ParseScriptLine(before Progress, line string) Progress {
	text := strings.TrimSpace(timePrefix.ReplaceAllString(line, ""))
	if text == "" {
		return before
	}
	m := packageCount.FindStringSubmatch(text)
	if m == nil {
		if timePrefix.MatchString(line) {
			return Progress{Text: text}
		}
		return before
	}
	done, _ := strconv.Atoi(m[2])
	total, _ := strconv.Atoi(m[3])
	return Progress{Done: done, Total: total, Text: text}
}

// ParseRootLog returns the progress in the log of mmdebstrap, which names each of its phases.
func ParseRootLog(log string) Progress {
	phases := []string{
		"running apt-get update", "downloading packages", "extracting archives",
		"installing essential", "installing remaining", "cleaning package lists",
	}
	for i := len(phases) - 1; i >= 0; i-- {
		if strings.Contains(log, "I: "+phases[i]) {
			return Progress{Done: i, Total: len(phases), Text: phases[i]}
		}
	}
	return Progress{Total: len(phases), Text: "starting"}
}
