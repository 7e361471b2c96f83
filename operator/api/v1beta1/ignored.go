package v1beta1

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IgnoredField is a field that is set but that the operator ignores or supports only in part.
type Ignored struct {
	// Field is the path within spec, such as "partition".
	Field string
	// Explanation completes a sentence that begins with the field. It says what happens instead, and
	// what to do.
	Instead string
}

// SetFieldsIgnored sets the condition FieldsIgnored of an object with the given generation, or removes it if
// no field is ignored. It reports whether the conditions have changed.
func SetFieldsIgnored(conditions *[]metav1.Condition, fields []Ignored, generation int64, now time.Time) bool {
	if len(fields) == 0 {
		return meta.RemoveStatusCondition(conditions, ConditionFieldsIgnored)
	}
	var messages []string
	for _, i := range fields {
		messages = append(messages, "spec."+i.Field+" "+i.Instead)
	}
	return meta.SetStatusCondition(conditions, metav1.Condition{
		Type: ConditionFieldsIgnored, Status: metav1.ConditionTrue, Reason: ReasonNotFollowed,
		Message:            strings.Join(messages, "; "),
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}

// IgnoredFields returns the ignored fields of a NodeSet. For every kind, admission warns about them and
// the condition FieldsIgnored names them.
func (s *NodeSetSpec) IgnoredFields() []Ignored {
	var out []Ignored
	if s.Partition != nil && s.Partition.Enabled {
		out = append(out, Ignored{"partition", "is not supported yet: the operator creates no partition; " +
			"add PartitionName=… Nodes=<name of the NodeSet> to slurm.conf"})
	}
	if s.SSH != nil && s.SSH.Enabled {
		out = append(out, Ignored{"ssh", "is not supported yet: the operator creates no workers while ssh.enabled is true"})
	}
	if s.SSH != nil {
		out = append(out, optional("ssh.sssdConfRef", &s.SSH.SSSDConfRef)...)
	}
	if p := s.WorkloadDisruptionProtection; p != nil && !*p {
		out = append(out, Ignored{"workloadDisruptionProtection", "is supported in part: " +
			"this NodeSet gets no PodDisruptionBudget, but the budget of another NodeSet of the cluster protects its workers, " +
			"and they keep their annotations for node autoscalers"})
	}
	return out
}

// IgnoredFields returns the ignored fields of a Controller.
func (s *ControllerSpec) IgnoredFields() []Ignored {
	out := optionalKeys(s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef)
	if s.JWKSKeyRef != nil {
		out = append(out, Ignored{"jwksKeyRef", "is not supported yet: tokens are minted only with keys for HS256"})
	}
	return out
}

// IgnoredFields returns the ignored fields of an Accounting.
func (s *AccountingSpec) IgnoredFields() []Ignored {
	out := optionalKeys(s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef)
	if s.JWKSKeyRef != nil {
		out = append(out, Ignored{"jwksKeyRef", "is not supported yet: the operator runs no slurmdbd"})
	}
	if s.StorageConfig != nil {
		out = append(out, optional("storageConfig.passwordKeyRef", &s.StorageConfig.PasswordKeyRef)...)
	}
	return out
}

// IgnoredFields returns the ignored fields of a LoginSet.
func (s *LoginSetSpec) IgnoredFields() []Ignored { return optional("sssdConfRef", &s.SSSDConfRef) }

// IgnoredFields returns the ignored fields of a Cluster.
func (s *ClusterSpec) IgnoredFields() []Ignored { return optional("slurmKeyRef", s.SlurmKeyRef) }

// IgnoredFields returns the ignored fields of a Token.
func (s *TokenSpec) IgnoredFields() []Ignored {
	out := optionalKeys(nil, s.JWTKeyRef, s.JWTHS256KeyRef)
	for _, i := range optional("secretRef", s.SecretRef) {
		out = append(out, Ignored{i.Field, "has no effect: the operator creates the Secret"})
	}
	return out
}

// ignoredOptionalKeys returns an ignored field for each key reference that is marked as optional.
func optionalKeys(slurm, jwt, jwtHS256 *corev1.SecretKeySelector) []Ignored {
	out := optional("slurmKeyRef", slurm)
	out = append(out, optional("jwtKeyRef", jwt)...)
	return append(out, optional("jwtHs256KeyRef", jwtHS256)...)
}

// ignoredIfOptional returns an ignored field if the reference is marked as optional.
func optional(field string, ref *corev1.SecretKeySelector) []Ignored {
	if ref == nil || ref.Optional == nil || !*ref.Optional {
		return nil
	}
	return []Ignored{{field + ".optional", "has no effect: the key is required"}}
}
