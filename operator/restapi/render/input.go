package render

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Input is everything that the objects of a RestApi are built from.
type Input struct {
	// RestAPI and Controller are not modified.
	RestAPI    *v1beta1.RestApi
	Controller *v1beta1.Controller
	// Includes are the files that spec.extraConf of the Controller may include, by name.
	Includes map[string]string
	// Accounting is the address of slurmdbd. An empty host means no accounting.
	Accounting refs.Address
	// Image is the image of slurmrestd if the RestApi sets no image.
	Image string
	// AgentImage is the image of slurm-agent, which ends TLS. It is needed only for a RestApi with TLS.
	AgentImage string
	// UsesIPv6 is whether Services have addresses of IPv6 (slurmconf.SlurmConf).
	UsesIPv6 bool
}

// port returns the port of the Service, which without TLS is slurmrestd's port.
func (in Input) port() int32 { return refs.RestAPIPort(in.RestAPI) }

// selector returns the labels with which the Service and the Deployment select slurmrestd's pods.
func (in Input) selector() map[string]string {
	return names.SlurmrestdSelector(in.RestAPI.Name)
}

// labels returns the labels of all objects of the RestApi.
func (in Input) labels() map[string]string {
	out := in.selector()
	out[v1beta1.LabelCluster] = in.Controller.Name
	out[v1beta1.LabelAppComponent] = names.ComponentRestAPI
	return out
}

// metadata returns the metadata of an object that the RestApi owns.
func (in Input) metadata(name string) metav1.ObjectMeta {
	kind := v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindRestApi)
	return metav1.ObjectMeta{Name: name, Namespace: in.RestAPI.Namespace, Labels: in.labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.RestAPI, kind)}}
}
