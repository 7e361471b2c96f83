package render

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// Input is everything that the objects of a LoginSet are built from.
type Input struct {
	// LoginSet and Controller are not modified.
	LoginSet   *v1beta1.LoginSet
	Controller *v1beta1.Controller
	// Image is the image of all containers if the LoginSet sets no image.
	Image string
	// AgentImage is the image of slurm-agent, which gives sackd its keys. Without
	// an image, sackd keeps the key from the start of the pod.
	AgentImage string
	// ClusterDomain is Kubernetes' DNS domain; empty is "cluster.local".
	ClusterDomain string
}

// port returns the port of the Service.
func (in Input) port() int32 {
	return cmp.Or(int32(in.LoginSet.Spec.Service.Port), names.SSHPort)
}

// selector returns the labels with which the Service and the Deployment select the login pods.
func (in Input) selector() map[string]string {
	return names.LoginSelector(in.LoginSet.Name)
}

// labels returns the labels of all objects of the LoginSet.
func (in Input) labels() map[string]string {
	out := in.selector()
	out[v1beta1.LabelCluster] = in.Controller.Name
	out[v1beta1.LabelAppComponent] = names.ComponentLogin
	return out
}

// HostKeysMeta returns the metadata of the Secret with the host keys.
func (in Input) HostKeysMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: names.LoginHostKeys(in.LoginSet.Name), Namespace: in.LoginSet.Namespace,
		Labels: in.labels()}
}

// metadata returns the metadata of an object that the LoginSet owns.
func (in Input) metadata(name string) metav1.ObjectMeta {
	kind := v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindLoginSet)
	return metav1.ObjectMeta{Name: name, Namespace: in.LoginSet.Namespace, Labels: in.labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.LoginSet, kind)}}
}
