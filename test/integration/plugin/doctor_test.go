//go:build e2e

package plugin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// finding is one finding of kubectl slurm doctor, as JSON.
type finding struct {
	Code                   string
	Object                 struct{ Kind, Namespace, Name string }
	Problem, Cure, Command string
}

// runDoctor runs kubectl slurm doctor and returns its findings.
func (r *env) runDoctor(t *testing.T, flags string) (findings []finding, status int) {
	t.Helper()
	a := r.runShell(t, "kubectl slurm doctor -o json "+flags)
	var report struct{ Findings []finding }
	if err := json.Unmarshal([]byte(a.out), &report); err != nil {
		t.Fatalf("exit status %d: %v: %s%s", a.status, err, a.out, a.err)
	}
	return report.Findings, a.status
}

// awaitFinding waits until the doctor reports a fault of an object, and returns the finding.
func (r *env) awaitFinding(t *testing.T, flags, code, object string) finding {
	t.Helper()
	var out finding
	process.Await(t, func() error {
		findings, status := r.runDoctor(t, flags)
		for _, f := range findings {
			if f.Code == code && (object == "" || f.Object.Name == object) {
				out = f
				if status != 1 || f.Problem == "" || f.Cure == "" {
					t.Errorf("exit status %d, finding %+v", status, f)
				}
				return nil
			}
		}
		return fmt.Errorf("no finding %s for %s in %+v", code, object, findings)
	})
	t.Logf("%s: %s\n  cure: %s\n  %s", out.Code, out.Problem, out.Cure, out.Command)
	return out
}

// awaitCured waits until the doctor no longer reports the finding.
func (r *env) awaitCured(t *testing.T, flags string, was finding) {
	t.Helper()
	process.Await(t, func() error {
		findings, _ := r.runDoctor(t, flags)
		for _, f := range findings {
			if f.Code == was.Code && f.Object == was.Object {
				return fmt.Errorf("%s is still reported: %s", f.Code, f.Problem)
			}
		}
		return nil
	})
}

// mustRun runs a command line and fails the test if the command fails.
func (r *env) mustRun(t *testing.T, line string) {
	t.Helper()
	if a := r.runShell(t, line); a.status != 0 {
		t.Fatalf("%s: exit status %d: %s%s", line, a.status, a.out, a.err)
	}
}

// fault is a misconfiguration that a test produces, lets the doctor find, and cures.
type fault struct {
	name string
	// produce produces the fault.
	produce func(t *testing.T)
	// flags are the doctor's flags; empty means -n hpc.
	flags, code, object string
	// cure cures the fault; nil runs the command that the finding suggests.
	cure func(t *testing.T, f finding)
}

func (r *env) testFaults(t *testing.T, faults []fault) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			begin := time.Now()
			flags := f.flags
			if flags == "" {
				flags = "-n hpc"
			}
			f.produce(t)
			found := r.awaitFinding(t, flags, f.code, f.object)
			if f.cure == nil {
				r.mustRun(t, found.Command)
			} else {
				f.cure(t, found)
			}
			r.awaitCured(t, flags, found)
			t.Logf("cured after %v", time.Since(begin).Round(time.Millisecond))
		})
	}
}

// testHealthy checks that the doctor finds no problem in a healthy cluster.
func (r *env) testHealthy(t *testing.T) {
	process.Await(t, func() error {
		a := r.runShell(t, "kubectl slurm doctor -A")
		if a.status != 0 || a.out != "No faults were found.\n" {
			return fmt.Errorf("exit status %d: %s%s", a.status, a.out, a.err)
		}
		return nil
	})
}

// testUnreachable checks that the doctor fails when no API server answers.
func (r *env) testUnreachable(t *testing.T) {
	for _, what := range []string{"doctor", "top nodesets", "explain nodeset gpu"} {
		a := r.runShell(t, "kubectl-slurm "+what+" --server=http://127.0.0.1:1")
		if a.status != 2 || !strings.Contains(a.err, "connection refused") || a.out != "" {
			t.Errorf("%s: exit status %d: %s%s", what, a.status, a.out, a.err)
		}
	}
}

// testMissingRights runs the doctor as a user without any rights.
func (r *env) testMissingRights(t *testing.T) {
	nobody := "-n hpc --as=nobody"
	a := r.runShell(t, "kubectl slurm top nodesets "+nobody)
	if a.status != 2 || !strings.Contains(a.err, "request the role view") {
		t.Errorf("exit status %d: %s%s", a.status, a.out, a.err)
	}
	a = r.runShell(t, "kubectl slurm top jobs "+nobody)
	if a.status != 2 || !strings.Contains(a.err, "request the role slurm-view") {
		t.Errorf("exit status %d: %s%s", a.status, a.out, a.err)
	}
	r.testFaults(t, []fault{
		{"no role", func(*testing.T) {}, nobody, "MissingRight", "nobody", func(t *testing.T, f finding) {
			r.mustRun(t, f.Command)
			process.Await(t, func() error {
				findings, _ := r.runDoctor(t, nobody)
				if len(findings) == 1 && strings.Contains(findings[0].Command, "slurm-view") {
					r.mustRun(t, findings[0].Command)
					return nil
				}
				return fmt.Errorf("found %+v", findings)
			})
		}},
	})
	r.compareGolden(t, "doctor-nobody", "kubectl slurm doctor "+nobody)
}
