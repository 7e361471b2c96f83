package v1beta1

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IgnoredField is a field that is set but that the operator ignores or supports only in part.
type IgnoredField struct {
	// Field is the path within spec, such as "partition".
	Field string
	// Explanation completes a sentence that begins with the field. It says what happens instead, and
	// what to do.
	Explanation string
}

// SetFieldsIgnored sets the condition FieldsIgnored of an object with the given generation, or removes it if
// no field is ignored. It reports whether the conditions have changed.
func SetFieldsIgnored(conditions *[]metav1.Condition, fields []IgnoredField, generation int64, now time.Time) bool {
	if len(fields) == 0 {
		return meta.RemoveStatusCondition(conditions, ConditionFieldsIgnored)
	}
	var messages []string
	for _, i := range fields {
		messages = append(messages, "spec."+i.Field+" "+i.Explanation)
	}
	return SetCondition(conditions, ConditionFieldsIgnored, metav1.Condition{Status: metav1.ConditionTrue,
		Reason: ReasonNotFollowed, Message: strings.Join(messages, "; ")}, generation, now)
}

// IgnoredFields returns the ignored fields of a NodeSet. For every kind, admission warns about them and
// the condition FieldsIgnored names them.
func (s *NodeSetSpec) IgnoredFields() []IgnoredField {
	var out []IgnoredField
	if s.Partition != nil && s.Partition.Enabled {
		out = append(out, IgnoredField{"partition", "is in slurm.conf only where the operator runs slurmctld; " +
			"elsewhere add PartitionName=… Nodes=<name of the NodeSet> to it"})
	}
	if s.HasSSH() && s.ClusterRef != nil {
		out = append(out, SSHNeedsContain())
	}
	if s.SSH != nil {
		out = append(out, ignoredIfOptional("ssh.sssdConfRef", s.SSH.SSSDConfRef)...)
	}
	if p := s.WorkloadDisruptionProtection; p != nil && !*p {
		out = append(out, IgnoredField{"workloadDisruptionProtection", "is supported in part: " +
			"this NodeSet gets no PodDisruptionBudget, but the budget of another NodeSet of the cluster protects its workers, " +
			"and they keep their annotations for node autoscalers"})
	}
	return out
}

// SSHNeedsContain returns the field ssh of a NodeSet whose slurm.conf the operator does not write.
func SSHNeedsContain() IgnoredField {
	return IgnoredField{"ssh", "lets nobody in unless slurm.conf has PrologFlags=Contain, which the operator sets only where " +
		"it runs slurmctld; add it there, and restart slurmctld"}
}

// IgnoredFields returns the ignored fields of a Controller.
func (s *ControllerSpec) IgnoredFields() []IgnoredField {
	out := ignoredOptionalKeys(s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef)
	out = append(out, ignoredIfOptional("sssdConfRef", s.SSSDConfRef)...)
	if s.JWKSKeyRef != nil {
		out = append(out, IgnoredField{"jwksKeyRef",
			"is not supported yet: tokens are minted only with keys for HS256"})
	}
	return out
}

// IgnoredFields returns the ignored fields of an Accounting.
func (s *AccountingSpec) IgnoredFields() []IgnoredField {
	out := ignoredOptionalKeys(s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef)
	if s.StorageConfig != nil {
		out = append(out, ignoredIfOptional("storageConfig.passwordKeyRef", &s.StorageConfig.PasswordKeyRef)...)
	}
	return out
}

// IgnoredFields returns the ignored fields of a LoginSet.
func (s *LoginSetSpec) IgnoredFields() []IgnoredField {
	return ignoredIfOptional("sssdConfRef", s.SSSDConfRef)
}

// IgnoredFields returns the ignored fields of a Cluster.
func (s *ClusterSpec) IgnoredFields() []IgnoredField {
	return ignoredIfOptional("slurmKeyRef", s.SlurmKeyRef)
}

// IgnoredFields returns the ignored fields of a Token.
func (s *TokenSpec) IgnoredFields() []IgnoredField {
	out := ignoredOptionalKeys(nil, s.JWTKeyRef, s.JWTHS256KeyRef)
	for _, i := range ignoredIfOptional("secretRef", s.SecretRef) {
		out = append(out, IgnoredField{i.Field, "has no effect: the operator creates the Secret"})
	}
	return out
}

// ignoredOptionalKeys returns an ignored field for each key reference that is marked as optional.
func ignoredOptionalKeys(slurm, jwt, jwtHS256 *corev1.SecretKeySelector) []IgnoredField {
	out := ignoredIfOptional("slurmKeyRef", slurm)
	out = append(out, ignoredIfOptional("jwtKeyRef", jwt)...)
	return append(out, ignoredIfOptional("jwtHs256KeyRef", jwtHS256)...)
}

// ignoredIfOptional returns an ignored field if the reference is marked as optional.
func ignoredIfOptional(field string, ref *corev1.SecretKeySelector) []IgnoredField {
	if ref == nil || ref.Optional == nil || !*ref.Optional {
		return nil
	}
	return []IgnoredField{{field + ".optional", "has no effect: the key is required"}}
}
