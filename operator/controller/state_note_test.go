package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// stateNote returns what slurm-agent reads of the state.
func (e *env) stateNote() string {
	e.t.Helper()
	config := &corev1.ConfigMap{}
	e.get(names.ControllerConfigMap("slurm"), config)
	return config.Data[slurmconf.StateFile]
}

// TestAClaimThatIsMadeAgain: slurmctld does not start in it, unless somebody confirms it by the UID of this very claim.
func TestAClaimThatIsMadeAgain(t *testing.T) {
	claim := newClaims("", "a")[0]
	claim.UID = "uid-a"
	e := newEnv(t, &claim)
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = persistenceOn("a") })
	check := func(when string, noted bool) {
		t.Helper()
		e.reconcile()
		if got := e.stateNote(); strings.HasPrefix(got, "a\nslurmctld had its state, with all jobs, in claim a") != noted || !noted && got != "" {
			t.Errorf("%s the note is %q", when, got)
		}
	}
	check("before the first start", false)
	e.addPod()
	check("while slurmctld has no state", false)
	e.agent.StateRelease = "26.05"
	check("with a state", true)
	e.agent.StateRelease = ""
	check("without it", true)
	e.annotate(v1beta1.AnnotationStateMoved, "uid-of-another")
	check("with another claim confirmed", true)
	e.annotate(v1beta1.AnnotationStateMoved, "uid-a")
	check("with the claim confirmed", false)
	e.agent.StateRelease = "26.05"
	check("when the new slurmctld has a state", true)
	e.agent.StateRelease = ""
	check("without it again, with the claim confirmed once", true)
	if got := e.stateNote(); !strings.Contains(got, `{.metadata.uid})"-2 --overwrite`) {
		t.Errorf("it names no further confirmation: %q", got)
	}
	e.annotate(v1beta1.AnnotationStateMoved, "uid-a-2")
	check("with the claim confirmed again", false)
	e.agent.StateRelease = "26.05"
	check("with a third state", true)
	e.agent.StateRelease = ""
	check("without it", true)
	e.annotate(v1beta1.AnnotationStateMoved, "uid-a")
	check("with an older confirmation", true)
	e.agent.StateRelease = "26.05"
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = persistenceOn("b") })
	e.annotate(v1beta1.AnnotationStateMoved, "b")
	check("in another claim, where no state was seen", false)
}

// TestNoStateIsNotedWithoutPersistence: the state ends with each pod.
func TestNoStateIsNotedWithoutPersistence(t *testing.T) {
	e := newEnv(t)
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = &v1beta1.ControllerPersistence{} })
	e.reconcile()
	e.addPod()
	e.agent.StateRelease = "26.05"
	e.reconcile()
	if got := e.stateNote(); got != "" {
		t.Errorf("the note is %q", got)
	}
}
