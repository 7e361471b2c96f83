package v1alpha1_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"github.com/slurmtide/slurmtide/operator/api/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestWhichClusterANodeSetJoins(t *testing.T) {
	controller := map[string]string{v1alpha1.AnnotationClusterKind: "Controller"}
	ref := &corev1.LocalObjectReference{Name: "slurm"}
	for _, c := range []struct {
		name        string
		annotations map[string]string
		want        v1beta1.NodeSetSpec
	}{
		{"a Cluster by default", nil, v1beta1.NodeSetSpec{ClusterRef: ref}},
		{"a Controller with the annotation", controller, v1beta1.NodeSetSpec{ControllerRef: ref}},
		{"a Cluster with an invalid annotation", map[string]string{v1alpha1.AnnotationClusterKind: "Pod"},
			v1beta1.NodeSetSpec{ClusterRef: ref}},
	} {
		t.Run(c.name, func(t *testing.T) {
			alpha := &v1alpha1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: c.annotations},
				Spec: v1alpha1.NodeSetSpec{ClusterName: "slurm"}}
			beta, again := &v1beta1.NodeSet{}, &v1alpha1.NodeSet{}
			alpha.ToBeta(beta)
			if diff := cmp.Diff(c.want, beta.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if beta.Annotations[v1alpha1.AnnotationClusterKind] == "Controller" {
				t.Error("the NodeSet of v1beta1 has the annotation")
			}
			again.FromBeta(beta)
			if diff := cmp.Diff(alpha, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConversionSharesNothing(t *testing.T) {
	beta := &v1beta1.NodeSet{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}},
		Spec:       v1beta1.NodeSetSpec{ControllerRef: &corev1.LocalObjectReference{Name: "slurm"}},
	}
	alpha := &v1alpha1.NodeSet{}
	alpha.FromBeta(beta)
	if _, there := beta.Annotations[v1alpha1.AnnotationClusterKind]; there {
		t.Error("FromBeta changed its input")
	}
	back := &v1beta1.NodeSet{}
	alpha.ToBeta(back)
	if alpha.Annotations[v1alpha1.AnnotationClusterKind] != "Controller" {
		t.Error("ToBeta changed its input")
	}
}

func TestRoundTripsLoseNothing(t *testing.T) {
	for seed := range uint64(500) {
		t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			data := make([]byte, 4096)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			checkRoundTrips(t, data)
		})
	}
}

func FuzzRoundTripsLoseNothing(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(func(t *testing.T, data []byte) { checkRoundTrips(t, data) })
}

// checkRoundTrips fills objects of both versions from data, and converts them to the other version and
// back.
func checkRoundTrips(t *testing.T, data []byte) {
	t.Helper()
	fill := newFiller(data)
	{
		in, via, out := &v1beta1.NodeSet{}, &v1alpha1.NodeSet{}, &v1beta1.NodeSet{}
		fill.Fill(in)
		via.FromBeta(in)
		throughJSON(t, via).ToBeta(out)
		compareObjects(t, "NodeSet, from v1beta1", in, out)
	}
	{
		in, via, out := &v1alpha1.NodeSet{}, &v1beta1.NodeSet{}, &v1alpha1.NodeSet{}
		fill.Fill(in)
		in.ToBeta(via)
		out.FromBeta(throughJSON(t, via))
		compareObjects(t, "NodeSet, from v1alpha1", in, out)
	}
	{
		in, via, out := &v1beta1.Cluster{}, &v1alpha1.Cluster{}, &v1beta1.Cluster{}
		fill.Fill(in)
		via.FromBeta(in)
		throughJSON(t, via).ToBeta(out)
		compareObjects(t, "Cluster, from v1beta1", in, out)
	}
	{
		in, via, out := &v1alpha1.Cluster{}, &v1beta1.Cluster{}, &v1alpha1.Cluster{}
		fill.Fill(in)
		in.ToBeta(via)
		out.FromBeta(throughJSON(t, via))
		compareObjects(t, "Cluster, from v1alpha1", in, out)
	}
}

// throughJSON marshals and unmarshals an object, as on its way to an API server.
func throughJSON[T any](t *testing.T, obj *T) *T {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func compareObjects(t *testing.T, what string, in, out any) {
	t.Helper()
	if diff := cmp.Diff(in, out, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// newFiller returns a Filler of objects as an API server could store them.
func newFiller(data []byte) *randfill.Filler {
	text := func(c randfill.Continue) string { return strconv.Itoa(c.Intn(1000)) }
	raw := func(c randfill.Continue) v1beta1.Raw {
		return v1beta1.Raw{Raw: []byte(`{"name":"` + text(c) + `","new":[false,0,""]}`)}
	}
	return randfill.NewFromGoFuzz(data).NilChance(0.3).NumElements(1, 3).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = text(c) },
		func(m *metav1.TypeMeta, _ randfill.Continue) { *m = metav1.TypeMeta{} },
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			*m = metav1.ObjectMeta{Name: text(c), Namespace: text(c), Generation: int64(c.Intn(10))}
			if c.Bool() {
				m.Annotations = map[string]string{text(c): text(c)}
			}
			if c.Bool() {
				m.Finalizers = []string{v1beta1.FinalizerDrain}
			}
		},
		func(at *metav1.Time, c randfill.Continue) { *at = metav1.Unix(int64(c.Intn(1<<30)), 0) },
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(c.Intn(1 << 40)) },
		func(r *v1beta1.Raw, c randfill.Continue) {
			if *r = (v1beta1.Raw{}); c.Bool() {
				*r = raw(c)
			}
		},
		func(p *v1beta1.PodTemplate, c randfill.Continue) {
			c.Fill(&p.Metadata)
			c.Fill(&p.Spec)
			if c.Bool() {
				p.Extra = map[string]v1beta1.Raw{"new": raw(c)}
			}
		},
		func(v *v1beta1.VolumeClaimTemplate, c randfill.Continue) {
			*v = v1beta1.VolumeClaimTemplate{Metadata: raw(c), Spec: raw(c),
				Extra: map[string]v1beta1.Raw{"kind": raw(c)}}
		},
		func(s *v1beta1.NodeSetSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			// A valid NodeSet names exactly one.
			s.ControllerRef, s.ClusterRef = nil, nil
			if ref := (&corev1.LocalObjectReference{Name: text(c)}); c.Bool() {
				s.ControllerRef = ref
			} else {
				s.ClusterRef = ref
			}
		},
		func(n *v1alpha1.NodeSet, c randfill.Continue) {
			c.FillNoCustom(n)
			if c.Bool() {
				n.Annotations = map[string]string{v1alpha1.AnnotationClusterKind: v1beta1.KindController}
			}
		},
	)
}
