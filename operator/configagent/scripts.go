package configagent

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// scriptOptions are the options of slurm.conf, in lower case, whose value is a program that Slurm executes. slurmd drains
// its node if it cannot execute a prolog, slurmctld requeues and holds the job.
var scriptOptions = []string{"prolog", "epilog", "prologslurmctld", "epilogslurmctld", "taskprolog", "taskepilog",
	"srunprolog", "srunepilog", "healthcheckprogram", "rebootprogram", "resumeprogram", "resumefailprogram",
	"suspendprogram", "unkillablestepprogram", "mailprog", "slurmctldprimaryonprog", "slurmctldprimaryoffprog"}

// checkScripts returns an error that names the first script of slurm.conf among the files that Linux does not execute.
func checkScripts(files Files) error {
	texts := files.texts(func(name string) bool { return !IsKey(name) })
	for _, setting := range slurmconf.ParseFiles(texts, texts["slurm.conf"]) {
		if !slices.Contains(scriptOptions, strings.ToLower(setting.Name)) {
			continue
		}
		for _, name := range scriptsOf(setting.Value, files) {
			if fault := scriptFault(files[name].Content); fault != "" {
				return fmt.Errorf("%s: %s: %s %s", setting.Place("slurm.conf"), setting.Text, name, fault)
			}
		}
	}
	return nil
}

// scriptsOf returns the names of the files that the value of an option names, or matches as a pattern.
func scriptsOf(value string, files Files) []string {
	var out []string
	for pattern := range strings.SplitSeq(value, ",") {
		pattern, _, _ = strings.Cut(strings.TrimSpace(pattern), " ") // arguments follow
		pattern = strings.TrimPrefix(pattern, slurmconf.Dir+"/")
		for name := range files {
			if matches, err := filepath.Match(pattern, name); matches && err == nil {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// maxInterpreter is how many bytes of the first line of a script Linux reads (execve(2)).
const maxInterpreter = 255

// scriptFault returns why Linux does not execute a file, empty if it does. Whether the interpreter exists where the script
// runs is not known here.
func scriptFault(content []byte) string {
	if bytes.HasPrefix(content, []byte("\x7fELF")) {
		return ""
	}
	rest, isScript := bytes.CutPrefix(content, []byte("#!"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	interpreter, _, _ := bytes.Cut(bytes.TrimLeft(line, " \t"), []byte(" "))
	switch {
	case !isScript:
		return "does not begin with #!, so that it cannot be executed"
	case bytes.Contains(content, []byte("\r\n")):
		return "has the line ends of Windows (CRLF): its interpreter is not found"
	case bytes.Contains(line, []byte("\r")):
		return "has a carriage return in its first line: its interpreter is not found"
	case !bytes.HasPrefix(interpreter, []byte("/")):
		return "names no interpreter with its whole path after #!"
	case len(interpreter)+len("#!") > maxInterpreter:
		return "has a longer path of its interpreter than Linux reads"
	}
	return ""
}
