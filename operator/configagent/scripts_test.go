package configagent

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

func TestCheckScripts(t *testing.T) {
	files := Files{}
	for name, text := range map[string]string{"good.sh": "#!/bin/sh\n", "program": "\x7fELF\r\n", "windows.sh": "#!/bin/sh\r\n",
		"mixed.sh": "#!/bin/sh\nexit 0\r\n", "plain.sh": "echo\n", "empty.sh": "", "more.conf": "Epilog=plain.sh\n",
		"bom.sh": "\xef\xbb\xbf#!/bin/sh\n", "relative.sh": "#!sh\n"} {
		files[name] = File{[]byte(text), 0o555}
	}
	for _, tc := range []struct{ conf, want string }{
		{"Prolog=good.sh\nEpilog=/etc/slurm/program\nHealthCheckProgram=good.sh -x", ""},
		{"Prolog=/opt/plain.sh\nTaskProlog=missing.sh", ""},
		{"\nProlog=windows.sh", "slurm.conf, line 2: Prolog=windows.sh: windows.sh has the line ends of Windows"},
		{"Epilog=mixed.sh", "mixed.sh has the line ends of Windows"},
		{"PrologSlurmctld=plain.sh", "plain.sh does not begin with #!"},
		{"RebootProgram=/etc/slurm/empty.sh", "empty.sh does not begin with #!"},
		{"TaskProlog=bom.sh", "bom.sh does not begin with #!"},
		{"Include more.conf", "Epilog=plain.sh: plain.sh does not begin with #!"},
		{"Prolog=good.sh,plain.sh", "plain.sh does not begin"},
		{"Prolog=*in*.sh", "plain.sh does not begin"},
		{"HealthCheckProgram=plain.sh -x", "plain.sh does not begin"},
		{"Prolog=relative.sh", "relative.sh names no interpreter with its whole path"},
	} {
		files["slurm.conf"] = File{[]byte(tc.conf), 0o555}
		err := checkScripts(files)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("of %q the error is %v, want %q", tc.conf, err, tc.want)
		}
	}
}

// TestScriptFaultAgreesWithLinux executes scripts.
func TestScriptFaultAgreesWithLinux(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name, text string
		runs       bool
	}{
		{"as it should be", "#!/bin/sh\nexit 0\n", true},
		{"blanks before the interpreter", "#! \t/bin/sh\nexit 0\n", true},
		{"an argument", "#!/bin/sh -e\nexit 0\n", true},
		{"nothing but the first line", "#!/bin/sh", true},
		{"long arguments", "#!/bin/sh -" + strings.Repeat("e", 300) + "\nexit 0\n", true},
		{"no interpreter", "#!\nexit 0\n", false},
		{"blanks for an interpreter", "#! \t\nexit 0\n", false},
		{"an interpreter without a path", "#!sh\nexit 0\n", false},
		{"an interpreter below the working directory", "#!bin/sh\nexit 0\n", false},
		{"line ends of old Macs", "#!/bin/sh\rexit 0\r", false},
		{"line ends of Windows", "#!/bin/sh\r\nexit 0\r\n", false},
		{"a zero byte", "#!/bin/sh\x00\nexit 0\n", true},
		{"an interpreter with a long path", "#!/" + strings.Repeat("./", 200) + "bin/sh\nexit 0\n", false},
		{"an interpreter with the longest path", "#!" + strings.Repeat("/", 246) + "/bin/sh\nexit 0\n", true},
		{"nothing", "", false},
	} {
		path := filepath.Join(dir, "script")
		if err := process.WriteProgram(path, []byte(tc.text)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), path)
		cmd.Dir = dir
		if err := cmd.Run(); (err == nil) != tc.runs {
			t.Errorf("%s: Linux says %v, want it to run: %t", tc.name, err, tc.runs)
		}
		if fault := scriptFault([]byte(tc.text)); (fault == "") != tc.runs {
			t.Errorf("%s: the fault is %q, want it to run: %t", tc.name, fault, tc.runs)
		}
	}
}
