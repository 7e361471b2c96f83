package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/golden"
)

// loadInput returns the input of a Controller in testdata.
func loadInput(t *testing.T, name string) Input {
	t.Helper()
	return Input{Controller: golden.Load[v1beta1.Controller](t, name), NamespaceUID: "uid-team", Image: "registry.example.com/default:1"}
}

// goldenInputs are the inputs by the name of their golden file.
func goldenInputs(t *testing.T) map[string]Input {
	out := map[string]Input{}
	for _, name := range []string{"minimal", "everything", "volatile", "claim", "ha", "outward", "sssd"} {
		out[name] = loadInput(t, name)
	}
	in := out["everything"]
	in.Accounting = refs.Address{Host: "slurm-accounting.team", Port: 6819}
	in.NodeSets = []slurmconf.NodeSet{{Name: "cpu"}, {Name: "gpu", HasPartition: true, PartitionOptions: "MaxTime=1:00:00"}}
	in.MaxWorkers = 300
	in.Files = UserFiles{Config: map[string]string{"gres.conf": "AutoDetect=nvml\n", "cgroup.conf": "CgroupPlugin=cgroup/v2\n"},
		Prolog:          map[string]string{"10-gpu.sh": "#!/bin/sh\n", "20-scratch.sh": "#!/bin/sh\n"},
		EpilogSlurmctld: map[string]string{"bill.sh": "#!/bin/sh\n"}}
	out["everything"] = in
	return out
}

func TestObjectsOfAController(t *testing.T) {
	for name, in := range goldenInputs(t) {
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
		{"a slurm.conf of the user", func(in *Input) { in.Files.Config = map[string]string{"Slurm.conf": ""} },
			"spec.configFileRefs: the operator writes Slurm.conf itself"},
		{"a key in a ConfigMap", func(in *Input) { in.Files.Prolog = map[string]string{"slurm.key": ""} },
			"spec.prologScriptRefs: the operator writes slurm.key itself"},
		{"two files of one name", func(in *Input) {
			in.Files.Prolog, in.Files.Epilog = map[string]string{"a.sh": "1"}, map[string]string{"a.sh": "2"}
		}, "spec.epilogScriptRefs: there are two different files a.sh"},
		{"more than a ConfigMap can hold", func(in *Input) {
			in.Files.Config = map[string]string{"topology.yaml": strings.Repeat("x", 1<<20)}
		}, "a ConfigMap can hold"},
		{"another ClusterName", func(in *Input) { in.Controller.Spec.ExtraConf = "ClusterName=red" }, "ClusterName"},
		{"a malformed pod", func(in *Input) { in.Controller.Spec.Template.Spec.Raw = []byte("[]") }, "spec.template.spec"},
		{"a malformed container", func(in *Input) { in.Controller.Spec.Slurmctld.Raw = []byte(`{"args":1}`) },
			"spec.slurmctld"},
		{"a malformed log file", func(in *Input) { in.Controller.Spec.Logfile.Raw = []byte(`[]`) }, "spec.logfile"},
		{"a malformed Service", func(in *Input) { in.Controller.Spec.Service.Spec.Raw = []byte(`{"ports":1}`) },
			"spec.service.spec"},
		{"a Service of another host", func(in *Input) {
			in.Controller.Spec.Service.Spec.Raw = []byte(`{"type":"ExternalName","externalName":"x"}`)
		}, "must not be ExternalName"},
		{"the network of the Kubernetes node", func(in *Input) {
			in.Controller.Spec.Template.Spec.Raw = []byte(`{"hostNetwork":true}`)
		}, "spec.template.spec.hostNetwork must not be true"},
		{"one address for several slurmctlds", func(in *Input) {
			in.Controller.Spec.Address, in.Controller.Spec.HA = "ctl.example.com", &v1beta1.ControllerHA{Enabled: true}
		}, "spec.address must not be given with spec.ha"},
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

// TestOneScriptMayServeSeveralOptions: a script that is both prolog and epilog is one file.
func TestOneScriptMayServeSeveralOptions(t *testing.T) {
	in := loadInput(t, "minimal")
	in.Files.Prolog, in.Files.Epilog = map[string]string{"a.sh": "1"}, map[string]string{"a.sh": "1"}
	got, err := ConfigMap(in)
	if err != nil || got.Data["a.sh"] != "1" || !strings.Contains(got.Data["slurm.conf"], "Prolog=a.sh\nEpilog=a.sh\n") {
		t.Errorf("the files are %v, %v", got, err)
	}
}

// TestConfigurationIsNotInThePodTemplate: a change of the configuration must not replace the pod.
func TestConfigurationIsNotInThePodTemplate(t *testing.T) {
	in := loadInput(t, "minimal")
	before, err := StatefulSet(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Controller.Spec.ExtraConf, in.MaxWorkers = "MailDomain=x", 5000
	in.Files.Prolog = map[string]string{"a.sh": "1"}
	in.NodeSets = []slurmconf.NodeSet{{Name: "gpu", HasPartition: true}}
	after, err := StatefulSet(in)
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("the StatefulSet changes: %v\n%s", err, diff)
	}
}

func TestMaxNodeCount(t *testing.T) {
	for workers, want := range map[uint64]uint64{0: 256, 1: 256, 127: 256, 128: 512, 300: 1024, 5000: 16384} {
		if got := maxNodeCount(workers); got != want {
			t.Errorf("for %d workers it is %d, not %d", workers, got, want)
		}
	}
}
