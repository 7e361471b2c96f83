package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/problem"
)

func TestAccountsApplied(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	says := func(state configagent.AccountsState, revision, message string) agentstatus.Observation {
		s := &configagent.AccountsStatus{Revision: revision, State: state, Message: message, At: at}
		return agentstatus.Observation{Replicas: 1, Agents: []agentstatus.Agent{{Status: configagent.Status{Accounts: s}}}}
	}
	broken := &problem.Error{Reason: v1beta1.ReasonReferenceNotFound, Message: "no ConfigMap"}
	for _, tc := range []struct {
		name        string
		observation agentstatus.Observation
		problem     *problem.Error
		want        string
		isDecided   bool
	}{
		{"no pod", agentstatus.Observation{}, nil, "Unknown NotObserved there is no slurmdbd yet", false},
		{"no answer", agentstatus.Observation{Agents: []agentstatus.Agent{{Pod: "p", Err: errors.New("no")}}}, nil,
			"Unknown NotObserved the agent of pod p", false},
		{"an agent that has not seen them", agentstatus.Observation{Agents: []agentstatus.Agent{{}}}, nil,
			"False Applying revision 2", false},
		{"earlier ones", says(configagent.AccountsApplied, "1", ""), nil, "False Applying revision 2", false},
		{"applied", says(configagent.AccountsApplied, "2", "adds x"), nil,
			"True Applied revision 2 is applied since 2026-11-25T12:00:00Z: adds x", true},
		{"applied without a change", says(configagent.AccountsApplied, "2", ""), nil,
			"True Applied revision 2 is applied since 2026-11-25T12:00:00Z: nothing was to be changed", true},
		{"tried", says(configagent.AccountsTried, "2", "adds x"), nil,
			"False DryRun revision 2 is not applied because of mode DryRun: adds x", true},
		{"refused", says(configagent.AccountsRefused, "2", "a.cfg: line 2"), nil,
			"False Refused revision 2 is not applied: a.cfg: line 2", true},
		{"waiting", says(configagent.AccountsWaiting, "2", "no cluster"), nil,
			"Unknown WaitingForSlurmdbd revision 2 is not applied yet: no cluster", false},
		{"without their ConfigMap", says(configagent.AccountsApplied, "1", ""), broken, "False ReferenceNotFound no", true},
		{"without the objects", agentstatus.Observation{Problem: broken}, nil, "False ReferenceNotFound no", false},
	} {
		tc.observation.Daemon = "slurmdbd"
		wanted := Accounts{Revision: "2", Problem: tc.problem}
		if tc.problem != nil {
			wanted.Revision = ""
		}
		a := &v1beta1.Accounting{}
		a.Spec.StorageConfig, a.Spec.Accounts = &v1beta1.StorageConfig{Host: "db"}, &v1beta1.AccountsSpec{}
		c := meta.FindStatusCondition(Of(at, a, tc.observation, wanted).Conditions, v1beta1.ConditionAccountsApplied)
		if got := string(c.Status) + " " + c.Reason + " " + c.Message; !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %s", tc.name, got)
		}
		if isDecided := wanted.RequeueAfter(tc.observation) > accountsInterval; isDecided != tc.isDecided &&
			tc.observation.IsSettled() {
			t.Errorf("%s: the operator looks again after %v", tc.name, wanted.RequeueAfter(tc.observation))
		}
	}
}

// TestTheConditionGoesWithTheAccounts, and does not come to an external slurmdbd.
func TestTheConditionGoesWithTheAccounts(t *testing.T) {
	a := &v1beta1.Accounting{}
	a.Spec.StorageConfig, a.Spec.Accounts = &v1beta1.StorageConfig{Host: "db"}, &v1beta1.AccountsSpec{}
	a.Status = Of(time.Now(), a, agentstatus.Observation{}, Accounts{Revision: "1"})
	if meta.FindStatusCondition(a.Status.Conditions, v1beta1.ConditionAccountsApplied) == nil {
		t.Fatal("there is none")
	}
	external := a.DeepCopy()
	external.Spec.External, external.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "db"}
	a.Spec.Accounts = nil
	for _, a := range []*v1beta1.Accounting{a, external} {
		next := Of(time.Now(), a, agentstatus.Observation{}, Accounts{})
		if c := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionAccountsApplied); c != nil {
			t.Errorf("the condition is still %+v", c)
		}
	}
}
