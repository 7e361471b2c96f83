package render

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// Service returns the headless Service that gives the workers of a cluster, of all its NodeSets,
// their DNS names, also while they are not Ready.
func Service(cluster, namespace string, owners ...metav1.OwnerReference) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: clusterMeta(names.WorkerService(cluster), cluster, namespace, owners),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 names.WorkerSelector(cluster),
			Ports: []corev1.ServicePort{{
				Name: "slurmd", Protocol: corev1.ProtocolTCP, Port: names.SlurmdPort,
				TargetPort: intstr.FromString("slurmd")}},
		},
	}
}

// Budget returns the disruption budget that protects all workers of a cluster that have work from eviction.
// minAvailable is a number that no count reaches. Kubernetes would compute a percentage or maxUnavailable
// from the replicas of the owners, which are fewer than the pods during scale-in. Unready workers are
// protected as well (IfHealthyBudget), because a job may be running although slurmd does not respond.
func Budget(cluster, namespace string, owners ...metav1.OwnerReference) *policyv1.PodDisruptionBudget {
	selector := names.WorkerSelector(cluster)
	selector[v1beta1.LabelPodProtect] = "true"
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: clusterMeta(names.WorkerBudget(cluster), cluster, namespace, owners),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               new(intstr.FromInt32(math.MaxInt32)),
			Selector:                   &metav1.LabelSelector{MatchLabels: selector},
			UnhealthyPodEvictionPolicy: new(policyv1.IfHealthyBudget),
		},
	}
}

func clusterMeta(name, cluster, namespace string, owners []metav1.OwnerReference) metav1.ObjectMeta {
	labels := names.WorkerSelector(cluster)
	labels[v1beta1.LabelAppComponent] = names.ComponentWorker
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels, OwnerReferences: owners}
}
