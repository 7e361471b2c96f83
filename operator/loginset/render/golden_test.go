package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/golden"
)

// loadInput returns the input of a LoginSet in testdata, of a Controller "team/slurm".
func loadInput(t *testing.T, name string) Input {
	t.Helper()
	in := Input{LoginSet: golden.Load[v1beta1.LoginSet](t, name), Controller: new(v1beta1.Controller),
		Image: "registry.example.com/default:1"}
	in.Controller.Namespace, in.Controller.Name = "team", "slurm"
	in.Controller.Spec.SlurmKeyRef = &corev1.SecretKeySelector{Key: "slurm.key",
		LocalObjectReference: corev1.LocalObjectReference{Name: "slurm-auth"}}
	return in
}

func TestObjectsOfALoginSet(t *testing.T) {
	inputs := map[string]Input{"minimal": loadInput(t, "minimal"), "everything": loadInput(t, "everything")}
	everything := inputs["everything"]
	everything.ClusterDomain = "cluster.example"
	everything.AgentImage = "registry.example.com/slurm-agent:1"
	everything.Controller.Spec.Template.Spec.Raw = []byte(`{"securityContext":{"runAsUser":64030}}`)
	inputs["everything"] = everything
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			objects, err := Objects(in)
			if err != nil {
				t.Fatal(err)
			}
			golden.CheckObjects(t, name, objects)
		})
	}
}

func TestObjectsRefuse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"a malformed pod", func(in *Input) { in.LoginSet.Spec.Template.Spec.Raw = []byte("[]") }, "spec.template.spec"},
		{"a malformed container", func(in *Input) { in.LoginSet.Spec.Login.Raw = []byte(`{"args":1}`) }, "spec.login"},
		{"a malformed init container", func(in *Input) { in.LoginSet.Spec.Initconf.Raw = []byte(`[]`) }, "spec.initconf"},
		{"a malformed Service", func(in *Input) { in.LoginSet.Spec.Service.Spec.Raw = []byte(`{"ports":1}`) },
			"spec.service.spec"},
		{"a malformed slurmctld", func(in *Input) { in.Controller.Spec.Slurmctld.Raw = []byte(`[]`) }, "spec.slurmctld"},
		{"no sssd.conf", func(in *Input) { in.LoginSet.Spec.SSSDConfRef = nil }, "spec.sssdConfRef must be given"},
		{"a NUL", func(in *Input) { in.LoginSet.Spec.ExtraSshdConfig = "\x00" }, "spec.extraSshdConfig"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := loadInput(t, "minimal")
			tc.change(&in)
			if objects, err := Objects(in); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, not %q; %d objects", err, tc.want, len(objects))
			}
		})
	}
}

// TestTheClustersConfigurationReplacesNoPod: sackd gets it from slurmctld.
func TestTheClustersConfigurationReplacesNoPod(t *testing.T) {
	in := loadInput(t, "minimal")
	before, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Controller.Spec.ExtraConf = "MailDomain=x"
	after, err := Objects(in)
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("the objects change: %v\n%s", err, diff)
	}
}

func TestStrategy(t *testing.T) {
	number := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }
	rolling := func(unavailable, surge *intstr.IntOrString) appsv1.DeploymentStrategy {
		return appsv1.DeploymentStrategy{Type: "RollingUpdate",
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: unavailable, MaxSurge: surge}}
	}
	for _, tc := range []struct {
		name       string
		user, want appsv1.DeploymentStrategy
	}{
		{"the default", appsv1.DeploymentStrategy{}, rolling(number(0), number(1))},
		{"another surge", rolling(nil, number(3)), rolling(number(0), number(3))},
		{"no surge", rolling(nil, number(0)), rolling(number(1), number(0))},
		{"both", rolling(number(2), number(2)), rolling(number(2), number(2))},
		{"all at once", appsv1.DeploymentStrategy{Type: "Recreate"}, appsv1.DeploymentStrategy{Type: "Recreate"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, newStrategy(tc.user)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
