package definitions

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/testr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// definition returns a definition of v1beta1 and v1alpha1 with a revision, or without one for "".
func definition(revision string, edits ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.Name = "nodesets.slinky.slurm.net"
	d.Annotations = map[string]string{"of": "the installation"}
	if revision != "" {
		d.Annotations[RevisionAnnotation] = revision
	}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1"},
		{Name: "v1beta1", Served: true, Storage: true}}
	for _, edit := range edits {
		edit(d)
	}
	return d
}

func TestUpgrade(t *testing.T) {
	storedAs := func(versions ...string) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(d *apiextensionsv1.CustomResourceDefinition) { d.Status.StoredVersions = versions }
	}
	for _, tc := range []struct {
		name           string
		installed, own *apiextensionsv1.CustomResourceDefinition
		changes        bool
		problem        string
	}{
		{"an older one", definition("1"), definition("2"), true, ""},
		{"an older one, with more digits", definition("9"), definition("10"), true, ""},
		{"the same", definition("2"), definition("2"), false, ""},
		{"a newer one", definition("3"), definition("2"), false, ""},
		{"that of another operator", definition(""), definition("2"), false, ""},
		{"a revision that is no number", definition("two"), definition("2"), false, ""},
		{"a negative revision", definition("-1"), definition("2"), false, ""},
		{"a known stored version", definition("1", storedAs("v1beta1")), definition("2"), true, ""},
		{"an unknown stored version", definition("1", storedAs("v1", "v1beta1")), definition("2"), false, "stored as v1,"},
		{"no revision of our own", definition("1"), definition(""), false, "has no revision"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Upgrade(tc.installed, tc.own)
			if (got != nil) != tc.changes || (err != nil) != (tc.problem != "") ||
				err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestAnUpgradeKeepsWhatTheWebhooksAnnounced(t *testing.T) {
	announced := &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}}
	installed := definition("1", func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Versions[0].Served, d.Spec.Conversion = true, announced
	})
	own := definition("2", func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Annotations = map[string]string{RevisionAnnotation: "2"}
		d.Spec.Versions[1].Deprecated = true
		d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	})
	got, err := Upgrade(installed, own)
	if err != nil {
		t.Fatal(err)
	}
	want := installed.DeepCopy()
	want.Annotations[RevisionAnnotation] = "2"
	want.Spec.Versions[1].Deprecated = true
	if !apiequality.Semantic.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if installed.Annotations[RevisionAnnotation] != "1" {
		t.Error("the installed definition was changed")
	}
}

func TestOnlyInstalledDefinitionsOfOursAreUpgraded(t *testing.T) {
	all, err := ReadOwn()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 7 {
		t.Fatalf("there are %d definitions", len(all))
	}
	old, foreign := all[0].DeepCopy(), all[1].DeepCopy()
	delete(foreign.Annotations, RevisionAnnotation)
	old.Spec.Names.ShortNames, foreign.Spec.Names.ShortNames = nil, nil
	for _, own := range all {
		own.Annotations[RevisionAnnotation] = "1000000"
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(old, foreign).Build()
	upgrader := Upgrader{Client: store, Log: testr.New(t)}
	if err := upgrader.upgradeTo(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := store.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	shortNames := map[string]int{}
	for _, d := range list.Items {
		shortNames[d.Name] = len(d.Spec.Names.ShortNames)
	}
	if len(shortNames) != 2 || shortNames[old.Name] == 0 || shortNames[foreign.Name] != 0 {
		t.Errorf("short names by definition: %v", shortNames)
	}
}

// TestDefinitionsThatAreInstalledStay: an operator does not write the definitions that its own chart has installed.
func TestDefinitionsThatAreInstalledStay(t *testing.T) {
	all, err := ReadOwn()
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range all {
		if got, err := Upgrade(own, own); got != nil || err != nil {
			t.Errorf("%s: %v, %v", own.Name, got, err)
		}
	}
}
