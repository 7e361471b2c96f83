package doctor

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/slurmtide/slurmtide/operator/holder"
)

// checkNamespaces finds the objects in namespaces in which no operator works although one runs: its flag --namespaces lacks them. An
// operator from before there were Leases of namespaces has none anywhere.
func checkNamespaces(observed *Observed) []Finding {
	if observed.Operator == nil || len(observed.Operator.Namespaces) == 0 || len(checkOperator(observed)) > 0 {
		return nil
	}
	var out []Finding
	for on, object := range observed.operatedObjects() {
		if _, held := holder.Of(observed.Now, object); held || observed.isManaged(on.Namespace) {
			continue
		}
		out = append(out, newFinding(NamespaceNotManaged, on, "an operator runs, and none works in namespace %s", on.Namespace).
			withCure("add the namespace to the operator's flag --namespaces: slurm-operator.namespaces of the chart slurm-stack, which has the "+
				"namespace of its release alone, or namespaces of the chart slurm-operator").
			withCommand("kubectl get leases --all-namespaces --field-selector metadata.name=slurm-operator-namespace"))
	}
	return out
}

// isManaged reports whether an operator holds the Lease of a namespace, or has held it until a moment ago.
func (observed *Observed) isManaged(namespace string) bool {
	return slices.ContainsFunc(observed.Operator.Namespaces, func(l coordinationv1.Lease) bool {
		if l.Namespace != namespace || l.Spec.HolderIdentity == nil || l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
			return false
		}
		duration := time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
		return *l.Spec.HolderIdentity != "" && observed.Now.Before(l.Spec.RenewTime.Add(duration+clockSkew))
	})
}
