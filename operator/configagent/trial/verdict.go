package trial

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Verdict is the result of a trial's log.
type Verdict int

// The verdicts.
const (
	// Undecided is of a daemon that is still starting.
	Undecided Verdict = iota
	// Accepted: the daemon read its configuration and continues.
	Accepted
	// Refused: the daemon ended because of its configuration.
	Refused
	// Impeded: the daemon ended because of its surroundings, such as a full disk. The configuration is undecided.
	Impeded
)

// impediments are parts of errors that come from the surroundings of a trial: texts of strerror(3) and dlopen(3), and
// slurmctld's own text about the folder of the trial's state. slurmctld's consequences, such as a plugin that could not be
// loaded, follow such an error.
var impediments = []string{"Address already in use", "No space left on device", "Disk quota exceeded",
	"Cannot allocate memory", "Resource temporarily unavailable", "Too many open files", "Input/output error",
	"Read-only file system", "failed to map segment from shared object", "Incorrect permissions on state save loc",
	"Unable to listen to file descriptors"}

// nameImpediments are texts of gai_strerror(3). slurmctld continues after most of them, so a following error has another cause.
var nameImpediments = []string{"Temporary failure in name resolution", "Name or service not known",
	"No address associated with hostname"}

// isImpeded reports whether a fatal error comes from the surroundings of the trial. before are the errors directly before it.
func isImpeded(before []string, fatal string) bool {
	all := append(before, fatal)
	return containsAny(all, impediments) || containsAny(all[max(0, len(all)-2):], nameImpediments)
}

// containsAny reports whether a line contains a text.
func containsAny(lines, texts []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) })
	})
}

// maxReasonLines is how many lines of a log explain a refusal.
const maxReasonLines = 4

// ReadLog returns the verdict of a trial's log and, if the daemon ends, the lines with the reason, in one line.
func (d Daemon) ReadLog(log string) (Verdict, string) {
	lines := logLines(log)
	var before []string
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "error: "):
			before = append(before, line)
		case !strings.HasPrefix(line, "fatal: "):
			before = nil
		case isImpeded(before, line):
			return Impeded, d.Explain(log)
		default:
			return Refused, d.Explain(log)
		}
	}
	if strings.Contains(log, d.acceptedText) {
		return Accepted, ""
	}
	return Undecided, ""
}

// Explain returns the lines of a log with the reason why the daemon does not start: its last errors, or its last line without
// errors.
func (d Daemon) Explain(log string) string {
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
		return d.Name + " said nothing"
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

// linePrefix matches the beginning of a line before the message: the name of the program and a time.
var linePrefix = regexp.MustCompile(`^(slurmctld: |slurmdbd: |scontrol: )?(\[[^]]*\] )?`)

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

// uninformative are parts of errors that only refer to another error, or come from the trial itself: its state is empty, and
// its image sends no mail.
var uninformative = []string{"Unable to process configuration file", "Could not open/read/parse slurmdbd.conf",
	"mysql_real_connect failed", "The database must be up", "Could not open", "NOTE: Trying backup",
	"not running a supported accounting_storage plugin", "Configured MailProg is invalid",
	"specified more than once, latest value used", "default partition not set"}

func isUninformative(text string) bool {
	return slices.ContainsFunc(uninformative, func(part string) bool { return strings.Contains(text, part) })
}

// hasLine matches a reason that names a line itself.
var hasLine = regexp.MustCompile(`\bline \d+`)

// word matches the parts of a configuration line that a reason may quote.
var word = regexp.MustCompile(`[A-Za-z_][\w.-]+|"[^"]+"`)

// Locate adds to a reason the matching line of the configuration file with the given name and text. Daemons identify most lines
// only by their fault. So Locate picks the line that shares the most words with the reason, and the last of equals: the user's
// lines follow the operator's.
func Locate(name, text, reason string) string {
	if hasLine.MatchString(reason) {
		return reason
	}
	said := map[string]bool{}
	for _, w := range word.FindAllString(reason, -1) {
		said[strings.ToLower(strings.Trim(w, `"`))] = true
	}
	most := 0
	var found slurmconf.Setting
	for _, setting := range slurmconf.ParseSettings(text) {
		if isPassword(setting) {
			continue
		}
		count := 0
		for _, w := range word.FindAllString(setting.Text, -1) {
			if said[strings.ToLower(strings.Trim(w, `"`))] {
				count++
			}
		}
		if count > 0 && count >= most {
			most, found = count, setting
		}
	}
	if most == 0 {
		return reason
	}
	return fmt.Sprintf("%s (%s, line %d: %s)", reason, name, found.Line, found.Text)
}
