package render

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Input is everything that the objects of a Controller are built from.
type Input struct {
	// Controller is not modified.
	Controller *v1beta1.Controller
	// NamespaceUID is the UID of the Controller's namespace.
	NamespaceUID types.UID
	// Image is the image of the slurmctld container if the Controller sets no image.
	Image string
	// AgentImage is the image of slurm-agent.
	AgentImage string
	// ClusterDomain is Kubernetes' DNS domain; empty is "cluster.local".
	ClusterDomain string
	// UsesIPv6 is whether Services have addresses of IPv6 (slurmconf.SlurmConf).
	UsesIPv6 bool
	// Accounting is the address of slurmdbd. An empty host means no accounting.
	Accounting refs.Address
	// NodeSets are the NodeSets that join the cluster, in the order in which slurm.conf lists them.
	NodeSets []slurmconf.NodeSet
	// AccountedTRES are the TRES that slurmctld accounts so far and that slurmdbd made.
	AccountedTRES []string
	// LeftOut is why other NodeSets of the cluster are not in slurm.conf, by name.
	LeftOut map[string]string
	// MaxWorkers is the sum of the maxima of these NodeSets.
	MaxWorkers uint64
	// Files are the users' ConfigMaps.
	Files UserFiles
}

// UserFiles are the contents of the users' ConfigMaps by file name.
type UserFiles struct {
	// Config are files beside slurm.conf.
	Config map[string]string
	// The others are scripts, by the option that runs them.
	Prolog, Epilog, PrologSlurmctld, EpilogSlurmctld map[string]string
}

// address returns where clients find slurmctld.
func (in Input) address() refs.Address { return refs.LocateSlurmctld(in.Controller).Address }

// selector returns the labels with which the Services and the StatefulSet select slurmctld's pods.
func (in Input) selector() map[string]string {
	out := names.SlurmctldSelector(in.Controller.Name)
	out[v1beta1.LabelAppInstance] = in.Controller.Name
	return out
}

// labels returns the labels of all objects of the Controller.
func (in Input) labels() map[string]string {
	out := in.selector()
	out[v1beta1.LabelAppComponent] = names.ComponentController
	return out
}
