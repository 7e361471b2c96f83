package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// Claims returns the claims of one worker, named "<template>-<pod>", in the order of the templates.
// They have no owner, because the retention policy decides about them. An error names the field, or
// the name that is too long.
func Claims(in Input, id Identity) ([]*corev1.PersistentVolumeClaim, error) {
	workers, err := names.NewWorkers(in.NodeSet, in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := workers.Check(id.ID()); err != nil {
		return nil, err
	}
	templates, err := in.claimTemplates()
	if err != nil {
		return nil, err
	}
	out := make([]*corev1.PersistentVolumeClaim, len(templates))
	for i := range templates {
		c := &templates[i]
		name := workers.Claim(c.Name, id.ID())
		if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
			return nil, fmt.Errorf("naming the claim %q: %s", name, bad[0])
		}
		out[i] = &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: in.NodeSet.Namespace,
				Labels:      podspec.MergeMaps(c.Labels, names.NodeSetSelector(in.NodeSet.Name, in.Cluster)),
				Annotations: c.Annotations,
			},
			Spec: c.Spec,
		}
	}
	return out, nil
}
