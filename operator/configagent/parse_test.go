package configagent

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestCheckParsesTheUnchangedFiles runs a program that stands for scontrol before the trial, which would accept everything.
func TestCheckParsesTheUnchangedFiles(t *testing.T) {
	const conf = "MailDomain=a\nSlurmdTimeout=abc\nInclude /etc/slurm/own.conf\n"
	for _, tc := range []struct{ name, scontrol, refused, failed string }{
		{"it parses", "exit 0", "", ""},
		{"it finds the options that a trial replaces", `grep -q SlurmdTimeout=abc "$SLURM_CONF" && grep -q SlurmdTimeout=def "$(dirname "$SLURM_CONF")"/own.conf &&
			echo "scontrol: error: SlurmdTimeout value \"abc\" is not a valid number
scontrol: fatal: Unable to process configuration file" >&2; exit 1`,
			`SlurmdTimeout value "abc" is not a valid number (slurm.conf, line 2: SlurmdTimeout=abc)`, ""},
		{"it names a file of the trial", `echo "scontrol: fatal: $SLURM_CONF" >&2; exit 1`, "/etc/slurm/slurm.conf", ""},
		{"it quotes a key", `echo "scontrol: error: Parse error in file x line 1: \"$(cut -c3-12 "$(dirname "$SLURM_CONF")"/slurm.key)\"
scontrol: fatal: Unable to process configuration file" >&2; exit 1`, "is not shown", ""},
		{"it hangs", "exec sleep 60", "", "parsing the files of a trial"},
		{"it ends without a word", "exit 1", "", "parsing the files of a trial"},
		{"it is killed", "kill -9 $$", "", "parsing the files of a trial"},
		{"it has no memory", `echo "scontrol: error: fork: Cannot allocate memory
scontrol: fatal: Unable to process configuration file" >&2; exit 1`, "", "parsing the files of a trial"},
		{"its disk is broken", `echo "scontrol: fatal: s_p_parse_file: Input/output error" >&2; exit 1`, "",
			"parsing the files of a trial"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, script := range map[string]string{"scontrol": tc.scontrol,
				"slurmctld": `echo "slurmctld: Running as primary controller" >&2; exec sleep 60`} {
				if err := process.WriteProgram(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n")); err != nil {
					t.Fatal(err)
				}
			}
			err := Checker{Daemon: trial.Slurmctld(), Program: filepath.Join(dir, "slurmctld"), Scontrol: filepath.Join(dir, "scontrol"),
				TempDir: dir, Timeout: 5 * time.Second}.Check(t.Context(), Files{"slurm.conf": {[]byte(conf), 0o444},
				"own.conf": {[]byte("SlurmdTimeout=def\n"), 0o444}, "slurm.key": {[]byte("a secret of many bytes"), 0o400}})
			var refused *RefusedError
			isRefused := errors.As(err, &refused)
			switch {
			case tc.refused == "" && tc.failed == "" && err != nil,
				tc.refused != "" && (!isRefused || !strings.Contains(err.Error(), tc.refused)),
				tc.failed != "" && (err == nil || isRefused || !strings.Contains(err.Error(), tc.failed)):
				t.Errorf("Check() = %v, want refused %q, failed %q", err, tc.refused, tc.failed)
			}
		})
	}
}
