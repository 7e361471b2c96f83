package render

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestWithImage replaces the image of slurmd wherever the NodeSet names it. The revision then equals the revision of a
// NodeSet with the other image.
func TestWithImage(t *testing.T) {
	for _, tc := range []struct{ name, slurmd, pod, wantSlurmd, wantPod string }{
		{"in slurmd", `{"image":"a:2","resources":{"limits":{"memory":12345678901234567890}}}`, "",
			`{"image":"a:1","resources":{"limits":{"memory":12345678901234567890}}}`, ""},
		{"in containers beside it, too", `{"image":"a:2"}`,
			`{"initContainers":[{"name":"x","image":"a:2"},{"name":"y","image":"b"}]}`, `{"image":"a:1"}`,
			`{"initContainers":[{"image":"a:1","name":"x"},{"image":"b","name":"y"}]}`},
		{"not in text", `{"image":"a:2","args":["a:2"]}`, "", `{"args":["a:2"],"image":"a:1"}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := Input{NodeSet: &v1beta1.NodeSet{}, Image: "default"}
			in.NodeSet.Spec.Slurmd.Raw, in.NodeSet.Spec.Template.Spec.Raw = []byte(tc.slurmd), []byte(tc.pod)
			got, err := in.WithImage("a:2", "a:1")
			if err != nil {
				t.Fatal(err)
			}
			spec := got.NodeSet.Spec
			if string(spec.Slurmd.Raw) != tc.wantSlurmd || string(spec.Template.Spec.Raw) != tc.wantPod ||
				got.Image != "default" {
				t.Errorf("it is %s and %s, the default %s", spec.Slurmd.Raw, spec.Template.Spec.Raw, got.Image)
			}
			if string(in.NodeSet.Spec.Slurmd.Raw) != tc.slurmd {
				t.Errorf("the NodeSet was changed: %s", in.NodeSet.Spec.Slurmd.Raw)
			}
		})
	}
}

// TestWithImageOfTheDefault changes neither the NodeSet nor its revision.
func TestWithImageOfTheDefault(t *testing.T) {
	in := Input{NodeSet: &v1beta1.NodeSet{}, Image: "a:2"}
	got, err := in.WithImage("a:2", "a:1")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := RevisionOf(in)
	after, _ := RevisionOf(got)
	if got.Image != "a:1" || before.Hash != after.Hash {
		t.Errorf("the default is %s, the revision %s, and was %s", got.Image, after.Hash, before.Hash)
	}
}
