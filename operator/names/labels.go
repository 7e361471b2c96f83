package names

import (
	"strconv"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ComponentWorker is the value of LabelAppComponent on the workers, their Service and their
// disruption budget.
const ComponentWorker = "worker"

// ComponentController is the value of LabelAppComponent on everything that belongs to a slurmctld.
const ComponentController = "controller"

// ComponentRestAPI is the value of LabelAppComponent on everything that belongs to a slurmrestd.
const ComponentRestAPI = "restapi"

// ComponentLogin is the value of LabelAppComponent on everything that belongs to a LoginSet.
const ComponentLogin = "login"

// LoginSelector selects the login pods of one LoginSet. It is unique in its namespace, as status.selector
// must be, and does not name the Controller, which may change while the selector of a Deployment may not. The
// caller may change the map.
func LoginSelector(loginSet string) map[string]string {
	return map[string]string{v1beta1.LabelAppName: v1beta1.AppLogin, v1beta1.LabelAppInstance: loginSet}
}

// ClusterLoginSelector selects the login pods of a cluster that run, whatever Controller their LoginSets refer to now. The
// caller may change the map.
func ClusterLoginSelector(controller string) map[string]string {
	return map[string]string{v1beta1.LabelAppName: v1beta1.AppLogin, v1beta1.LabelCluster: controller}
}

// ComponentAccounting is the value of LabelAppComponent on everything that belongs to a slurmdbd.
const ComponentAccounting = "accounting"

// SlurmdbdSelector selects the pods of an Accounting's slurmdbd, which may serve several clusters. The
// caller may change the map.
func SlurmdbdSelector(accounting string) map[string]string {
	return map[string]string{v1beta1.LabelAppName: v1beta1.AppSlurmdbd, v1beta1.LabelAppInstance: accounting}
}

// SlurmrestdSelector selects the pods of a RestApi's slurmrestd, whatever its Controller. The caller may change the
// map.
func SlurmrestdSelector(restAPI string) map[string]string {
	return map[string]string{v1beta1.LabelAppName: v1beta1.AppSlurmrestd, v1beta1.LabelAppInstance: restAPI}
}

// WorkerSelector selects all workers of a cluster. The caller may change the map.
func WorkerSelector(cluster string) map[string]string {
	return map[string]string{v1beta1.LabelAppName: v1beta1.AppSlurmd, v1beta1.LabelCluster: cluster}
}

// NodeSetSelector selects the workers of one NodeSet. It is unique in its namespace, as
// status.selector must be. The caller may change the map.
func NodeSetSelector(nodeSet, cluster string) map[string]string {
	out := WorkerSelector(cluster)
	out[v1beta1.LabelAppInstance] = nodeSet
	return out
}

// SlurmctldSelector selects the pods of a Controller's slurmctld. The caller may change the map.
func SlurmctldSelector(controller string) map[string]string {
	return map[string]string{v1beta1.LabelAppName: v1beta1.AppSlurmctld, v1beta1.LabelCluster: controller}
}

// Labels returns the labels with a worker's names. No other worker has the same labels.
func (w Workers) Labels(id WorkerID) map[string]string {
	out := map[string]string{v1beta1.LabelPodName: w.Pod(id)}
	if id.Ordinal != nil && !w.perKubeNode {
		out[v1beta1.LabelPodIndex] = strconv.Itoa(*id.Ordinal)
	}
	if slurm := w.SlurmNode(id); slurm != "" {
		out[v1beta1.LabelPodHostname] = slurm
	}
	return out
}

// ParseOrdinal returns the ordinal in the labels of a worker's pod, and reports whether they have one.
func ParseOrdinal(labels map[string]string) (int, bool) {
	n, err := strconv.Atoi(labels[v1beta1.LabelPodIndex])
	return n, err == nil && n >= 0
}
