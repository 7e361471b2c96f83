package v1beta1

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ignored is a field that is set and that nothing follows yet, or ever.
type Ignored struct {
	// Field is its path within spec, such as "partition".
	Field string
	// Instead says what happens, and what to do.
	Instead string
}

// SetFieldsIgnored sets the condition FieldsIgnored of an object of a generation, or takes
// it away where no field is ignored. It reports whether anything has changed.
func SetFieldsIgnored(conditions *[]metav1.Condition, fields []Ignored, generation int64, now time.Time) bool {
	if len(fields) == 0 {
		return meta.RemoveStatusCondition(conditions, ConditionFieldsIgnored)
	}
	var told []string
	for _, i := range fields {
		told = append(told, "spec."+i.Field+" "+i.Instead)
	}
	return meta.SetStatusCondition(conditions, metav1.Condition{
		Type: ConditionFieldsIgnored, Status: metav1.ConditionTrue, Reason: ReasonNotFollowed, Message: strings.Join(told, "; "),
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}

// IgnoredFields are those of a NodeSet. Admission warns of them, and the condition
// FieldsIgnored names them; so it is with all kinds.
func (s *NodeSetSpec) IgnoredFields() []Ignored {
	var out []Ignored
	if s.Partition != nil && s.Partition.Enabled {
		out = append(out, Ignored{"partition", "is not followed yet: no partition is made, so write PartitionName=… Nodes=<name of the NodeSet> into slurm.conf"})
	}
	if s.SSH != nil && s.SSH.Enabled {
		out = append(out, Ignored{"ssh", "is not followed yet: no workers are made for a NodeSet with ssh.enabled"})
	}
	if s.SSH != nil {
		out = append(out, optional("ssh.sssdConfRef", &s.SSH.SSSDConfRef)...)
	}
	if p := s.WorkloadDisruptionProtection; p != nil && !*p {
		out = append(out, Ignored{"workloadDisruptionProtection", "is followed in part: no budget is made for this NodeSet, but its workers are protected where another NodeSet of the cluster has one, and keep their annotations for cluster autoscalers"})
	}
	return out
}

// IgnoredFields are those of a Controller.
func (s *ControllerSpec) IgnoredFields() []Ignored {
	out := optionalKeys(s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef)
	if s.JWKSKeyRef != nil {
		out = append(out, Ignored{"jwksKeyRef", "is not followed yet: tokens are minted with keys for HS256 only"})
	}
	return out
}

// IgnoredFields are those of an Accounting.
func (s *AccountingSpec) IgnoredFields() []Ignored {
	out := optionalKeys(s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef)
	if s.JWKSKeyRef != nil {
		out = append(out, Ignored{"jwksKeyRef", "is not followed yet: no slurmdbd is made that reads it"})
	}
	if s.StorageConfig != nil {
		out = append(out, optional("storageConfig.passwordKeyRef", &s.StorageConfig.PasswordKeyRef)...)
	}
	return out
}

// IgnoredFields are those of a LoginSet.
func (s *LoginSetSpec) IgnoredFields() []Ignored { return optional("sssdConfRef", &s.SSSDConfRef) }

// IgnoredFields are those of a Cluster.
func (s *ClusterSpec) IgnoredFields() []Ignored { return optional("slurmKeyRef", s.SlurmKeyRef) }

// IgnoredFields are those of a Token.
func (s *TokenSpec) IgnoredFields() []Ignored {
	out := optionalKeys(nil, s.JWTKeyRef, s.JWTHS256KeyRef)
	for _, i := range optional("secretRef", s.SecretRef) {
		out = append(out, Ignored{i.Field, "has no effect: the Secret is made"})
	}
	return out
}

// optionalKeys are the references to keys of a cluster that are optional.
func optionalKeys(slurm, jwt, jwtHS256 *corev1.SecretKeySelector) []Ignored {
	out := optional("slurmKeyRef", slurm)
	out = append(out, optional("jwtKeyRef", jwt)...)
	return append(out, optional("jwtHs256KeyRef", jwtHS256)...)
}

// optional is the field optional of a reference, where it is true.
func optional(field string, ref *corev1.SecretKeySelector) []Ignored {
	if ref == nil || ref.Optional == nil || !*ref.Optional {
		return nil
	}
	return []Ignored{{field + ".optional", "has no effect: the key is needed"}}
}
