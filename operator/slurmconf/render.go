package slurmconf

import (
	"fmt"
	"slices"
	"strings"
)

// assignment is a line that the operator writes.
type assignment struct {
	name, value string
	// options follow the value of a record. They are written as they are.
	options string
}

// line returns the assignment as it stands in a file. It fails if Slurm could not read it, or would
// read something else (docs/development/slurm.md, "The grammar of slurm.conf").
func (a assignment) line() (string, error) {
	value, err := quoteValue(a.value)
	if err != nil {
		return "", fmt.Errorf("%s %w", a.name, err)
	}
	if a.options == "" {
		return a.name + "=" + value, nil
	}
	if err := checkOneLine(a.options); err != nil {
		return "", fmt.Errorf("the options of %s=%s: %w", a.name, a.value, err)
	}
	return a.name + "=" + value + " " + a.options, nil
}

// quoteValue returns a value as it is written: in quotes if it contains space, its hashes and
// backslashes escaped.
func quoteValue(value string) (string, error) {
	switch {
	case value == "":
		return "", fmt.Errorf("has no value")
	case strings.ContainsFunc(value, isControl):
		return "", fmt.Errorf("must not contain line breaks or other control characters")
	case strings.Contains(value, `"`):
		return "", fmt.Errorf("must not contain a quotation mark: Slurm cannot read it")
	}
	value = strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(value)
	if strings.ContainsAny(value, " \t") {
		value = `"` + value + `"`
	}
	return value, nil
}

// checkOneLine checks that text of a user stays in its line.
func checkOneLine(text string) error {
	if strings.ContainsFunc(text, isControl) {
		return fmt.Errorf("line breaks and other control characters are not allowed")
	}
	if strings.HasSuffix(strings.TrimRight(text, spaces), `\`) {
		return fmt.Errorf("a backslash at the end is not allowed: it would join the next line")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// lists are the options, in lower case, whose value is a list to which the operator and the user both
// contribute. Slurm would take the last line alone.
var lists = map[string]bool{
	"authaltparameters": true, "authalttypes": true, "authinfo": true, "prologflags": true, "slurmctldparameters": true,
}

// renderFile returns the lines of the operator, the user's text as it is and, at the end, the lists
// of both. Where the user's text sets an option or a record, ours is left out, except that the
// reserved ones, in lower case, must agree.
func renderFile(ours []assignment, extra string, reserved ...string) (string, error) {
	if strings.Contains(extra, "\x00") {
		return "", fmt.Errorf("extraConf must not contain a NUL character: Slurm ignores the rest of such a line")
	}
	theirs := map[string]Setting{}
	for _, s := range ParseSettings(extra) {
		theirs[s.key()] = s // Slurm takes the last one
		if name := strings.ToLower(s.Name); slices.Contains(reserved, name) && !agrees(ours, s) {
			return "", fmt.Errorf("extraConf must not set %s (line %d): the operator's objects depend on it", s.Name, s.Line)
		}
	}
	var head, tail strings.Builder
	for _, a := range ours {
		to := &head
		if s, has := theirs[Setting{Name: a.name, Value: a.value}.key()]; has {
			if !lists[strings.ToLower(a.name)] {
				continue
			}
			a.value = strings.Join(MergeLists(SplitList(a.value), SplitList(s.Value)), ",")
			to = &tail
		}
		line, err := a.line()
		if err != nil {
			return "", err
		}
		to.WriteString(line + "\n")
	}
	if extra = strings.TrimRight(extra, "\n"); extra != "" {
		head.WriteString("\n# spec.extraConf\n" + extra + "\n")
	}
	if tail.Len() > 0 {
		head.WriteString("\n# Lists of the operator and of spec.extraConf\n" + tail.String())
	}
	return head.String(), nil
}

// agrees reports whether our assignment of a setting's name has the same value.
func agrees(ours []assignment, s Setting) bool {
	return slices.ContainsFunc(ours,
		func(a assignment) bool { return strings.EqualFold(a.name, s.Name) && a.value == s.Value })
}
