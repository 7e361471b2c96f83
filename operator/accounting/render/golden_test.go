package render

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
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

// TestALoadBalancerKeepsSourceAddresses: slurmdbd takes the address of a connection for that of slurmctld.
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
