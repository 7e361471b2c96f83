package status

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/problem"
)

func TestReady(t *testing.T) {
	set := func(ready int32) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{ReadyReplicas: ready}}
	}
	agents := []agentstatus.Agent{{Status: configagent.Status{Applied: "1"}}}
	for _, tc := range []struct {
		name        string
		observation agentstatus.Observation
		want        string
	}{
		{"nothing exists", agentstatus.Observation{}, "False Progressing the StatefulSet of slurmdbd is being created"},
		{"no agent answers", agentstatus.Observation{Set: set(0)}, "False Progressing no pod of StatefulSet"},
		{"it has its configuration", agentstatus.Observation{Set: set(0), Agents: agents},
			"False Progressing slurmdbd does not listen yet: if this lasts, it waits for the database at db:3306"},
		{"it listens", agentstatus.Observation{Set: set(1)}, "True Available slurmdbd is ready"},
		{"a problem counts more than what runs", agentstatus.Observation{Set: set(1), Agents: agents,
			Problem: &problem.Error{Reason: "InvalidSpec", Message: "no"}}, "False InvalidSpec no"},
	} {
		tc.observation.Daemon = "slurmdbd"
		a := &v1beta1.Accounting{}
		a.Spec.StorageConfig = &v1beta1.StorageConfig{Host: "db"}
		c := meta.FindStatusCondition(Of(time.Now(), a, tc.observation, Accounts{}).Conditions, v1beta1.ConditionReady)
		if got := string(c.Status) + " " + c.Reason + " " + c.Message; !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}
