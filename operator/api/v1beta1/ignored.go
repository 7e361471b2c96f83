package v1beta1

// Ignored is a field that is set and that nothing follows yet.
type Ignored struct {
	// Field is its path within spec, such as "partition".
	Field string
	// Instead says what happens, and what to do.
	Instead string
}

// IgnoredFields are those of a NodeSet. Admission warns of them, and the condition
// FieldsIgnored names them.
func (s *NodeSetSpec) IgnoredFields() []Ignored {
	var out []Ignored
	if s.Partition != nil && s.Partition.Enabled {
		out = append(out, Ignored{"partition", "is not followed yet: no partition is made, so write PartitionName=… Nodes=<name of the NodeSet> into slurm.conf"})
	}
	if s.SSH != nil && s.SSH.Enabled {
		out = append(out, Ignored{"ssh", "is not followed yet: no workers are made for a NodeSet with ssh.enabled"})
	}
	if p := s.WorkloadDisruptionProtection; p != nil && !*p {
		out = append(out, Ignored{"workloadDisruptionProtection", "is followed in part: no budget is made for this NodeSet, but its workers are protected where another NodeSet of the cluster has one, and keep their annotations for cluster autoscalers"})
	}
	return out
}

// IgnoredFields are those of a Controller.
func (s *ControllerSpec) IgnoredFields() []Ignored {
	if s.JWKSKeyRef == nil {
		return nil
	}
	return []Ignored{{"jwksKeyRef", "is not followed yet: tokens are minted with keys for HS256 only"}}
}
