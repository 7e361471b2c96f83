package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/test/harness/golden"
)

// loadInput returns the input of a RestApi in testdata, of a Controller "team/slurm".
func loadInput(t *testing.T, name string) Input {
	t.Helper()
	in := Input{RestAPI: golden.Load[v1beta1.RestApi](t, name), Controller: new(v1beta1.Controller), Image: "registry.example.com/default:1"}
	in.Controller.Namespace, in.Controller.Name = "team", "slurm"
	in.Controller.Spec.SlurmKeyRef = &corev1.SecretKeySelector{}
	return in
}

func TestObjectsOfARestAPI(t *testing.T) {
	inputs := map[string]Input{"minimal": loadInput(t, "minimal"), "everything": loadInput(t, "everything")}
	everything := inputs["everything"]
	everything.Accounting = refs.Address{Host: "slurm-accounting.team", Port: 6819}
	everything.Controller.Spec.HA = &v1beta1.ControllerHA{Enabled: true, Backups: 1}
	inputs["everything"] = everything
	external := loadInput(t, "minimal")
	external.Controller.Spec.External = true
	external.Controller.Spec.ExternalConfig = &v1beta1.ExternalConfig{Host: "ctl.example.com", Port: 7000}
	inputs["external"] = external
	sssd := loadInput(t, "minimal")
	sssd.Controller.Spec.SSSDConfRef = &corev1.SecretKeySelector{Key: "sssd.conf",
		LocalObjectReference: corev1.LocalObjectReference{Name: "sssd"}}
	inputs["sssd"] = sssd
	for _, name := range []string{"minimal", "everything", "sssd"} {
		in := inputs[name]
		in.RestAPI = in.RestAPI.DeepCopy()
		in.RestAPI.Spec.TLS = &v1beta1.RestApiTLS{SecretName: "certificate"}
		in.AgentImage = "registry.example.com/slurm-agent:1"
		inputs[name+"-tls"] = in
	}
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
		{"a malformed pod", func(in *Input) { in.RestAPI.Spec.Template.Spec.Raw = []byte("[]") }, "spec.template.spec"},
		{"a malformed container", func(in *Input) { in.RestAPI.Spec.Slurmrestd.Raw = []byte(`{"args":1}`) },
			"spec.slurmrestd"},
		{"a malformed Service", func(in *Input) { in.RestAPI.Spec.Service.Spec.Raw = []byte(`{"ports":1}`) },
			"spec.service.spec"},
		{"a ClusterName of two lines", func(in *Input) { in.Controller.Spec.ClusterName = "a\nb" }, "ClusterName"},
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

// TestTheClustersConfigurationReplacesNoPod: slurmrestd reads only where slurmctld is.
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
	in.Controller.Spec.Service.Port = 7000
	if after, err = Objects(in); err != nil || cmp.Equal(before, after) {
		t.Errorf("the objects stay although slurmctld's port is another: %v", err)
	}
}

// TestTLSLeavesNoOtherWay: with TLS, slurmrestd listens at no port, and the Service leads only to the container that
// ends TLS.
func TestTLSLeavesNoOtherWay(t *testing.T) {
	in := loadInput(t, "minimal")
	in.RestAPI.Spec.TLS = &v1beta1.RestApiTLS{SecretName: "certificate"}
	in.RestAPI.Spec.Service.Port = 443
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	service, pod := objects[1].(*corev1.Service), objects[2].(*appsv1.Deployment).Spec.Template.Spec
	if p := service.Spec.Ports; len(p) != 1 || p[0].Port != 443 || p[0].TargetPort.StrVal != PortHTTPS {
		t.Errorf("the ports of the Service are %+v", p)
	}
	slurmrestd := pod.Containers[0]
	if listens := slurmrestd.Args[len(slurmrestd.Args)-1]; listens != "unix:"+socketPath || len(slurmrestd.Ports) > 0 {
		t.Errorf("slurmrestd listens at %s and has the ports %+v", listens, slurmrestd.Ports)
	}
	for _, mount := range slurmrestd.VolumeMounts {
		if mount.Name == volumeCertificate {
			t.Error("slurmrestd sees the key of the certificate")
		}
	}
}

// TestTheGracePeriodOfAUserIsKept: Kubernetes refuses a pod whose pause before its end is not shorter.
func TestTheGracePeriodOfAUserIsKept(t *testing.T) {
	for grace, want := range map[int64]int64{0: 0, 1: 0, 2: 1, 5: 4, 6: 5, 60: 5} {
		in := loadInput(t, "minimal")
		in.RestAPI.Spec.Template.Spec.Raw = fmt.Appendf(nil, `{"terminationGracePeriodSeconds":%d}`, grace)
		objects, err := Objects(in)
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		pod := objects[len(objects)-1].(*appsv1.Deployment).Spec.Template.Spec
		if hook := pod.Containers[0].Lifecycle; hook != nil {
			got = hook.PreStop.Sleep.Seconds
		}
		if got != want || *pod.TerminationGracePeriodSeconds != grace {
			t.Errorf("with a grace period of %d s the pause is %d s, not %d s", grace, got, want)
		}
	}
}
