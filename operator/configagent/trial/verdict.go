package trial

import (
	"regexp"
	"slices"
	"strings"
)

// Verdict is what the log of a trial says.
type Verdict int

// The verdicts.
const (
	// Undecided is of a slurmctld that is still starting.
	Undecided Verdict = iota
	// Accepted is of one that serves.
	Accepted
	// Refused is of one that ends.
	Refused
)

// servingText is in the log of a slurmctld that has read its configuration and serves.
const servingText = "Running as primary controller"

// maxReasonLines is how many lines of a log explain a refusal.
const maxReasonLines = 4

// ReadLog returns what the log of a trial says and, if slurmctld refuses the configuration, the lines
// that say why, in one line.
func ReadLog(log string) (Verdict, string) {
	lines := logLines(log)
	for _, line := range lines {
		if strings.HasPrefix(line, "fatal: ") {
			return Refused, Explain(log)
		}
	}
	if strings.Contains(log, servingText) {
		return Accepted, ""
	}
	return Undecided, ""
}

// Explain returns the lines of a log that say why slurmctld does not serve: its last errors, or its
// last line if it has none.
func Explain(log string) string {
	lines := logLines(log)
	var reasons []string
	for _, line := range lines {
		text, isError := cutLevel(line)
		if isError && !isUninformative(text) && !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	if len(reasons) == 0 && len(lines) > 0 {
		text, _ := cutLevel(lines[len(lines)-1])
		reasons = []string{text}
	}
	if len(reasons) == 0 {
		return "slurmctld said nothing"
	}
	return strings.Join(reasons[max(0, len(reasons)-maxReasonLines):], "; ")
}

// cutLevel returns a line without the level of the message, and whether it is an error.
func cutLevel(line string) (string, bool) {
	for _, level := range []string{"fatal: ", "error: "} {
		if text, ok := strings.CutPrefix(line, level); ok {
			return text, true
		}
	}
	return line, false
}

// linePrefix matches what stands before a message: the name of the program and a time.
var linePrefix = regexp.MustCompile(`^(slurmctld: )?(\[[^]]*\] )?`)

// logLines returns the messages of a log.
func logLines(log string) []string {
	var out []string
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(linePrefix.ReplaceAllString(line, "")); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// isUninformative reports whether an error says only that there was another one, or is of the trial
// itself: its state is empty.
func isUninformative(text string) bool {
	for _, part := range []string{"Unable to process configuration file", "Could not open", "NOTE: Trying backup",
		"This host is not configured", "not running a supported accounting_storage plugin"} {
		if strings.Contains(text, part) && !strings.Contains(text, "slurmctld host") {
			return true
		}
	}
	return false
}
