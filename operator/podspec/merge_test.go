package podspec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// parseRaw returns an open part, absent if the text is empty.
func parseRaw(t *testing.T, text string) v1beta1.Raw {
	t.Helper()
	if text == "" {
		return v1beta1.Raw{}
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v1beta1.Raw{Raw: data}
}

const defaultPod = `
spec:
  containers:
  - {name: daemon, image: ours, command: [daemon], args: [-D], env: [{name: A, value: ours}],
     readinessProbe: {periodSeconds: 5, exec: {command: [check]}}}
  tolerations: [{key: ours, operator: Exists}]
  volumes: [{name: key, secret: {secretName: ours}}]
`

func TestMerge(t *testing.T) {
	for _, tc := range []struct {
		name, pod, daemon string
		want              string
	}{
		{"nothing", "", "", defaultPod},
		{"an empty container", "", "{}", defaultPod},
		{"the container's part wins over the pod's", "{containers: [{name: daemon, image: a}], hostNetwork: true}",
			"{image: b}", `
spec:
  containers:
  - {name: daemon, image: b, command: [daemon], args: [-D], env: [{name: A, value: ours}],
     readinessProbe: {periodSeconds: 5, exec: {command: [check]}}}
  hostNetwork: true
  tolerations: [{key: ours, operator: Exists}]
  volumes: [{name: key, secret: {secretName: ours}}]
`},
		{"our lists stay, alternatives are replaced",
			"{tolerations: [{key: theirs}], volumes: [{name: key, configMap: {name: theirs}}]}",
			"{args: [-v], env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]," +
				" readinessProbe: {tcpSocket: {port: 1}}}", `
spec:
  containers:
  - {name: daemon, image: ours, command: [daemon], args: [-D, -v],
     env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}],
     readinessProbe: {periodSeconds: 5, tcpSocket: {port: 1}}}
  tolerations: [{key: ours, operator: Exists}, {key: theirs}]
  volumes: [{name: key, configMap: {name: theirs}}]
`},
		{"null removes, and the daemon stays", "{tolerations: null, containers: null}", "{readinessProbe: null}", `
spec:
  containers:
  - {name: daemon, image: ours, command: [daemon], args: [-D], env: [{name: A, value: ours}]}
  volumes: [{name: key, secret: {secretName: ours}}]
`},
		{"the daemon comes first, and its name stays", "{containers: [{name: theirs, image: a}]}",
			"{name: other, image: b}", `
spec:
  containers:
  - {name: daemon, image: b, command: [daemon], args: [-D], env: [{name: A, value: ours}],
     readinessProbe: {periodSeconds: 5, exec: {command: [check]}}}
  - {name: theirs, image: a}
  tolerations: [{key: ours, operator: Exists}]
  volumes: [{name: key, secret: {secretName: ours}}]
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var defaults, want corev1.PodTemplateSpec
			for text, into := range map[string]*corev1.PodTemplateSpec{defaultPod: &defaults, tc.want: &want} {
				if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			if tc.want == defaultPod {
				want = defaults
			}
			got, err := podspec.Merge(defaults, podspec.Part{Field: "spec.template.spec", Raw: parseRaw(t, tc.pod)},
				podspec.Container{Part: podspec.Part{Field: "spec.daemon", Raw: parseRaw(t, tc.daemon)},
					Name: "daemon"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMergeNamesTheFaultyField(t *testing.T) {
	for _, tc := range []struct{ name, pod, daemon, want string }{
		{"a pod that is no object", "[]", "", "spec.template.spec"},
		{"a container that is no object", "", "[]", "spec.daemon"},
		{"a list of wrong items", "", "{env: [1]}", "spec.daemon"},
		{"a wrong type", "{hostNetwork: [1]}", "", "spec.template.spec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := podspec.Merge(corev1.PodTemplateSpec{},
				podspec.Part{Field: "spec.template.spec", Raw: parseRaw(t, tc.pod)},
				podspec.Container{Part: podspec.Part{Field: "spec.daemon", Raw: parseRaw(t, tc.daemon)},
					Name: "daemon"})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("the error is %v, want one about %s", err, tc.want)
			}
		})
	}
}

func TestParts(t *testing.T) {
	var key corev1.SecretKeySelector
	key.Name, key.Key = "keys", "slurm.key"
	v := podspec.KeyVolume("k", key, "file")
	if *v.Secret.DefaultMode != 0o600 || v.Secret.SecretName != "keys" || v.Secret.Items[0].Path != "file" {
		t.Errorf("the volume is %v", v)
	}
	spec := corev1.PodSpec{Volumes: []corev1.Volume{{Name: "k"}, {Name: "x"}}}
	podspec.SetVolume(&spec, v)
	podspec.SetVolume(&spec, corev1.Volume{Name: "new"})
	if len(spec.Volumes) != 3 || spec.Volumes[0].Secret == nil {
		t.Errorf("the volumes are %v", spec.Volumes)
	}
	if a, b := podspec.HashContent([]byte("a")), podspec.HashContent([]byte("b")); a == b || len(a) != 16 {
		t.Errorf("the hashes are %q and %q", a, b)
	}
	if got := podspec.MergeMaps(nil, nil); got != nil {
		t.Errorf("the union of nothing is %v", got)
	}
	under := map[string]string{"a": "1", "b": "1"}
	want := map[string]string{"a": "1", "b": "2"}
	if diff := cmp.Diff(want, podspec.MergeMaps(under, map[string]string{"b": "2"})); diff != "" || under["b"] != "1" {
		t.Error(diff, under)
	}
}

func TestAnEmptyListRemovesOnlyAntiAffinity(t *testing.T) {
	var defaults corev1.PodTemplateSpec
	const ours = `
spec:
  tolerations: [{key: ours}]
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ours}]}}
`
	if err := yaml.UnmarshalStrict([]byte(ours), &defaults); err != nil {
		t.Fatal(err)
	}
	got, err := podspec.Merge(defaults, podspec.Part{Field: "spec.template.spec", Raw: parseRaw(t,
		"{tolerations: [], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}}")})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Spec.Tolerations) != 1 {
		t.Errorf("the tolerations are %v", got.Spec.Tolerations)
	}
	if terms := got.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution; len(terms) > 0 {
		t.Errorf("the anti-affinity is %v", terms)
	}
}
