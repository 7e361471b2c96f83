package status

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/problem"
)

const (
	// accountsInterval is the interval of questions to the agent while accounts are undecided.
	accountsInterval = 2 * time.Second
	// refusedInterval is the interval of questions after the agent has refused accounts, which it tries
	// again.
	refusedInterval = 30 * time.Second
)

// Accounts is the input of the condition AccountsApplied.
type Accounts struct {
	// Revision is the revision of the accounts that the operator gave to the agent, or empty.
	Revision string
	// Problem is the reason why it could give none.
	Problem *problem.Error
}

// RequeueAfter returns when to ask the agent again, if no problem exists.
func (a Accounts) RequeueAfter(o agentstatus.Observation) time.Duration {
	s := agentAccounts(o)
	switch {
	case a.Revision == "":
	case s == nil || s.Revision != a.Revision || s.State == configagent.AccountsWaiting:
		return min(accountsInterval, o.RequeueAfter())
	case s.State == configagent.AccountsRefused:
		return min(refusedInterval, o.RequeueAfter())
	}
	return o.RequeueAfter()
}

// agentAccounts returns the agent's status of accounts, or nil.
func agentAccounts(o agentstatus.Observation) *configagent.AccountsStatus {
	if len(o.Agents) == 0 || o.Agents[0].Err != nil {
		return nil
	}
	return o.Agents[0].Status.Accounts
}

// condition returns the condition AccountsApplied.
func (a Accounts) condition(o agentstatus.Observation) metav1.Condition {
	are := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	for _, p := range []*problem.Error{a.Problem, o.Problem} {
		if p != nil {
			return are(metav1.ConditionFalse, p.Reason, "%s", p.Message)
		}
	}
	s := agentAccounts(o)
	switch {
	case len(o.Agents) == 0:
		return are(metav1.ConditionUnknown, v1beta1.ReasonNotObserved, "there is no slurmdbd yet")
	case o.Agents[0].Err != nil:
		return are(metav1.ConditionUnknown, v1beta1.ReasonNotObserved, "the agent of pod %s does not answer", o.Agents[0].Pod)
	case s == nil || s.Revision != a.Revision:
		return are(metav1.ConditionFalse, v1beta1.ReasonApplying, "revision %s is being tried and applied", a.Revision)
	}
	switch s.State {
	case configagent.AccountsApplied:
		return are(metav1.ConditionTrue, v1beta1.ReasonApplied, "revision %s is applied since %s: %s", a.Revision,
			s.At.UTC().Format(time.RFC3339), cmp.Or(s.Message, "nothing was to be changed"))
	case configagent.AccountsTried:
		return are(metav1.ConditionFalse, v1beta1.ReasonDryRun, "revision %s is not applied because of mode DryRun: %s",
			a.Revision, cmp.Or(s.Message, "nothing would change"))
	case configagent.AccountsRefused:
		return are(metav1.ConditionFalse, v1beta1.ReasonRefused, "revision %s is not applied: %s", a.Revision, s.Message)
	case configagent.AccountsWaiting:
	}
	return are(metav1.ConditionUnknown, v1beta1.ReasonWaitingForSlurmdbd, "revision %s is not applied yet: %s",
		a.Revision, s.Message)
}
