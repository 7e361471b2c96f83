package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/golden"
)

// loadInput returns the input of an Accounting in testdata.
func loadInput(t *testing.T, name string) Input {
	t.Helper()
	in := Input{Accounting: golden.Load[v1beta1.Accounting](t, name), Image: "registry.example.com/default:1",
		AgentImage: "registry.example.com/agent:1"}
	return in
}

func TestObjectsOfAnAccounting(t *testing.T) {
	for _, name := range []string{"minimal", "everything"} {
		t.Run(name, func(t *testing.T) {
			objects, err := Objects(loadInput(t, name))
			if err != nil {
				t.Fatal(err)
			}
			golden.CheckObjects(t, name, objects)
		})
	}
}

// TestAccountsChangeTheConfigMapAlone: a pod of before can get them.
func TestAccountsChangeTheConfigMapAlone(t *testing.T) {
	in := loadInput(t, "minimal")
	without, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Accounts = &slurmconf.Accounts{Revision: "1", Files: map[string]string{"a.cfg": "Cluster - a\n"}}
	with, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(without[1:], with[1:]); diff != "" {
		t.Errorf("other objects change:\n%s", diff)
	}
	before, _ := without[0].(*corev1.ConfigMap)
	after, _ := with[0].(*corev1.ConfigMap)
	got, err := slurmconf.ParseAccounts(after.Data[slurmconf.AccountsFile])
	if err != nil || !cmp.Equal(got, *in.Accounts) {
		t.Errorf("the accounts are %+v, %v", got, err)
	}
	if _, has := before.Data[slurmconf.AccountsFile]; has ||
		before.Data[slurmconf.RevisionFile] == after.Data[slurmconf.RevisionFile] {
		t.Error("the revision is the same with accounts and without")
	}
}

// TestALoadBalancerKeepsSourceAddresses: slurmdbd uses the address of a connection as slurmctld's.
func TestALoadBalancerKeepsSourceAddresses(t *testing.T) {
	for spec, want := range map[string]corev1.ServiceExternalTrafficPolicy{
		`{"type":"LoadBalancer"}`:                                   corev1.ServiceExternalTrafficPolicyLocal,
		`{"type":"LoadBalancer","externalTrafficPolicy":"Cluster"}`: corev1.ServiceExternalTrafficPolicyCluster,
		`{"type":"NodePort"}`:                                       "", `{}`: "",
	} {
		in := loadInput(t, "minimal")
		in.Accounting.Spec.Service.Spec.Raw = []byte(spec)
		service, err := newService(in)
		if err != nil || service.Spec.ExternalTrafficPolicy != want {
			t.Errorf("of %s the policy is %q, not %q: %v", spec, service.Spec.ExternalTrafficPolicy, want, err)
		}
	}
}

func TestObjectsRefuse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.AccountingSpec)
		want   string
	}{
		{"a malformed pod", func(s *v1beta1.AccountingSpec) { s.Template.Spec.Raw = []byte("[]") }, "spec.template.spec"},
		{"a malformed container", func(s *v1beta1.AccountingSpec) { s.Slurmdbd.Raw = []byte(`{"args":1}`) }, "spec.slurmdbd"},
		{"a malformed Service", func(s *v1beta1.AccountingSpec) { s.Service.Spec.Raw = []byte(`{"ports":1}`) },
			"spec.service.spec"},
		{"another host", func(s *v1beta1.AccountingSpec) { s.ExtraConf = "DbdHost=other" }, "DbdHost"},
		{"the network of the Kubernetes node", func(s *v1beta1.AccountingSpec) {
			s.Template.Spec.Raw = []byte(`{"hostNetwork":true}`)
		}, "spec.template.spec.hostNetwork must not be true"},
		{"a password", func(s *v1beta1.AccountingSpec) { s.ExtraConf = "StoragePass=x" }, "StoragePass"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := loadInput(t, "minimal")
			tc.change(&in.Accounting.Spec)
			if objects, err := Objects(in); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, not %q; %d objects", err, tc.want, len(objects))
			}
		})
	}
}
