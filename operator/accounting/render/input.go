package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Input is everything that the objects of an Accounting are built from.
type Input struct {
	// Accounting is not modified. It has a storageConfig.
	Accounting *v1beta1.Accounting
	// Accounts are the desired accounts of the database, or nil if the operator does not manage them.
	Accounts *slurmconf.Accounts
	// Image is the image of slurmdbd if the Accounting sets no image.
	Image string
	// AgentImage is the image of slurm-agent.
	AgentImage string
	// UsesIPv6 is whether Services have addresses of IPv6 (slurmconf.SlurmConf).
	UsesIPv6 bool
}

// JWTKeyRef returns the key of auth/jwt of an Accounting, or nil.
func JWTKeyRef(a *v1beta1.Accounting) *corev1.SecretKeySelector {
	return cmp.Or(a.Spec.JWTKeyRef, a.Spec.JWTHS256KeyRef)
}

// port returns the port of slurmdbd and of its Service.
func (in Input) port() int32 {
	return cmp.Or(int32(in.Accounting.Spec.Service.Port), names.SlurmdbdPort)
}

// selector returns the labels with which the Service and the StatefulSet select slurmdbd's pod.
func (in Input) selector() map[string]string { return names.SlurmdbdSelector(in.Accounting.Name) }

// labels returns the labels of all objects of the Accounting.
func (in Input) labels() map[string]string {
	out := in.selector()
	out[v1beta1.LabelAppComponent] = names.ComponentAccounting
	return out
}

// metadata returns the metadata of an object that the Accounting owns.
func (in Input) metadata(name string) metav1.ObjectMeta {
	kind := v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindAccounting)
	return metav1.ObjectMeta{Name: name, Namespace: in.Accounting.Namespace, Labels: in.labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.Accounting, kind)}}
}
