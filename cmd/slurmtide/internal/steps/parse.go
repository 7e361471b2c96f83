package steps

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// stamp is the time that the scripts put before their lines.
	stamp = regexp.MustCompile(`^\[ *[0-9.]+s\] `)
	// counted is what hack/kube/build says while it compiles.
	counted = regexp.MustCompile(`^(.*): ([0-9]+) packages compiled of ([0-9]+) at most$`)
)

// OfLine is the progress that a line of the scripts in hack tells, after what was told
// before; a line that tells nothing leaves that as it is.
func OfLine(before Progress, line string) Progress {
	text := strings.TrimSpace(stamp.ReplaceAllString(line, ""))
	if text == "" {
		return before
	}
	m := counted.FindStringSubmatch(text)
	if m == nil {
		if stamp.MatchString(line) {
			return Progress{Text: text}
		}
		return before
	}
	done, _ := strconv.Atoi(m[2])
	total, _ := strconv.Atoi(m[3])
	return Progress{Done: done, Total: total, Text: text}
}

// OfRootLog is the progress that the log of mmdebstrap tells: it names each of its
// phases.
func OfRootLog(log string) Progress {
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
