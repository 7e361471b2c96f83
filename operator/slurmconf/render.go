package slurmconf

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// assignment is a line that the operator writes.
type assignment struct {
	name, value string
	// options follow the value of a record. They are written unchanged.
	options string
	// followsTheirs writes the line after the user's line with its name, if any. Slurm takes the last one.
	followsTheirs bool
}

// line returns the assignment as a line of a file. It returns an error if Slurm could not read it, or would read another value
// (docs/development/slurm.md, "The grammar of slurm.conf").
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

// quoteValue returns a value as it is written: in quotes if it contains space, with escaped hashes and backslashes.
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

// checkOneLine checks that a user's text stays in its line.
func checkOneLine(text string) error {
	if strings.ContainsFunc(text, isControl) {
		return fmt.Errorf("line breaks and other control characters are not allowed")
	}
	if endsEscaping(strings.TrimRight(stripComment(text), spaces)) {
		return fmt.Errorf("a backslash at the end is not allowed: it would join the next line")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// lists are the options, in lower case, whose value is a list from both the operator and the user. Slurm would take only the last
// line.
var lists = map[string]bool{
	"authaltparameters": true, "authalttypes": true, "authinfo": true, "prologflags": true, "reconfigflags": true,
	"slurmctldparameters": true,
}

// userText is the text that the user adds to a file.
type userText struct {
	// extra is the text, and files are the files that it may include, by name.
	extra string
	files map[string]string
	// reserved are the options, in lower case, that must agree with the operator's.
	reserved []string
}

// settings returns the settings of the text and of its included files, by their keys. It returns an error if the
// settings cannot be determined, or if the text sets what the operator's objects depend on.
func (u userText) settings(ours []assignment) (map[string]Setting, error) {
	if strings.Contains(u.extra, "\x00") {
		return nil, fmt.Errorf("extraConf must not contain a NUL character: Slurm ignores the rest of such a line")
	}
	all := ParseFiles(u.files, u.extra)
	if err := errors.Join(CheckIncludes(all, u.files, "extraConf"), checkNULs(all, u.files)); err != nil {
		return nil, err
	}
	out := map[string]Setting{}
	for _, s := range all {
		out[s.key()] = s // Slurm takes the last one
		name := strings.ToLower(s.Name)
		switch {
		case slices.Contains(u.reserved, name) && !agrees(ours, s) && s.File == "":
			return nil, fmt.Errorf("extraConf must not set %s (line %d): the operator's objects depend on it", s.Name, s.Line)
		case slices.Contains(u.reserved, name) && !agrees(ours, s):
			return nil, fmt.Errorf("%s must not set %s: the operator's objects depend on it", s.Place("extraConf"), s.Name)
		case writesLog(name, all) && isOwnFile(s.Value):
			return nil, fmt.Errorf("%s must not set %s to %s: the log would replace other files", s.Place("extraConf"), s.Name, s.Value)
		case s.File != "" && lists[name]:
			return nil, fmt.Errorf("%s must not set %s: set it in extraConf, where the operator adds its values", s.Place("extraConf"),
				s.Name)
		}
	}
	return out, nil
}

// logOptions are the options, in lower case, that name a log of slurmctld or slurmdbd.
var logOptions = []string{"slurmctldlogfile", "slurmschedlogfile", "logfile"}

// writesLog reports whether an option, in lower case, names a file that slurmctld or slurmdbd writes with these settings. JobCompLoc
// does so only with jobcomp/filetxt: otherwise it is a script, a file that slurmctld reads, or a database.
func writesLog(option string, settings []Setting) bool {
	if option != "jobcomploc" {
		return slices.Contains(logOptions, option)
	}
	jobCompType := ""
	for _, s := range settings {
		if strings.EqualFold(s.Name, "JobCompType") {
			jobCompType = s.Value
		}
	}
	return strings.HasSuffix(strings.ToLower(jobCompType), "filetxt")
}

// isOwnFile reports whether slurmctld or slurmdbd may use a path for its configuration, its state or its process.
func isOwnFile(path string) bool {
	path = filepath.Clean(path)
	if rest, isVarRun := strings.CutPrefix(path, "/var/run/"); isVarRun { // a link
		path = "/run/" + rest
	}
	isIn := func(dir string) bool { return strings.HasPrefix(path+"/", dir+"/") }
	isLog := slices.Contains([]string{".log", ".txt"}, filepath.Ext(path))
	return isIn(Dir) || isIn(RunDir) || isIn(SlurmdbdRunDir) || isIn("/proc") || isIn(StateDir) && !isLog
}

// renderFile returns the lines of the operator, the user's unchanged text and, at the end, the lists of both. Where the user's text
// sets an option or a record, ours is left out.
func renderFile(ours []assignment, user userText) (string, error) {
	theirs, err := user.settings(ours)
	if err != nil {
		return "", err
	}
	var head, tail strings.Builder
	for _, a := range ours {
		to := &head
		if s, has := theirs[Setting{Name: a.name, Value: a.value}.key()]; has {
			switch {
			case lists[strings.ToLower(a.name)]:
				a.value = strings.Join(MergeLists(SplitList(a.value), SplitList(s.Value)), ",")
			case !a.followsTheirs:
				continue
			}
			to = &tail
		}
		line, err := a.line()
		if err != nil {
			return "", err
		}
		to.WriteString(line + "\n")
	}
	if extra := strings.TrimRight(user.extra, "\n"); extra != "" {
		head.WriteString("\n# spec.extraConf\n" + extra + "\n")
	}
	if tail.Len() > 0 {
		// The empty line takes a backslash at the end of the user's text.
		head.WriteString("\n# Lists of the operator and of spec.extraConf\n" + tail.String())
	}
	return head.String(), nil
}

// agrees reports whether our assignment with a setting's name has the same value.
func agrees(ours []assignment, s Setting) bool {
	return slices.ContainsFunc(ours,
		func(a assignment) bool { return strings.EqualFold(a.name, s.Name) && a.value == s.Value })
}
