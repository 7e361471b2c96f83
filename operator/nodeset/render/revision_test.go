package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func hashOf(t *testing.T, in Input) string {
	t.Helper()
	r, err := RevisionOf(in)
	if err != nil {
		t.Fatal(err)
	}
	return r.Hash
}

func TestWhatMakesARevision(t *testing.T) {
	change := map[string]func(*Input){
		"the template":     func(in *Input) { in.NodeSet.Spec.Template.Metadata.Labels = map[string]string{"a": "b"} },
		"the pod's spec":   func(in *Input) { in.NodeSet.Spec.Template.Spec.Raw = []byte(`{"hostNetwork":false}`) },
		"slurmd":           func(in *Input) { in.NodeSet.Spec.Slurmd.Raw = []byte(`{"image":""}`) },
		"logfile":          func(in *Input) { in.NodeSet.Spec.Logfile.Raw = []byte(`{"image":"x"}`) },
		"extraConf":        func(in *Input) { in.NodeSet.Spec.ExtraConf = "Weight=1" },
		"ssh":              func(in *Input) { in.NodeSet.Spec.SSH = &v1beta1.NodeSetSSH{Enabled: true} },
		"ordinalPadding":   func(in *Input) { in.NodeSet.Spec.OrdinalPadding = 3 },
		"oversubscription": func(in *Input) { in.NodeSet.Spec.OversubscribeNode = true },
		"the profile":      func(in *Input) { in.NodeSet.Spec.SecurityProfile = v1beta1.SecurityUnprivileged },
		"slurmctld's port": func(in *Input) { in.Endpoint.Port = 1 },
		"the Slurm key":    func(in *Input) { in.SlurmKey.Key = "other" },
		"a hash":           func(in *Input) { in.Hashes = map[string]string{v1beta1.AnnotationSlurmKeyHash: "new"} },
	}
	for name, f := range change {
		t.Run(name, func(t *testing.T) {
			in := loadInput(t, "minimal")
			before := hashOf(t, in)
			f(&in)
			if hashOf(t, in) == before {
				t.Error("a change of it makes no new revision")
			}
		})
	}
}

func TestWhatMakesNoRevision(t *testing.T) {
	change := map[string]func(*Input){
		"replicas":          func(in *Input) { in.NodeSet.Spec.Replicas = new(int32(9)) },
		"the default image": func(in *Input) { in.Image = "next" },
		"pinToNode":         func(in *Input) { in.NodeSet.Spec.PinToNode = true },
		"the partition": func(
			in *Input) {
			in.NodeSet.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true}
		},
		"the drain policy": func(
			in *Input) {
			in.NodeSet.Spec.DrainPolicy = &v1beta1.DrainPolicy{Type: v1beta1.DrainForce}
		},
		"ssh that is off":       func(in *Input) { in.NodeSet.Spec.SSH = &v1beta1.NodeSetSSH{} },
		"a default written out": func(in *Input) { in.NodeSet.Spec.SecurityProfile = v1beta1.SecurityPrivileged },
		"another generation":    func(in *Input) { in.NodeSet.Generation = 9 },
		"the order of JSON keys": func(
			in *Input) {
			in.NodeSet.Spec.Slurmd.Raw = []byte("{ \"tty\":false,\n\"image\":\"a\"}")
		},
	}
	for name, f := range change {
		t.Run(name, func(t *testing.T) {
			in := loadInput(t, "minimal")
			in.NodeSet.Spec.Slurmd.Raw = []byte(`{"image":"a","tty":false}`)
			before := hashOf(t, in)
			f(&in)
			if hashOf(t, in) != before {
				t.Error("a change of it makes a new revision")
			}
		})
	}
}

// Workers that keep an old revision are rendered as before.
func TestAnOldRevisionMakesTheSameWorker(t *testing.T) {
	for name, id := range goldenIdentities() {
		t.Run(name, func(t *testing.T) {
			old := loadInput(t, name)
			r, err := RevisionOf(old)
			if err != nil {
				t.Fatal(err)
			}
			now := loadInput(t, name)
			now.NodeSet.Spec.ExtraConf = "Weight=77"
			now.NodeSet.Spec.Slurmd.Raw = []byte(`{"image":"new"}`)
			now.NodeSet.Spec.OrdinalPadding = 5
			now.Hashes = nil
			back, err := now.AtRevision(r.Data)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Worker(old, templateOf(t, old), id)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Worker(back, templateOf(t, back), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("it is another (-want +got):\n%s", diff)
			}
			if hashOf(t, back) != r.Hash {
				t.Error("its revision is another")
			}
			if now.NodeSet.Spec.ExtraConf != "Weight=77" {
				t.Error("the NodeSet was changed")
			}
		})
	}
}

// TestRevisionsOfOthersAreTold: another operator's revision with the same labels is not ours.
func TestRevisionsOfOthersAreTold(t *testing.T) {
	ours, err := RevisionOf(loadInput(t, "minimal"))
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]bool{string(ours.Data): true, `{"spec":{"template":{"$patch":"replace"}}}`: false,
		`{"endpoint":{}}`: false, `[]`: false, ``: false} {
		if got := IsRevisionData([]byte(data)); got != want {
			t.Errorf("that %s is ours is %t", data, got)
		}
	}
}
