package accounting

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// outputs are what slurmdbd -V prints in the images of the tests.
var outputs = map[string]string{"slurm:24.11": "slurm-wlm 24.11.5", "slurm:26.05": "slurm-wlm 26.05.5"}

// newController returns a Controller that reports to the slurmdbd, of a release.
func newController(release string) *v1beta1.Controller {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}
	c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: "acct"}
	c.Status.ReleaseStatus = v1beta1.ReleaseStatus{Image: "slurmctld:1", Release: release}
	return c
}

// newOldSlurmdbd returns an env with a slurmdbd of 24.11 that runs, and with a slurmctld of a release.
func newOldSlurmdbd(t *testing.T, slurmctld string) *env {
	t.Helper()
	e := newEnv(t, newController(slurmctld))
	e.setImage("slurm:24.11")
	e.checkRelease("", "", "slurm:24.11")
	return e
}

func (e *env) setImage(image string) {
	e.Helper()
	e.change(func(s *v1beta1.AccountingSpec) { s.Slurmdbd.Raw = []byte(`{"image":"` + image + `"}`) })
}

// checkRelease reconciles while lookups are answered, and checks the condition ReleaseAllowed and the image that
// slurmdbd and the container beside it get.
func (e *env) checkRelease(reason, message, image string) {
	e.Helper()
	var c *metav1.Condition
	for range 5 {
		c = e.reconcile(v1beta1.ConditionReleaseAllowed)
		kubetest.AnswerLookups(e.T, e.store, outputs)
		kubetest.RollOut(e.T, e.store)
	}
	switch {
	case c == nil && reason != "":
		e.Errorf("there is no condition, and not %s", reason)
	case c != nil && (c.Reason != reason || !strings.Contains(c.Message, message)):
		e.Errorf("the condition is %+v, not %s %q", c, reason, message)
	}
	spec := kubetest.Get(e.T, e.store, "acct-accounting", &appsv1.StatefulSet{}).Spec.Template.Spec
	if spec.Containers[0].Image != image || spec.InitContainers[1].Image != image ||
		spec.InitContainers[0].Image != "agent:1" {
		e.Errorf("the containers are %+v and %+v", spec.Containers, spec.InitContainers)
	}
	if pods := kubetest.LookupPods(e.T, e.store); len(pods) > 0 {
		e.Errorf("there are still %d lookups", len(pods))
	}
}

func TestSlurmdbdIsUpgradedFirstAndNotBack(t *testing.T) {
	e := newOldSlurmdbd(t, "24.11")
	e.setImage("slurm:26.05")
	e.checkRelease("Allowed", "the cluster works with slurmdbd 26.05", "slurm:26.05")
	if s := kubetest.Get(t, e.store, "acct", &v1beta1.Accounting{}).Status; s.Release != "26.05" || s.NextImage != "" {
		t.Errorf("the status is %+v", s.ReleaseStatus)
	}
	e.setImage("slurm:24.11")
	e.checkRelease("Downgrade", "slurmdbd 24.11 cannot read what 26.05 has stored", "slurm:26.05")
	for _, want := range []string{"Normal ReleaseAllowed", "Warning ReleaseRefused"} {
		if got := kubetest.NextEvent(e.recorder); !strings.HasPrefix(got, want) {
			t.Errorf("the event is %q, not %q", got, want)
		}
	}
}

func TestSlurmdbdLeavesNoSlurmctldBehind(t *testing.T) {
	e := newOldSlurmdbd(t, "24.05")
	e.setImage("slurm:26.05")
	e.checkRelease("TooOld", "the slurmctld of Controller slurm, which is 24.05", "slurm:24.11")
}

// TestSlurmdbdWaitsForWhatIsNotKnown: the Controller looks it up since the Accounting asks.
func TestSlurmdbdWaitsForWhatIsNotKnown(t *testing.T) {
	e := newOldSlurmdbd(t, "")
	e.setImage("slurm:26.05")
	e.checkRelease("Unknown", "the release of the slurmctld of Controller slurm is being looked up", "slurm:24.11")
	if s := kubetest.Get(t, e.store, "acct", &v1beta1.Accounting{}).Status; s.NextImage != "slurm:26.05" {
		t.Errorf("it does not ask: %+v", s.ReleaseStatus)
	}
}

func silentAgent(context.Context, string) (configagent.Status, error) {
	return configagent.Status{}, nil
}

// TestNoLookupIsForgotten: neither if the operator is killed at any write of its beginning and the image is changed back.
func TestNoLookupIsForgotten(t *testing.T) {
	for kill := 1; kill <= 3; kill++ {
		e := newOldSlurmdbd(t, "24.11")
		e.setImage("slurm:26.05")
		e.store.Writes = 0
		e.store.Kill = func(write int) (bool, error) {
			if write >= kill {
				return false, errors.New("the operator was killed")
			}
			return true, nil
		}
		r := New(e.store, e.store, silentAgent, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "slurmdbd:1",
			AgentImage: "agent:1"})
		for range 2 {
			_, _ = r.Reconcile(t.Context(), kubetest.Request("acct"))
		}
		e.store.Kill = nil
		e.setImage("slurm:24.11")
		e.checkRelease("", "", "slurm:24.11")
	}
}

// TestAnExternalSlurmdbdHasNoLookups, also if one goes on.
func TestAnExternalSlurmdbdHasNoLookups(t *testing.T) {
	e := newOldSlurmdbd(t, "24.11")
	e.setImage("slurm:26.05")
	e.reconcile(v1beta1.ConditionReady)
	e.reconcile(v1beta1.ConditionReady)
	if pods := kubetest.LookupPods(t, e.store); len(pods) != 2 {
		t.Fatalf("there are %d lookups", len(pods))
	}
	e.change(func(s *v1beta1.AccountingSpec) {
		s.External, s.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "dbd.example.com"}
	})
	e.reconcile(v1beta1.ConditionReady)
	if pods := kubetest.LookupPods(t, e.store); len(pods) > 0 {
		t.Errorf("there are still %d lookups", len(pods))
	}
}
