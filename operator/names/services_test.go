package names

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestNamesOfChildren holds the names fast: users' manifests and running workers contain them.
func TestNamesOfChildren(t *testing.T) {
	for _, tc := range []struct{ name, got, want string }{
		{"slurmctld's Service", ControllerService("blue"), "blue-controller"},
		{"the Service of each slurmctld", ControllerInternalService("blue"), "blue-controller-internal"},
		{"the StatefulSet of slurmctld", ControllerStatefulSet("blue"), "blue-controller"},
		{"the second pod of slurmctld", ControllerPod("blue", 1), "blue-controller-1"},
		{"the Service of the second slurmctld", ControllerPodService("blue", 1), "blue-controller-1"},
		{"the ConfigMap of slurmctld", ControllerConfigMap("blue"), "blue-config"},
		{"slurmdbd's Service", AccountingService("blue"), "blue-accounting"},
		{"slurmdbd's StatefulSet", AccountingStatefulSet("blue"), "blue-accounting"},
		{"slurmdbd's pod", AccountingPod("blue"), "blue-accounting-0"},
		{"slurmdbd's ConfigMap", AccountingConfigMap("blue"), "blue-accounting-config"},
		{"slurmrestd's Service", RestAPIService("blue"), "blue-restapi"},
		{"slurmrestd's Deployment", RestAPIDeployment("blue"), "blue-restapi"},
		{"slurmrestd's ConfigMap", RestAPIConfigMap("blue"), "blue-restapi-config"},
		{"the workers' Service", WorkerService("blue"), "slurm-workers-blue"},
		{"the host keys of workers", WorkerHostKeys("blue"), "blue-ssh-host-keys"},
		{"the workers' disruption budget", WorkerBudget("blue"), "slurm-workers-pdb-blue"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s is %s, not %s", tc.name, tc.got, tc.want)
		}
	}
}

func TestTokenSecret(t *testing.T) {
	for _, tc := range []struct {
		name   string
		secret *corev1.SecretKeySelector
		want   string
	}{
		{"none is named after Token and user", nil, "t-jwt-alice"},
		{"an empty one is, too", &corev1.SecretKeySelector{}, "t-jwt-alice"},
		{"that of the reference", &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "own"}, Key: "k"}, "own"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			token := &v1beta1.Token{Spec: v1beta1.TokenSpec{Username: "alice", SecretRef: tc.secret}}
			token.Name = "t"
			if got := TokenSecret(token); got != tc.want {
				t.Errorf("it is %s, not %s", got, tc.want)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	for _, tc := range []struct {
		name      string
		got, want map[string]string
	}{
		{"workers of a cluster", WorkerSelector("blue"), map[string]string{
			"app.kubernetes.io/name": "slurmd", "slinky.slurm.net/cluster": "blue"}},
		{"workers of a NodeSet", NodeSetSelector("gpu", "blue"), map[string]string{
			"app.kubernetes.io/name": "slurmd", "slinky.slurm.net/cluster": "blue",
			"app.kubernetes.io/instance": "gpu"}},
		{"slurmctld", SlurmctldSelector("blue"), map[string]string{
			"app.kubernetes.io/name": "slurmctld", "slinky.slurm.net/cluster": "blue"}},
		{"slurmdbd", SlurmdbdSelector("blue"), map[string]string{
			"app.kubernetes.io/name": "slurmdbd", "app.kubernetes.io/instance": "blue"}},
	} {
		if !maps.Equal(tc.got, tc.want) {
			t.Errorf("%s: %v, not %v", tc.name, tc.got, tc.want)
		}
	}
}
