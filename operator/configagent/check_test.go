package configagent

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestCheck runs trials with a program that stands for slurmctld.
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, script, conf string
		// gres is gres.conf.
		gres string
		// want is a part of the error; empty means accepted. refused expects a *RefusedError.
		want    string
		refused bool
	}{
		{"it serves", `echo "slurmctld: Running as primary controller" >&2; exec sleep 60`, "TreeWidth=1", "", "", false},
		{"it ends after it has said that it runs", `echo "slurmctld: Running as primary controller" >&2; sleep 0.3
			echo "slurmctld: fatal: failed to initialize mcs plugin" >&2; exit 1`, "MCSPlugin=mcs/nothing", "",
			"failed to initialize mcs plugin (slurm.conf, line 1: MCSPlugin=mcs/nothing)", true},
		{"it ends", `echo "slurmctld: fatal: no: $3" >&2; exit 1`, "TreeWidth=1", "", "no: /etc/slurm/slurm.conf",
			true},
		{"it ends without a word", `exit 1`, "TreeWidth=1", "", "exit status 1): slurmctld said nothing", false},
		{"it is killed", `echo "slurmctld: error: x" >&2; kill -9 $$`, "TreeWidth=1", "", "signal: killed): x", false},
		{"its port is taken", `echo "slurmctld: error: bind: Address already in use" >&2
			echo "slurmctld: fatal: no port" >&2; exit 1`, "TreeWidth=1", "", "Address already in use; no port", false},
		{"it hangs", `echo "cannot stat file x" >&2; exec sleep 60`, "TreeWidth=1", "",
			"slurmctld does not start within 5s: cannot stat file x", false},
		{"it reads a key of the trial", `test -s "$(sed -n 's/.*jwt_key=//p' "$3")" &&
			echo "slurmctld: Running as primary controller" >&2; exec sleep 60`,
			"AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key", "", "", false},
		{"a script is missing", "", "Prolog=a.sh", "", "slurm.conf, line 1: Prolog=a.sh: there is no file a.sh",
			true},
		{"a node needs gres.conf", `if grep -q State=CLOUD "$3" && grep -q Nonsense "$(dirname "$3")"/gres.conf
			then echo "slurmctld: error: unrecognized: Nonsense" >&2; echo "slurmctld: fatal: error reading x" >&2; exit 1; fi
			echo "slurmctld: Running as primary controller" >&2; exec sleep 60`, "TreeWidth=1", "Name=gpu\nNonsense=1",
			"Nonsense; error reading x (gres.conf, line 2: Nonsense=1)", true},
		{"gres.conf is good", `test ! -e "$(dirname "$(dirname "$3")")"/state/x && : >"$(dirname "$(dirname "$3")")"/state/x &&
			echo "slurmctld: Running as primary controller" >&2; exec sleep 60`, "TreeWidth=1", "Name=gpu", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := filepath.Join(dir, "slurmctld")
			if err := process.WriteProgram(program, []byte("#!/bin/sh\n"+tc.script+"\n")); err != nil {
				t.Fatal(err)
			}
			checker := Checker{Daemon: trial.Slurmctld(), Program: program, TempDir: dir, Timeout: 5 * time.Second}
			err := checker.Check(t.Context(), Files{"slurm.conf": {[]byte(tc.conf), 0o555},
				"gres.conf": {[]byte(tc.gres), 0o555}, "jwt_hs256.key": {[]byte("key"), 0o440}})
			var refused *RefusedError
			if (err == nil) != (tc.want == "") || errors.As(err, &refused) != tc.refused ||
				err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v (%T), want %q", err, err, tc.want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "trial-*")); len(left) > 0 || err != nil {
				t.Errorf("the trial leaves %v, %v", left, err)
			}
		})
	}
}

// TestAnInterruptedCheckIsNoRefusal: it is unknown whether the files are good.
func TestAnInterruptedCheckIsNoRefusal(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "slurmctld")
	if err := process.WriteProgram(program, []byte("#!/bin/sh\nexec sleep 60\n")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	err := Checker{Daemon: trial.Slurmctld(), Program: program, TempDir: dir, Timeout: time.Minute}.Check(ctx, Files{"slurm.conf": {}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	err = Checker{Daemon: trial.Slurmctld(), Program: filepath.Join(dir, "gone"), TempDir: dir, Timeout: time.Minute}.Check(t.Context(),
		Files{"slurm.conf": {}})
	var refused *RefusedError
	if err == nil || errors.As(err, &refused) {
		t.Errorf("without slurmctld the error is %v", err)
	}
}
