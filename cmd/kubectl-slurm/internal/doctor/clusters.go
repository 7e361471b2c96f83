package doctor

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// checkTokens checks the tokens of Clusters.
func checkTokens(observed *Observed) []Finding {
	var out []Finding
	for _, t := range observed.Tokens {
		renew := fmt.Sprintf("put a new token into key %s of Secret %s; it is reloaded within half a minute", t.Key,
			t.Secret)
		command := fmt.Sprintf("kubectl -n %s create secret generic %s --from-literal=%s=TOKEN --dry-run=client -o "+
			"yaml | kubectl apply -f -", t.Cluster.Namespace, t.Secret, t.Key)
		if t.RenewedBy != "" {
			renew = "find out why slurm-operator does not renew it"
			command = fmt.Sprintf("kubectl -n %s describe tokens.slinky.slurm.net %s", t.Cluster.Namespace, t.RenewedBy)
		}
		var f Finding
		switch left := t.ExpiresAt.Sub(observed.Now); {
		case t.State == NoSecret:
			f = newFinding(SecretMissing, t.Cluster, "its Secret %s does not exist", t.Secret)
		case t.State == NoKey:
			f = newFinding(SecretMissing, t.Cluster, "its Secret %s has no key %s", t.Secret, t.Key)
		case t.State == NoToken:
			f = newFinding(TokenUnreadable, t.Cluster, "key %s of Secret %s contains no JSON Web Token", t.Key,
				t.Secret)
		case t.ExpiresAt.IsZero():
			continue
		case left <= 0:
			f = newFinding(TokenExpired, t.Cluster, "its token in Secret %s expired at %s", t.Secret, t.ExpiresAt.UTC().
				Format(time.RFC3339))
		case left < warnBefore(observed.TokenWarning, &t):
			f = newFinding(TokenExpiring, t.Cluster, "its token in Secret %s expires at %s", t.Secret,
				t.ExpiresAt.UTC().
					Format(time.RFC3339))
		default:
			continue
		}
		out = append(out, f.withCure("%s", renew).withCommand("%s", command))
	}
	return out
}

// warnBefore returns how long before its expiry a token is reported. The operator renews tokens
// when a fifth of their lifetime is left, so these are reported only when that is overdue.
func warnBefore(warn time.Duration, t *Token) time.Duration {
	if t.RenewedBy != "" && t.Lifetime > 0 {
		return min(warn, t.Lifetime/10)
	}
	return warn
}

// checkClusters reports the Clusters and Controllers that are not ready according to the operator.
func checkClusters(observed *Observed) []Finding {
	var out []Finding
	check := func(kind, namespace, name string, conditions []metav1.Condition) {
		c := meta.FindStatusCondition(conditions, v1beta1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason == v1beta1.ReasonProgressing ||
			c.Reason == v1beta1.ReasonHeldByAnotherOperator {
			return
		}
		out = append(out, newFinding(ClusterNotReady, Object{kind, namespace, name}, "%s: %s", c.Reason, c.Message).
			withCure("%s", cureOf(c.Reason)))
	}
	for _, c := range observed.Clusters {
		check(v1beta1.KindCluster, c.Namespace, c.Name, c.Status.Conditions)
	}
	for _, c := range observed.Controllers {
		check(v1beta1.KindController, c.Namespace, c.Name, c.Status.Conditions)
	}
	return out
}

// cureOf returns the cure for a reason of the condition Ready.
func cureOf(reason string) string {
	switch reason {
	case v1beta1.ReasonUnauthorized:
		return "put a token that slurmrestd accepts into the Secret that the object refers to"
	case v1beta1.ReasonUnreachable:
		return "check that slurmrestd runs at the address, and that NetworkPolicies and certificates permit the " +
			"connection"
	case v1beta1.ReasonReferenceNotFound:
		return "create the object in the message, or refer to an existing one"
	case v1beta1.ReasonIncompatible:
		return "use a Slurm version whose slurmrestd serves one of v0.0.40 to v0.0.45"
	}
	return "change the object's spec as the message says"
}

// checkReferences finds NodeSets whose Controller or Cluster does not exist.
func checkReferences(observed *Observed) []Finding {
	var out []Finding
	for i := range observed.NodeSets {
		n := &observed.NodeSets[i]
		on := nodeSetObject(n)
		kind, name := clusterOf(n)
		if !observed.isOrphan(on) {
			continue
		}
		out = append(out, newFinding(ClusterMissing, on, "%s %s does not exist in namespace %s", kind, name,
			n.Namespace).
			withCure("create the %s, or set spec.%[2]s to an existing one", kind, refField(n)))
	}
	return out
}

func refField(n *v1beta1.NodeSet) string {
	if n.Spec.ClusterRef != nil {
		return "clusterRef"
	}
	return "controllerRef"
}

// clusterOf returns the kind and name of the object that a NodeSet joins.
func clusterOf(n *v1beta1.NodeSet) (kind, name string) {
	switch {
	case n.Spec.ClusterRef != nil:
		return v1beta1.KindCluster, n.Spec.ClusterRef.Name
	case n.Spec.ControllerRef != nil:
		return v1beta1.KindController, n.Spec.ControllerRef.Name
	}
	return "", ""
}

// isOrphan reports whether the NodeSet's Controller or Cluster is known not to exist.
func (observed *Observed) isOrphan(on Object) bool {
	i := slices.IndexFunc(observed.NodeSets, func(n v1beta1.NodeSet) bool { return nodeSetObject(&n) == on })
	if i < 0 {
		return false
	}
	kind, name := clusterOf(&observed.NodeSets[i])
	switch kind {
	case v1beta1.KindCluster:
		return observed.Read[Clusters] && !slices.ContainsFunc(observed.Clusters,
			func(c v1beta1.Cluster) bool { return c.Namespace == on.Namespace && c.Name == name })
	case v1beta1.KindController:
		return observed.Read[Controllers] && !slices.ContainsFunc(observed.Controllers,
			func(c v1beta1.Controller) bool { return c.Namespace == on.Namespace && c.Name == name })
	}
	return false
}

// checkNodeSets reports the NodeSets that are not ready according to the operator and need a
// change.
func checkNodeSets(observed *Observed) []Finding {
	var out []Finding
	for i := range observed.NodeSets {
		n := &observed.NodeSets[i]
		c := meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason == v1beta1.ReasonProgressing ||
			c.Reason == v1beta1.ReasonHeldByAnotherOperator || observed.isOrphan(nodeSetObject(n)) {
			continue
		}
		out = append(out, newFinding(NodeSetNotReady, nodeSetObject(n), "%s: %s", c.Reason, c.Message).
			withCure("%s", cureOf(c.Reason)))
	}
	return out
}

// checkOperator checks that an operator runs if there are NodeSets. It may be another one.
func checkOperator(observed *Observed) []Finding {
	if observed.Operator == nil || len(observed.NodeSets) == 0 || observed.Operator.ReadyPods > 0 ||
		observed.areHeldByOthers() {
		return nil
	}
	problem := "it has no lease and no ready pod"
	for _, l := range observed.Operator.Leases {
		holder, renewed := l.Spec.HolderIdentity, l.Spec.RenewTime
		if holder == nil || *holder == "" || renewed == nil || l.Spec.LeaseDurationSeconds == nil {
			continue
		}
		if end := renewed.Add(time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second); observed.Now.Before(
			end.Add(clockSkew)) {
			return nil
		}
		problem = "it has not renewed its lease since " + renewed.UTC().Format(time.RFC3339)
	}
	return []Finding{newFinding(OperatorNotRunning, Object{Kind: "Deployment", Name: "slurm-operator"},
		"%s: nothing reconciles %s", problem, countNoun(len(observed.NodeSets), "NodeSet")).
		withCure("install the chart slurm-operator, or find out why its pod is not ready").
		withCommand("kubectl get pods --all-namespaces -l app.kubernetes.io/name=slurm-operator")}
}

// clockSkew is the tolerated difference between the clocks of machines.
const clockSkew = 10 * time.Second

func countNoun(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func nodeSetObject(n *v1beta1.NodeSet) Object {
	return Object{v1beta1.KindNodeSet, n.Namespace, n.Name}
}
