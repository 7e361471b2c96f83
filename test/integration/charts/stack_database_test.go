//go:build e2e

package charts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestTheDatabaseOfTheStack: the database runs only if the values enable it, and if the stack's slurmdbd uses no other database.
func TestTheDatabaseOfTheStack(t *testing.T) {
	for _, tc := range []struct {
		values string
		runs   bool
		// isGenerated is whether the operator generates its password.
		isGenerated bool
	}{
		{"mariadb.enabled=true", true, true},
		{"mariadb.image=null", true, true},
		{"mariadb.persistence=null", true, true},
		{"install=null", true, true},
		{"mariadb.enabled=false", false, true}, // the user runs one of that name
		{"install.cluster=false", false, false},
		{"slurm.accounting.enabled=false", false, false},
		{"slurm.accounting.external=true", false, false},
		{"slurm.accounting.storageConfig.host=db.example.com", false, false},
		{"slurm.accounting.storageConfig=null", false, false},
		{"slurm.accounting.storageConfig.host=slurm-mariadb.slurm.svc", true, true},
		{"slurm.accounting.storageConfig.host=slurm-mariadb-2", false, false},
		{"slurm.accounting.storageConfig.passwordKeyRef.name=mine", true, false},
		{"slurm.accounting.storageConfig.generatePasswordFor=", true, false},
	} {
		text, err := renderChart(t, "slurm-stack", setValues(tc.values)...)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(tc.values, "=null") && runsAsEver(t, text) != tc.runs {
			t.Errorf("with %s MariaDB is another one:\n%s", tc.values, text)
		}
		_, runs := objectsOfKind[appsv1.StatefulSet](t, text, "StatefulSet")["slurm-mariadb"]
		isGenerated := false
		if a := objectsOfKind[v1beta1.Accounting](t, text, "Accounting")["slurm"]; a != nil {
			isGenerated = a.Annotations[v1beta1.AnnotationGenerateKeys] == v1beta1.GenerateStoragePassword
		}
		if runs != tc.runs || isGenerated != tc.isGenerated {
			t.Errorf("with %s it runs: %t, and its password is generated: %t", tc.values, runs, isGenerated)
		}
		if _, has := objectsOfKind[corev1.Secret](t, text, "Secret")["slurm-mariadb"]; has {
			t.Errorf("with %s the chart has the Secret, which GitOps would render with another password each time", tc.values)
		}
	}
	text, err := renderChart(t, "slurm-stack", setValues("global.imageRegistry=registry.example.com,slurm.imagePullSecrets[0].name=pull,"+
		"slurm.namespaceOverride=hpc,slurm-operator.namespaces[0]=hpc,slurm-metrics.rbac.secretNamespaces[0]=hpc,slurm.accounting.storageConfig.port=3307,mariadb.nodeSelector.disk=ssd,mariadb.priorityClassName=high,mariadb.tolerations[0].key=db,"+
		"slurm.accounting.storageConfig.username=other,slurm.accounting.storageConfig.passwordKeyRef.key=pass")...)
	if err != nil {
		t.Fatal(err)
	}
	set := objectsOfKind[appsv1.StatefulSet](t, text, "StatefulSet")["slurm-mariadb"]
	pod := set.Spec.Template.Spec
	container := pod.Containers[0]
	if !strings.HasPrefix(container.Image, "registry.example.com/library/mariadb:") || len(pod.ImagePullSecrets) != 1 ||
		pod.NodeSelector["disk"] != "ssd" || pod.PriorityClassName != "high" || len(pod.Tolerations) != 1 {
		t.Errorf("the pod is %+v", pod)
	}
	service := objectsOfKind[corev1.Service](t, text, "Service")["slurm-mariadb"]
	if set.Namespace != "hpc" || service.Namespace != "hpc" || service.Spec.Ports[0].Port != 3307 {
		t.Errorf("slurmdbd does not find the database in %s: %+v", set.Namespace, service)
	}
	if _, has := objectsOfKind[v1beta1.NodeSet](t, mustRun(t)(renderChart(t, "slurm-stack", setValues("slurm.nodesets.cpu=null")...)), "NodeSet")["slurm-worker-cpu"]; has {
		t.Error("null does not take the NodeSet away")
	}
	env := map[string]corev1.EnvVar{}
	for _, e := range container.Env {
		env[e.Name] = e
	}
	if env["MARIADB_USER"].Value != "other" || env["MARIADB_PASSWORD"].ValueFrom.SecretKeyRef.Key != "pass" {
		t.Errorf("the environment is %+v", container.Env)
	}
}

// runsAsEver reports whether MariaDB runs as with the default values.
func runsAsEver(t *testing.T, text string) bool {
	t.Helper()
	usual, err := renderChart(t, "slurm-stack")
	if err != nil {
		t.Fatal(err)
	}
	const kind, name = "StatefulSet", "slurm-mariadb"
	return cmp.Equal(objectsOfKind[appsv1.StatefulSet](t, usual, kind)[name], objectsOfKind[appsv1.StatefulSet](t, text, kind)[name])
}

// TestTheNotesOfTheStackNameItsCluster, by its name and namespace.
func TestTheNotesOfTheStackNameItsCluster(t *testing.T) {
	notes := renderNotes(t, "slurm-stack", "minimal", "1.37", setValues("slurm.namespaceOverride=hpc,slurm-operator.namespaces[0]=hpc,slurm-metrics.rbac.secretNamespaces[0]=hpc,slurm.fullnameOverride=big")...)
	for _, want := range []string{"--namespace hpc exec statefulset/big-controller ", "helm uninstall test --namespace slurm "} {
		if !strings.Contains(notes, want) {
			t.Errorf("there is no %q:\n%s", want, notes)
		}
	}
}
