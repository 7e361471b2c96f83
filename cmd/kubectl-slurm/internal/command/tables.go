package command

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func readNodeSets(ctx context.Context, api *observe.API, a tableRequest) (rowTable, []string, error) {
	list, err := api.NodeSets(ctx, a.scope)
	if err != nil {
		return nil, nil, wrapReadError(observe.Objects, err)
	}
	list = slices.DeleteFunc(list,
		func(n v1beta1.NodeSet) bool { return !a.inCluster(top.ClusterOf(&n)) || !a.matches(n.Name) })
	numbers, notes := readNodeSetMetrics(ctx, api, list, top.NodeSetMetrics())
	hpas, more := listAutoscalers(ctx, api, a.scope)
	return top.NodeSets(a.namespaces, list, hpas, numbers), append(notes, more...), nil
}

func readJobs(ctx context.Context, api *observe.API, a tableRequest) (rowTable, []string, error) {
	jobs, err := listJobs(ctx, api, a)
	if err != nil {
		return nil, notesWithoutView(err), wrapReadError(observe.View, err)
	}
	jobs = slices.DeleteFunc(jobs, func(j view.SlurmJob) bool {
		return !a.matches(fmt.Sprint(j.Spec.JobID), j.Name, j.Spec.Name, records.JobID(convert.JobRecord(&j)))
	})
	t, err := makeTable(jobs, clusterOfJob,
		func(part []view.SlurmJob) rowTable { return top.Jobs(a.now, a.namespaces, a.filter, part) })
	return t, nil, err
}

func readUsers(ctx context.Context, api *observe.API, a tableRequest) (rowTable, []string, error) {
	jobs, err := listJobs(ctx, api, a)
	if err != nil {
		return nil, notesWithoutView(err), wrapReadError(observe.View, err)
	}
	jobs = slices.DeleteFunc(jobs, func(j view.SlurmJob) bool { return !a.matches(j.Spec.User) })
	t, err := makeTable(jobs, clusterOfJob,
		func(part []view.SlurmJob) rowTable { return top.Users(a.namespaces, part) })
	return t, nil, err
}

func clusterOfJob(j *view.SlurmJob) string { return j.Namespace + "/" + j.Spec.Cluster.Name }

func clusterOfNode(n *view.SlurmNode) string { return n.Namespace + "/" + n.Spec.Cluster.Name }

// withoutViewNote says where job counts are available without the view.
const withoutViewNote = "kubectl slurm top partitions and top nodesets show the numbers of running and pending jobs " +
	"without the view"

// notesWithoutView returns the note about an error in reading jobs.
func notesWithoutView(err error) []string {
	if isFatal(err) {
		return nil
	}
	return []string{withoutViewNote}
}

// listJobs lists the jobs of the requested clusters.
func listJobs(ctx context.Context, api *observe.API, a tableRequest) ([]view.SlurmJob, error) {
	if err := checkLabels(a.scope.Labels); err != nil {
		return nil, err
	}
	jobs, err := api.Jobs(ctx, a.scope)
	return slices.DeleteFunc(jobs, func(j view.SlurmJob) bool { return !a.inCluster(j.Spec.Cluster.Name) }), err
}

func readNodes(ctx context.Context, api *observe.API, a tableRequest) (rowTable, []string, error) {
	if err := checkLabels(a.scope.Labels); err != nil {
		return nil, nil, err
	}
	nodes, err := api.Nodes(ctx, a.scope)
	if err == nil {
		podOf := podsOfNodes(ctx, api, &a, nodes)
		nodes = slices.DeleteFunc(nodes, func(n view.SlurmNode) bool {
			return !a.inCluster(n.Spec.Cluster.Name) || !a.matches(n.Spec.Name, n.Name, podOf[placeOfNode(&n)])
		})
		t, err := makeTable(nodes, clusterOfNode,
			func(part []view.SlurmNode) rowTable { return top.Nodes(a.now, a.namespaces, a.filter, part) })
		return t, nil, err
	}
	if isFatal(err) || a.scope.Labels != "" || a.scope.Fields != "" {
		return nil, nil, wrapReadError(observe.View, err)
	}
	pods, podsErr := listWorkerPods(ctx, api, a.scope.Namespace, "")
	if podsErr != nil {
		return nil, []string{observe.ExplainError(observe.Workers, podsErr)}, wrapReadError(observe.View, err)
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		return !a.inCluster(p.Labels[v1beta1.LabelCluster]) || !a.matches(p.Labels[v1beta1.LabelPodHostname], p.Name)
	})
	return top.Workers(a.now, a.namespaces, pods),
		[]string{observe.ExplainError(observe.View, err) + "; the table shows the conditions of the workers' pods"}, nil
}

// wrapReadError explains an error in reading p, unless the error is fatal.
func wrapReadError(p observe.Part, err error) error {
	if isFatal(err) {
		return err
	}
	return &readError{text: observe.ExplainError(p, err), err: err}
}

// readError is an error with an explanation.
type readError struct {
	text string
	err  error
}

func (e *readError) Error() string { return e.text }
func (e *readError) Unwrap() error { return e.err }
