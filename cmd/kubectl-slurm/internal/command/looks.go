package command

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func lookNodeSets(ctx context.Context, api *observe.API, a asked) (printer, []string, error) {
	list, err := api.NodeSets(ctx, a.scope)
	if err != nil {
		return nil, nil, failed(observe.Objects, err)
	}
	list = slices.DeleteFunc(list,
		func(n v1beta1.NodeSet) bool { return !a.inCluster(top.ClusterOf(&n)) || !a.named(n.Name) })
	numbers, notes := numbersOf(ctx, api, list)
	hpas, more := autoscalers(ctx, api, a.scope)
	return top.NodeSets(a.placed, list, hpas, numbers), append(notes, more...), nil
}

func lookJobs(ctx context.Context, api *observe.API, a asked) (printer, []string, error) {
	jobs, err := viewJobs(ctx, api, a)
	if err != nil {
		return nil, []string{withoutView}, failed(observe.View, err)
	}
	jobs = slices.DeleteFunc(jobs, func(j view.SlurmJob) bool {
		return !a.named(fmt.Sprint(j.Spec.JobID), j.Name, j.Spec.Name, records.JobID(records.Job(&j)))
	})
	t, err := tableOf(jobs, clusterOfJob,
		func(part []view.SlurmJob) printer { return top.Jobs(a.now, a.placed, a.which, part) })
	return t, nil, err
}

func lookUsers(ctx context.Context, api *observe.API, a asked) (printer, []string, error) {
	jobs, err := viewJobs(ctx, api, a)
	if err != nil {
		return nil, []string{withoutView}, failed(observe.View, err)
	}
	jobs = slices.DeleteFunc(jobs, func(j view.SlurmJob) bool { return !a.named(j.Spec.User) })
	t, err := tableOf(jobs, clusterOfJob, func(part []view.SlurmJob) printer { return top.Users(a.placed, part) })
	return t, nil, err
}

func clusterOfJob(j *view.SlurmJob) string { return j.Namespace + "/" + j.Spec.Cluster.Name }

func clusterOfNode(n *view.SlurmNode) string { return n.Namespace + "/" + n.Spec.Cluster.Name }

// withoutViewNote says where job counts are available without the view.
const withoutView = "kubectl slurm top partitions and top nodesets show the numbers of running and pending jobs " +
	"without the view"

// listJobs lists the jobs of the requested clusters.
func viewJobs(ctx context.Context, api *observe.API, a asked) ([]view.SlurmJob, error) {
	jobs, err := api.Jobs(ctx, a.scope)
	return slices.DeleteFunc(jobs, func(j view.SlurmJob) bool { return !a.inCluster(j.Spec.Cluster.Name) }), err
}

func lookNodes(ctx context.Context, api *observe.API, a asked) (printer, []string, error) {
	nodes, err := api.Nodes(ctx, a.scope)
	if err == nil {
		nodes = slices.DeleteFunc(nodes, func(n view.SlurmNode) bool {
			return !a.inCluster(n.Spec.Cluster.Name) || !a.named(n.Spec.Name, n.Name)
		})
		t, err := tableOf(nodes, clusterOfNode,
			func(part []view.SlurmNode) printer { return top.Nodes(a.now, a.placed, a.which, part) })
		return t, nil, err
	}
	if fatal(err) || a.scope.Labels != "" || a.scope.Fields != "" {
		return nil, nil, failed(observe.View, err)
	}
	pods, podsErr := workers(ctx, api, a.scope.Namespace, "")
	if podsErr != nil {
		return nil, []string{observe.Explain(observe.Workers, podsErr)}, failed(observe.View, err)
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		return !a.inCluster(p.Labels[v1beta1.LabelCluster]) || !a.named(p.Labels[v1beta1.LabelPodHostname], p.Name)
	})
	return top.Workers(a.now, a.placed, pods),
		[]string{observe.Explain(observe.View, err) + "; the table shows the conditions of the workers' pods"}, nil
}

// wrapReadError explains an error in reading p, unless the error is fatal.
func failed(p observe.Part, err error) error {
	if fatal(err) {
		return err
	}
	return &unread{text: observe.Explain(p, err), err: err}
}

// readError is an error with an explanation.
type unread struct {
	text string
	err  error
}

func (e *unread) Error() string { return e.text }
func (e *unread) Unwrap() error { return e.err }
