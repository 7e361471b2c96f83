package slurmconf

import (
	"regexp"
	"strings"
)

// Setting is one line of a configuration file such as slurm.conf: an option, a record such as a partition's,
// or an Include.
type Setting struct {
	// Name is the name of the line's first option as written, or Include.
	Name string
	// Value is the value of that option, without quotes and escapes.
	Value string
	// Text is the line without comment, surrounding space and continuations.
	Text string
	// Line is the number of the line, from 1. For a continued line it is the number of the first part.
	Line int
	// File is the name of the included file with the line (ParseFiles), or empty for the file itself.
	File string
}

// Field is one option of a line.
type Field struct{ Name, Value string }

// ParseSettings parses the text of a configuration file as Slurm does. Comments and empty lines have no
// setting. If Slurm would refuse a line, its readable part is returned.
//
// A backslash escapes the next character. A hash begins a comment even in quotes, unless it is
// escaped; a backslash at the end of a line joins it with the next one, also before space or a comment.
// The operators +=, -=, *= and /= mean = (docs/development/slurm.md, measured).
func ParseSettings(text string) []Setting {
	var out []Setting
	begun := 0 // the first line of the current one, or 0
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
		line = stripComment(line)
		if trimmed := strings.TrimRight(line, spaces); endsEscaping(trimmed) {
			joined.WriteString(trimmed[:len(trimmed)-1])
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
	for endsEscaping(line) { // an escaped space at the end, which would continue the line
		line = strings.TrimRight(line[:len(line)-1], spaces)
	}
	if line == "" {
		return Setting{}, false
	}
	s := Setting{Text: line}
	plain := removeEscapes(line)
	if name, value, ok := cutInclude(plain); ok {
		s.Name, s.Value = name, value
		return s, true
	}
	if field, _, ok := cutField(plain); ok {
		s.Name, s.Value = field.Name, field.Value
		return s, true
	}
	// Slurm refuses the line.
	name, _, _ := strings.Cut(plain, "=")
	s.Name = strings.TrimRight(strings.Trim(name, spaces), "-+*/"+spaces)
	return s, true
}

// cutInclude returns the word and the file of an Include, and reports whether the line is an Include.
func cutInclude(line string) (word, file string, ok bool) {
	const include = "include"
	if len(line) <= len(include) || !strings.EqualFold(line[:len(include)], include) ||
		!strings.ContainsRune(spaces, rune(line[len(include)])) {
		return "", "", false
	}
	file = strings.Trim(line[len(include):], spaces)
	if end := strings.IndexAny(file, spaces); end >= 0 {
		file = file[:end]
	}
	return line[:len(include)], file, true
}

// fieldPattern is the pattern of Slurm's parser: a name, an operator, and a value that may be in quotes.
var fieldPattern = regexp.MustCompilePOSIX(
	`^[ \t\v\f\r]*([[:alnum:]_.]+)[ \t\v\f\r]*[-*+/]?=[ \t\v\f\r]*("[^"]*"|[^ \t\v\f\r]+)([ \t\v\f\r]|$)`)

// cutField cuts the first option off a line without escapes, and reports whether the line has one.
func cutField(line string) (field Field, rest string, ok bool) {
	m := fieldPattern.FindStringSubmatchIndex(line)
	if m == nil {
		return Field{}, line, false
	}
	value := line[m[4]:m[5]]
	if len(value) > 1 && value[0] == '"' && strings.Index(value[1:], `"`) == len(value)-2 {
		value = value[1 : len(value)-1]
	}
	return Field{line[m[2]:m[3]], value}, line[m[1]:], true
}

// Fields returns the options of the line, including the first one, without quotes and escapes. Of an Include,
// and of a line that Slurm refuses, it returns the options before the first word that is not an option.
func (s Setting) Fields() []Field {
	var out []Field
	rest := removeEscapes(s.Text)
	for {
		field, after, ok := cutField(rest)
		if !ok {
			return out
		}
		out, rest = append(out, field), after
	}
}

// IsOneOption reports whether the line consists of one option.
func (s Setting) IsOneOption() bool {
	_, rest, ok := cutField(removeEscapes(s.Text))
	return ok && strings.Trim(rest, spaces) == ""
}

// IsInclude reports whether the setting includes a file, whose name is Value.
func (s Setting) IsInclude() bool {
	return strings.EqualFold(s.Name, "include") && !strings.Contains(s.Text, "=")
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

// recordNames are the options, in lower case, that begin a record with its own name, or that take effect each
// time they are set.
var recordNames = map[string]bool{
	"nodename": true, "partitionname": true, "nodeset": true, "downnodes": true, "include": true,
	"slurmctldhost": true, "prolog": true, "epilog": true, "prologslurmctld": true, "epilogslurmctld": true,
	"poweraction": true, "frontendname": true,
}
