package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Revision is a state of a NodeSet that workers are created from.
type Revision struct {
	// Hash is the value of LabelRevision on its workers, and of status.nodeSetHash.
	Hash string
	// Name is the name of its ControllerRevision.
	Name string
	// Data is the JSON of the fields that the revision covers; AtRevision restores them.
	Data []byte
}

// revisionData contains the fields that a revision covers. Their order and names are part of the
// hash: a change here replaces all workers of all NodeSets.
type revisionData struct {
	Template          v1beta1.PodTemplate      `json:"template,omitzero"`
	Slurmd            v1beta1.Raw              `json:"slurmd,omitzero"`
	Logfile           v1beta1.Raw              `json:"logfile,omitzero"`
	ExtraConf         string                   `json:"extraConf,omitempty"`
	SSH               *v1beta1.NodeSetSSH      `json:"ssh,omitempty"`
	OrdinalPadding    int                      `json:"ordinalPadding,omitempty"`
	OversubscribeNode bool                     `json:"oversubscribeNode,omitempty"`
	SecurityProfile   v1beta1.SecurityProfile  `json:"securityProfile,omitempty"`
	Endpoint          refs.Address             `json:"endpoint"`
	Slurmctlds        []refs.Address           `json:"slurmctlds,omitempty"`
	SlurmKey          corev1.SecretKeySelector `json:"slurmKey"`
	Hashes            map[string]string        `json:"hashes,omitempty"`
}

// RevisionOf returns the revision of the NodeSet's spec. It fails if an open part of the spec is
// not JSON.
func RevisionOf(in Input) (Revision, error) {
	spec := &in.NodeSet.Spec
	r := revisionData{
		Template: spec.Template, Slurmd: spec.Slurmd, Logfile: spec.Logfile, ExtraConf: spec.ExtraConf,
		OrdinalPadding: spec.OrdinalPadding, OversubscribeNode: spec.OversubscribeNode,
		Endpoint: in.Endpoint, Slurmctlds: in.Slurmctlds, SlurmKey: in.SlurmKey, Hashes: in.Hashes,
	}
	if spec.SSH != nil && spec.SSH.Enabled {
		r.SSH = spec.SSH
	}
	if spec.SecurityProfile != v1beta1.SecurityPrivileged { // the default counts as absent
		r.SecurityProfile = spec.SecurityProfile
	}
	object, err := podspec.EncodeObject(r)
	if err != nil {
		return Revision{}, fmt.Errorf("encoding the revision of nodeset %s: %w", in.NodeSet.Name, err)
	}
	data, err := json.Marshal(object) // sorts the keys at every depth
	if err != nil {
		return Revision{}, fmt.Errorf("encoding the revision of nodeset %s: %w", in.NodeSet.Name, err)
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:5])
	return Revision{Hash: hash, Name: in.NodeSet.Name + "-" + hash, Data: data}, nil
}

// AtRevision returns the input with the Data of a revision restored. Workers that keep an old revision are
// rendered from it. Fields that a revision does not cover stay unchanged.
func (in Input) AtRevision(data []byte) (Input, error) {
	var r revisionData
	if err := json.Unmarshal(data, &r); err != nil {
		return Input{}, fmt.Errorf("decoding a revision of nodeset %s: %w", in.NodeSet.Name, err)
	}
	in.NodeSet = in.NodeSet.DeepCopy()
	spec := &in.NodeSet.Spec
	spec.Template, spec.Slurmd, spec.Logfile, spec.ExtraConf = r.Template, r.Slurmd, r.Logfile, r.ExtraConf
	spec.SSH, spec.OrdinalPadding, spec.OversubscribeNode = r.SSH, r.OrdinalPadding, r.OversubscribeNode
	spec.SecurityProfile = r.SecurityProfile
	if spec.SecurityProfile == "" {
		spec.SecurityProfile = v1beta1.SecurityPrivileged
	}
	in.Endpoint, in.Slurmctlds, in.SlurmKey, in.Hashes = r.Endpoint, r.Slurmctlds, r.SlurmKey, r.Hashes
	return in, nil
}

// IsRevisionData reports whether data is of a Revision, not of another operator's.
func IsRevisionData(data []byte) bool {
	var required struct{ Endpoint, SlurmKey json.RawMessage }
	return json.Unmarshal(data, &required) == nil && required.Endpoint != nil && required.SlurmKey != nil
}

// RevisionObject returns the ControllerRevision that stores a revision. Each new revision needs a
// larger number.
func RevisionObject(in Input, r Revision, number int64) *appsv1.ControllerRevision {
	labels := names.NodeSetSelector(in.NodeSet.Name, in.Cluster)
	labels[LabelRevision] = r.Hash
	return &appsv1.ControllerRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"},
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name, Namespace: in.NodeSet.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{Owner(in.NodeSet)},
		},
		Data:     runtime.RawExtension{Raw: r.Data},
		Revision: number,
	}
}
