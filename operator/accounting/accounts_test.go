package accounting

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func newAccountsMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "accounts"},
		Data: map[string]string{"a.cfg": "A", "b.cfg": "B"}}
}

// wantedAccounts returns the accounts that the agent gets.
func (e *env) wantedAccounts() string {
	e.Helper()
	config := &corev1.ConfigMap{}
	if err := e.get("acct-accounting-config", config); err != nil {
		e.Fatal(err)
	}
	return config.Data[slurmconf.AccountsFile]
}

func TestAccountsReachTheAgent(t *testing.T) {
	e := newEnv(t, newAccountsMap())
	if c := e.reconcile(v1beta1.ConditionAccountsApplied); c != nil || e.wantedAccounts() != "" {
		t.Errorf("an Accounting without accounts has them: %+v", c)
	}
	e.change(func(s *v1beta1.AccountingSpec) {
		s.Accounts = &v1beta1.AccountsSpec{ConfigMapRef: v1beta1.AccountsConfigMapRef{Name: "accounts", Key: "b.cfg"}}
	})
	if c := e.reconcile(v1beta1.ConditionAccountsApplied); c.Reason != v1beta1.ReasonNotObserved {
		t.Errorf("without a pod the condition is %+v", c)
	}
	got, err := slurmconf.ParseAccounts(e.wantedAccounts())
	want := slurmconf.Accounts{Revision: got.Revision, Files: map[string]string{"b.cfg": "B"}}
	if err != nil || got.Revision == "" || !cmp.Equal(got, want) {
		t.Errorf("the agent gets %+v, %v", got, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "acct-accounting-0",
		Labels: names.SlurmdbdSelector("acct")}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "acct-accounting", Controller: new(true)}}
	pod.Status.PodIP = "10.0.0.7"
	if err := e.store.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	e.agent.Accounts = &configagent.AccountsStatus{Revision: got.Revision, State: configagent.AccountsRefused,
		Message: "no"}
	for range 2 {
		if c := e.reconcile(v1beta1.ConditionAccountsApplied); c.Reason != v1beta1.ReasonRefused {
			t.Errorf("of a refused file the condition is %+v", c)
		}
	}
	if event := <-e.recorder.Events; !strings.HasPrefix(event, "Warning AccountsRefused revision "+got.Revision) {
		t.Errorf("the event is %q", event)
	}
	if len(e.recorder.Events) > 0 {
		t.Errorf("there is another event %q", <-e.recorder.Events)
	}
}

// TestMissingAccountsDoNotStopSlurmdbd: it gets its other changes.
func TestMissingAccountsDoNotStopSlurmdbd(t *testing.T) {
	e := newEnv(t)
	e.change(func(s *v1beta1.AccountingSpec) {
		s.Accounts = &v1beta1.AccountsSpec{ConfigMapRef: v1beta1.AccountsConfigMapRef{Name: "gone"}}
	})
	c := e.reconcile(v1beta1.ConditionAccountsApplied)
	if c.Reason != v1beta1.ReasonReferenceNotFound || !strings.Contains(c.Message, "there is no ConfigMap gone") {
		t.Errorf("the condition is %+v", c)
	}
	a := &v1beta1.Accounting{}
	if err := e.get("acct", a); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(a.Status.Conditions, v1beta1.ConditionReady); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("Ready is %+v", c)
	}
}

func TestSelectAccounts(t *testing.T) {
	of := func(spec v1beta1.AccountsSpec) *slurmconf.Accounts {
		t.Helper()
		out, err := selectAccounts(&spec, newAccountsMap())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := of(v1beta1.AccountsSpec{})
	if len(all.Files) != 2 {
		t.Errorf("without a key the files are %v", all.Files)
	}
	revisions := map[string]bool{all.Revision: true}
	for _, other := range []v1beta1.AccountsSpec{{Prune: true}, {Mode: v1beta1.AccountsDryRun},
		{ConfigMapRef: v1beta1.AccountsConfigMapRef{Key: "a.cfg"}}} {
		revisions[of(other).Revision] = true
	}
	if len(revisions) != 4 {
		t.Errorf("the revisions are %v", revisions)
	}
	confirmed, err := selectAccounts(&v1beta1.AccountsSpec{}, newAccountsMap(), listRemovals(" 9-ab, 7-cd,")...)
	if err != nil || confirmed.Revision == all.Revision || !cmp.Equal(confirmed.Removals, []string{"9-ab", "7-cd"}) {
		t.Errorf("with confirmed removals the accounts are %+v, %v", confirmed, err)
	}
	if of(v1beta1.AccountsSpec{Mode: v1beta1.AccountsApply}).Revision != all.Revision {
		t.Error("the default mode is another revision")
	}
	for want, spec := range map[string]v1beta1.AccountsSpec{
		"ConfigMap accounts has no key c.cfg": {ConfigMapRef: v1beta1.AccountsConfigMapRef{Key: "c.cfg"}}} {
		_, err := selectAccounts(&spec, newAccountsMap())
		if reported, _ := problem.Split(err); reported == nil || !strings.HasSuffix(reported.Message, want) {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := selectAccounts(&v1beta1.AccountsSpec{}, &corev1.ConfigMap{}); err == nil {
		t.Error("a ConfigMap without files is no error")
	}
}

// TestOneAccountingAppliesAccountsToADatabase: the older one of the namespace.
func TestOneAccountingAppliesAccountsToADatabase(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*v1beta1.Accounting)
		want string
	}{
		{"the other one is older", func(*v1beta1.Accounting) {}, v1beta1.ReasonDatabaseShared},
		{"by another name of the host", func(a *v1beta1.Accounting) { a.Spec.StorageConfig.Host = "MariaDB.team.svc.cluster.local" },
			v1beta1.ReasonDatabaseShared},
		{"another database", func(a *v1beta1.Accounting) { a.Spec.StorageConfig.Database = "b" }, v1beta1.ReasonNotObserved},
		{"without accounts", func(a *v1beta1.Accounting) { a.Spec.Accounts = nil }, v1beta1.ReasonNotObserved},
		{"the other one is younger", func(a *v1beta1.Accounting) { a.CreationTimestamp.Time = kubetest.Noon().Add(time.Hour) },
			v1beta1.ReasonNotObserved},
	} {
		t.Run(tc.name, func(t *testing.T) {
			other := &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "abc", Namespace: "team"}}
			other.Spec.Accounts = &v1beta1.AccountsSpec{ConfigMapRef: v1beta1.AccountsConfigMapRef{Name: "accounts"}}
			other.Spec.StorageConfig = &v1beta1.StorageConfig{Host: "mariadb"}
			tc.edit(other)
			e := newEnv(t, newAccountsMap(), other)
			e.change(func(s *v1beta1.AccountingSpec) {
				s.Accounts = &v1beta1.AccountsSpec{ConfigMapRef: v1beta1.AccountsConfigMapRef{Name: "accounts"}}
			})
			if c := e.reconcile(v1beta1.ConditionAccountsApplied); c.Reason != tc.want {
				t.Errorf("the condition is %+v", c)
			}
			if isApplied := e.wantedAccounts() != ""; isApplied != (tc.want == v1beta1.ReasonNotObserved) {
				t.Errorf("the agent gets accounts: %t", isApplied)
			}
		})
	}
}

// TestAPodWithOurLabelsIsNotBelieved: whoever may create pods chooses their labels.
func TestAPodWithOurLabelsIsNotBelieved(t *testing.T) {
	e := newEnv(t, newAccountsMap())
	e.change(func(s *v1beta1.AccountingSpec) {
		s.Accounts = &v1beta1.AccountsSpec{ConfigMapRef: v1beta1.AccountsConfigMapRef{Name: "accounts"}}
	})
	e.reconcile(v1beta1.ConditionAccountsApplied)
	for _, name := range []string{"acct-accounting-0", "evil"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Labels: names.SlurmdbdSelector("acct")}}
		pod.Status.PodIP = "10.0.0.7"
		if err := e.store.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	got, err := slurmconf.ParseAccounts(e.wantedAccounts())
	if err != nil {
		t.Fatal(err)
	}
	e.agent.Accounts = &configagent.AccountsStatus{Revision: got.Revision, State: configagent.AccountsApplied}
	if c := e.reconcile(v1beta1.ConditionAccountsApplied); c.Reason != v1beta1.ReasonNotObserved {
		t.Errorf("the condition is %+v", c)
	}
}
