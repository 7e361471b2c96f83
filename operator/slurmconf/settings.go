package slurmconf

import "strings"

// Setting is one line of a configuration file such as slurm.conf: an option, a record such as that
// of a partition, or an Include.
type Setting struct {
	// Name is the name of the line's first option as written, or Include.
	Name string
	// Value is the value of that option, without quotes and escapes.
	Value string
	// Text is the line without comment, surrounding space and continuations.
	Text string
	// Line is the number of the line, from 1. Of a continued line it is that of the first part.
	Line int
}

// ParseSettings parses the text of a configuration file. Comments and empty lines have no setting.
// A line that Slurm would refuse is returned with what can be read of it.
//
// A backslash escapes the next character. A hash begins a comment even in quotes, unless it is
// escaped; a backslash at the end of a line joins it with the next one (docs/development/slurm.md,
// measured).
func ParseSettings(text string) []Setting {
	var out []Setting
	begun := 0 // the line in which the current one began, or 0
	var joined strings.Builder
	number := 0
	flush := func() {
		if s, ok := parseSetting(joined.String()); ok {
			s.Line = begun
			out = append(out, s)
		}
		joined.Reset()
		begun = 0
	}
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if begun == 0 {
			begun = number
		}
		line = stripComment(strings.TrimSuffix(line, "\r"))
		if endsEscaping(line) {
			joined.WriteString(line[:len(line)-1])
			continue
		}
		joined.WriteString(line)
		flush()
	}
	flush()
	return out
}

// stripComment returns a line up to the first hash that is not escaped.
func stripComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && !endsEscaping(line[:i]) {
			return line[:i]
		}
	}
	return line
}

// endsEscaping reports whether the last character of a text is a backslash that is not escaped.
func endsEscaping(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// removeEscapes returns a line without its escaping backslashes.
func removeEscapes(line string) string {
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && i+1 < len(line) {
			i++
		}
		out.WriteByte(line[i])
	}
	return out.String()
}

// spaces are the bytes that separate words. Slurm takes no others of Unicode's for space.
const spaces = " \t\v\f\r"

// parseSetting parses one joined line, and reports whether it contains a setting.
func parseSetting(line string) (Setting, bool) {
	line = strings.Trim(line, spaces)
	if line == "" {
		return Setting{}, false
	}
	s := Setting{Text: line}
	line = removeEscapes(line)
	name, value, hasValue := strings.Cut(line, "=")
	if !hasValue { // Include has no sign
		name, value, _ = strings.Cut(line, " ")
	}
	s.Name, s.Value = strings.Trim(name, spaces), strings.Trim(value, spaces)
	if quoted, ok := strings.CutPrefix(s.Value, `"`); ok {
		s.Value, _, _ = strings.Cut(quoted, `"`)
	} else if end := strings.IndexAny(s.Value, spaces); end >= 0 {
		s.Value = s.Value[:end]
	}
	return s, true
}

// key distinguishes a setting from the others of its file: the name without regard to case and, of a
// record, its own name.
func (s Setting) key() string {
	key := strings.ToLower(s.Name)
	if recordNames[key] {
		key += "=" + s.Value
	}
	return key
}

// recordNames are the options, in lower case, that begin a record with a name of its own, or that
// take effect each time they are given.
var recordNames = map[string]bool{
	"nodename": true, "partitionname": true, "nodeset": true, "downnodes": true, "include": true,
	"slurmctldhost": true, "prolog": true, "epilog": true, "prologslurmctld": true, "epilogslurmctld": true,
}
