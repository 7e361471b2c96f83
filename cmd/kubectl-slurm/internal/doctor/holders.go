package doctor

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/holder"
)

// checkHolders finds the objects that another operator works on beside ours.
func checkHolders(observed *Observed) []Finding {
	var out []Finding
	for on, object := range observed.operatedObjects() {
		hold, held := holder.Of(observed.Now, object)
		if !held {
			continue
		}
		ours := holder.LastOwn(object)
		switch {
		case isReportedHeld(object):
			out = append(out, foundHeld(observed.Now, on, hold))
		case ours.After(observed.Now.Add(-holder.Period)):
			out = append(out, newFinding(TwoOperators, on, "slurm-operator wrote it at %s, another operator (field "+
				"manager %q) at %s", formatTime(ours), hold.Manager, formatTime(hold.WroteAt)).
				withCure("remove one of the two operators, before they replace each other's workers"))
		}
	}
	return out
}

// foundHeld returns the finding of an object that our operator leaves alone.
func foundHeld(now time.Time, on Object, hold holder.Hold) Finding {
	return newFinding(HeldByAnotherOperator, on, "another operator (field manager %q) wrote it at %s, so "+
		"slurm-operator leaves it alone", hold.Manager, formatTime(hold.WroteAt)).
		withCure("remove one of the two operators; slurm-operator continues at %s if the other writes no more, or "+
			"at once by the command", formatTime(hold.FreeAt)).
		withCommand("kubectl -n %s annotate --overwrite %ss.slinky.slurm.net %s %s=%s", on.Namespace,
			strings.ToLower(on.Kind), on.Name, v1beta1.AnnotationTakeOver, formatTime(now))
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// isReportedHeld reports whether our operator says that it leaves an object alone.
func isReportedHeld(o holder.Object) bool {
	ready := meta.FindStatusCondition(*o.ConditionsOf(), v1beta1.ConditionReady)
	return ready != nil && slices.Contains([]string{v1beta1.ReasonHeldByAnotherOperator, v1beta1.ReasonTakingOver},
		ready.Reason)
}

// operatedObjects returns the objects on which an operator works.
func (observed *Observed) operatedObjects() map[Object]holder.Object {
	out := map[Object]holder.Object{}
	addAll(out, v1beta1.KindNodeSet, pointersTo(observed.NodeSets))
	addAll(out, v1beta1.KindController, pointersTo(observed.Controllers))
	addAll(out, v1beta1.KindCluster, pointersTo(observed.Clusters))
	addAll(out, v1beta1.KindAccounting, pointersTo(observed.Accountings))
	addAll(out, v1beta1.KindLoginSet, pointersTo(observed.LoginSets))
	addAll(out, v1beta1.KindRestApi, pointersTo(observed.RestAPIs))
	return out
}

func addAll[T holder.Object](out map[Object]holder.Object, kind string, objects []T) {
	for _, o := range objects {
		out[Object{kind, o.GetNamespace(), o.GetName()}] = o
	}
}

func pointersTo[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// areHeldByOthers reports whether another operator works on all NodeSets, so that none of ours is missing.
func (observed *Observed) areHeldByOthers() bool {
	return !slices.ContainsFunc(observed.NodeSets, func(n v1beta1.NodeSet) bool {
		_, held := holder.Of(observed.Now, &n)
		return !held
	})
}
