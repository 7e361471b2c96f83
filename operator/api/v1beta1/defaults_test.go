package v1beta1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		name, plural, manifest, want string
	}{
		{
			"of a NodeSet", "nodesets", spec("controllerRef: {name: slurm}"),
			`{controllerRef: {name: slurm}, replicas: 1, scalingMode: StatefulSet, revisionHistoryLimit: 0, ordinalPadding: 0,
			  oversubscribeNode: false, pinToNode: false, securityProfile: Privileged, cordonKubeNodes: false,
			  pruneSlurmNodeRecords: Never, workloadDisruptionProtection: true}`,
		},
		{
			"of the parts of a NodeSet", "nodesets",
			spec("clusterRef: {name: slurm}", "partition: {}", "ssh: {sssdConfRef: {key: sssd.conf}}",
				"persistentVolumeClaimRetentionPolicy: {}", "drainPolicy: {}",
				"updateStrategy: {rollingUpdate: {}, scheduledUpdate: {}}"),
			`{clusterRef: {name: slurm}, replicas: 1, scalingMode: StatefulSet, revisionHistoryLimit: 0, ordinalPadding: 0,
			  oversubscribeNode: false, pinToNode: false, securityProfile: Privileged, cordonKubeNodes: false,
			  pruneSlurmNodeRecords: Never, workloadDisruptionProtection: true,
			  partition: {enabled: false}, ssh: {enabled: false, sssdConfRef: {name: "", key: sssd.conf}},
			  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain},
			  drainPolicy: {type: Wait},
			  updateStrategy: {type: RollingUpdate, paused: false, rollingUpdate: {maxUnavailable: 25%}, scheduledUpdate: {duration: 30m}}}`,
		},
		{
			"of a Controller", "controllers",
			spec("slurmKeyRef: {name: k, key: a}", "jwtKeyRef: {name: k, key: b}", "ha: {}", "persistence: {}",
				"metrics: {serviceMonitor: {}}"),
			`{slurmKeyRef: {name: k, key: a}, jwtKeyRef: {name: k, key: b}, external: false, inplaceReconfigure: false,
			  ha: {enabled: false, backups: 1}, persistence: {enabled: true}, metrics: {enabled: false, serviceMonitor: {enabled: false}}}`,
		},
		{
			"of a RestApi", "restapis", spec("controllerRef: {name: slurm}"),
			`{controllerRef: {name: slurm}, replicas: 1}`,
		},
		{
			"of an Accounting", "accountings",
			spec("slurmKeyRef: {name: k, key: a}", "jwtKeyRef: {name: k, key: b}",
				"storageConfig: {host: db, passwordKeyRef: {key: p}}"),
			`{slurmKeyRef: {name: k, key: a}, jwtKeyRef: {name: k, key: b}, external: false,
			  storageConfig: {host: db, port: 3306, database: slurm_acct_db, passwordKeyRef: {name: "", key: p}}}`,
		},
		{
			"of a LoginSet", "loginsets",
			spec("controllerRef: {name: slurm}", "sssdConfRef: {name: sssd, key: sssd.conf}"),
			`{controllerRef: {name: slurm}, sssdConfRef: {name: sssd, key: sssd.conf}, replicas: 1}`,
		},
		{
			"of a Token", "tokens", spec("username: root", "jwtKeyRef: {name: k, key: a}", "secretRef: {key: token}"),
			`{username: root, jwtKeyRef: {name: k, key: a}, refresh: true, secretRef: {name: "", key: token}}`,
		},
		{
			"of a Cluster", "clusters",
			spec("server: https://slurm.example.com", "token: {secretRef: {name: t, key: token}}", "caRef: {name: ca}",
				"slurmctld: {host: ctld}"),
			`{server: "https://slurm.example.com", token: {secretRef: {name: t, key: token}},
			  caRef: {kind: Secret, name: ca, key: ca.crt}, slurmctld: {host: ctld, port: 6817}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := loadResource(t, c.plural).mustAdmit(t, c.manifest)["spec"]
			if diff := cmp.Diff(parseYAML(t, c.want), parseYAML(t, marshalJSON(t, got))); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenFieldsKeepWhatTheSchemaDoesNotKnow(t *testing.T) {
	for plural, manifest := range map[string]string{
		"nodesets": spec("controllerRef: {name: slurm}",
			"slurmd: {image: slurmd, new: 1, securityContext: {privileged: false}}",
			"logfile: {image: alpine, new: 2}",
			`template: {new: 3, metadata: {labels: {a: b}}, spec: {hostNetwork: false, hostname: "", new: 4}}`,
			"volumeClaimTemplates: [{kind: PersistentVolumeClaim, metadata: {name: v, labels: {a: b}}, spec: {new: 5}}]"),
		"controllers": spec("slurmKeyRef: {name: k, key: a}", "jwtKeyRef: {name: k, key: b}",
			"slurmctld: {new: 1}", "reconfigure: {new: 2}", "logfile: {new: 3}", "template: {spec: {new: 4}}",
			"service: {spec: {new: 5}}"),
		"restapis": spec("controllerRef: {name: slurm}", "slurmrestd: {new: 1}", "service: {spec: {clusterIP: None}}"),
		"accountings": spec("slurmKeyRef: {name: k, key: a}", "jwtKeyRef: {name: k, key: b}",
			"slurmdbd: {new: 1}", "template: {new: 2}", "service: {spec: {new: 3}}"),
		"loginsets": spec("controllerRef: {name: slurm}", "sssdConfRef: {name: s, key: k}",
			"login: {new: 1, securityContext: {privileged: false}}", "initconf: {new: 2}", "template: {new: 3}",
			"service: {spec: {new: 4}}"),
	} {
		got := loadResource(t, plural).mustAdmit(t, manifest)["spec"].(map[string]any)
		for field, want := range parseYAML(t, manifest)["spec"].(map[string]any) {
			if diff := cmp.Diff(want,
				parseYAML(t, marshalJSON(t, map[string]any{field: got[field]}))[field]); diff != "" {
				t.Errorf("%s, %s (-written +kept):\n%s", plural, field, diff)
			}
		}
	}
}

func TestUnknownFieldsElsewhereAreDropped(t *testing.T) {
	got := loadResource(t, "nodesets").mustAdmit(t, spec("controllerRef: {name: slurm, kind: Controller}", "size: 3",
		"template: {metadata: {name: a}}"))
	in := got["spec"].(map[string]any)
	if _, there := in["size"]; there {
		t.Error("spec.size is preserved")
	}
	if diff := cmp.Diff(map[string]any{"name": "slurm"}, in["controllerRef"]); diff != "" {
		t.Errorf("controllerRef (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"metadata": map[string]any{}}, in["template"]); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestWrittenZerosSurviveGo(t *testing.T) {
	manifests := map[string]string{
		"nodesets": spec("clusterRef: {name: slurm}", "replicas: 0", "maxReplicas: 0",
			"workloadDisruptionProtection: false",
			"updateStrategy: {rollingUpdate: {maxUnavailable: 0}}"),
		"controllers": spec("external: true", "externalConfig: {host: h, port: 1}",
			"persistence: {enabled: false, resources: {}}"),
		"restapis": spec("controllerRef: {name: slurm}", "replicas: 0"),
	}
	for plural, manifest := range manifests {
		r := loadResource(t, plural)
		want := r.mustAdmit(t, manifest)
		got := r.mustAdmit(t, roundTripGo(t, objects()[plural], marshalJSON(t, want)))
		for _, field := range []string{"replicas", "maxReplicas", "workloadDisruptionProtection", "persistence",
			"updateStrategy"} {
			in, out := want["spec"].(map[string]any)[field], got["spec"].(map[string]any)[field]
			if diff := cmp.Diff(marshalJSON(t, in), marshalJSON(t, out)); diff != "" {
				t.Errorf("%s, %s (-written +after Go):\n%s", plural, field, diff)
			}
		}
	}
}

func TestAnAbsentFieldStaysAbsentInGo(t *testing.T) {
	manifest := `{"metadata":{"name":"a"},"spec":{"controllerRef":{"name":"slurm"}}}`
	if diff := cmp.Diff(manifest, roundTripGo(t, v1beta1.NodeSet{}, manifest)); diff != "" {
		t.Errorf("(-written +after Go):\n%s", diff)
	}
}

func TestSchemeKnowsEveryKind(t *testing.T) {
	scheme := runtime.NewScheme()
	for range 2 { // adding twice is not an error
		if err := v1beta1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, plural := range plurals() {
		kind := loadResource(t, plural).crd.Spec.Names.Kind
		for _, name := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(v1beta1.SchemeGroupVersion.WithKind(name)) {
				t.Errorf("the scheme does not know %s", name)
			}
		}
	}
}

func TestCopiesShareNothing(t *testing.T) {
	replicas := int32(1)
	original := &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{
		ControllerRef: &corev1.LocalObjectReference{Name: "slurm"}, Replicas: &replicas,
	}}
	clone := original.DeepCopy()
	*clone.Spec.Replicas, clone.Spec.ControllerRef.Name = 2, "other"
	if replicas != 1 || original.Spec.ControllerRef.Name != "slurm" {
		t.Errorf("changing the copy changed the original: %d, %s", replicas, original.Spec.ControllerRef.Name)
	}
}

// roundTripGo unmarshals a manifest into the Go type of like and marshals it again.
func roundTripGo(t *testing.T, like any, manifest string) string {
	t.Helper()
	typed := reflect.New(reflect.TypeOf(like)).Interface()
	if err := json.Unmarshal([]byte(manifest), typed); err != nil {
		t.Fatal(err)
	}
	return marshalJSON(t, typed)
}

func marshalJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// parseYAML parses YAML or JSON, with all numbers of one type.
func parseYAML(t *testing.T, manifest string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
