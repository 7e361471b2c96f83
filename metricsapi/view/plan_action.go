package view

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Action is a change of one node or job that slurmctld is asked for.
type Action struct {
	Cluster ClusterRef
	// Verb is one of the actions of v1alpha1, such as v1alpha1.ActionDrain.
	Verb string
	// User is the name of the Kubernetes user.
	User string
	// Node is the name of the node, or empty.
	Node string
	// JobID names exactly one job or array task as scontrol does, such as "7" or "7_3", or is empty.
	JobID string
	// Job is the record of the job that the user saw, or nil.
	Job *slurm.Job
	// Reason is the reason of a drain, with the user.
	Reason string
	// Ended is the reason, in the record that the user saw, for which a node that is resumed was drained or down.
	Ended string
}

// Message says what slurmctld was asked to do.
func (a Action) Message() string {
	if a.Node != "" {
		return a.Verb + " node " + a.Node
	}
	return a.Verb + " job " + a.JobID
}

// refusal is why an action is not carried out, in words for users.
type refusal string

func (r refusal) Error() string { return string(r) }

// maxReasonLength bounds the reason of a drain.
const maxReasonLength = 256

// planNodeAction returns the action on a node, or a refusal. A drain of somebody else is neither overwritten nor, if it is the
// operator's, ended. No action on a node ends a job.
func planNodeAction(verb, user string, spec v1alpha1.SlurmActionSpec, n *slurm.Node) (Action, error) {
	a := Action{Verb: verb, User: user, Node: n.Name}
	drained := n.State.Has(slurm.NodeDrain)
	switch {
	case spec.ArrayTaskID != nil:
		return a, refusal("a node has no tasks: remove arrayTaskID")
	case n.State.Base == slurm.NodeFuture:
		return a, refusal("the node does not exist yet: it is FUTURE")
	case verb == v1alpha1.ActionResume && strings.HasPrefix(n.Reason, v1beta1.DrainReasonPrefix):
		return a, refusal("slurm-operator drained the node (" + n.Reason + ") and ends the drain itself")
	case verb == v1alpha1.ActionResume && !drained && n.State.Base != slurm.NodeDown && !n.State.Has(slurm.NodeFail):
		return a, refusal("the node is neither drained nor down")
	case verb == v1alpha1.ActionResume:
		a.Ended = n.Reason
		return a, nil
	case drained:
		return a, refusal(fmt.Sprintf("the node is drained already: %s (%s)", n.Reason, n.ReasonBy))
	}
	reason := strings.Join(strings.Fields(spec.Reason), " ")
	switch {
	case reason == "":
		return a, refusal("a drain needs a reason")
	case strings.ContainsFunc(reason+user, unicode.IsControl):
		return a, refusal("the reason and the name of the user may not have control characters")
	case len(reason) > maxReasonLength:
		return a, refusal(fmt.Sprintf("the reason has more than %d bytes", maxReasonLength))
	case strings.HasPrefix(reason, strings.TrimSpace(v1beta1.DrainReasonPrefix)):
		return a, refusal("a reason that begins with " + v1beta1.DrainReasonPrefix + "is the operator's")
	}
	a.Reason = reason + " [" + user + "]"
	return a, nil
}

// Recheck returns an error if the action on a node is no longer possible, according to a newer record of the node. A drain that the user
// did not see stays.
func (a Action) Recheck(n *slurm.Node) error {
	newer, err := planNodeAction(a.Verb, a.User, v1alpha1.SlurmActionSpec{Reason: a.Verb}, n)
	if err == nil && newer.Ended != a.Ended {
		return refusal(fmt.Sprintf("the node has another reason since: %s (%s)", n.Reason, n.ReasonBy))
	}
	return err
}

// RecheckJob returns an error if none of the newer records that slurmctld has for the ID is the job that the user saw: a slurmctld that
// lost its state gives the ID to another job.
func (a Action) RecheckJob(newer []*slurm.Job) error {
	for _, j := range newer {
		if j.ID == a.Job.ID && j.SubmitTime == a.Job.SubmitTime && j.UserID() == a.Job.UserID() {
			return nil
		}
	}
	return refusal("the job has just ended, or was submitted again: look at the queue")
}

// IsRefusal reports whether an error says why an action is not possible.
func IsRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// planJobAction returns the action on a job, or a refusal. The ID names one job or one task: the ID of an array would name all of
// its tasks, and the ID of a component all of a heterogeneous job.
func planJobAction(verb, user string, spec v1alpha1.SlurmActionSpec, j *slurm.Job) (Action, error) {
	a := Action{Verb: verb, User: user, Job: j}
	switch {
	case j.HetJobID != 0:
		return a, refusal("the job is a part of a heterogeneous job, of which Slurm ends all parts")
	case j.State.Base.Finished():
		return a, refusal("the job has ended")
	}
	var err error
	if a.JobID, err = chooseTask(spec.ArrayTaskID, j); err != nil {
		return a, err
	}
	held := j.Hold || j.Priority == slurm.Num(0)
	switch {
	case verb == v1alpha1.ActionHold && j.State.Base != slurm.JobPending:
		return a, refusal("only a pending job can be held; the job is " + j.State.String())
	case verb == v1alpha1.ActionHold && held:
		return a, refusal("the job is held already")
	case verb == v1alpha1.ActionRelease && (!held || j.State.Base != slurm.JobPending):
		return a, refusal("the job is not held")
	}
	return a, nil
}

// chooseTask returns the ID of a job, or of the wanted task of an array, as scontrol writes it.
func chooseTask(wanted *int64, j *slurm.Job) (string, error) {
	array := slurm.Num(uint64(j.ArrayJobID)).String()
	task, split := j.ArrayTaskID.Value()
	switch {
	case !j.IsArray() && wanted != nil:
		return "", refusal("the job is no array: remove arrayTaskID")
	case !j.IsArray():
		return slurm.Num(uint64(j.ID)).String(), nil
	case split && wanted != nil && (*wanted < 0 || uint64(*wanted) != task):
		return "", refusal("the record is task " + slurm.Num(task).String())
	case split:
		return array + "_" + slurm.Num(task).String(), nil
	case wanted == nil:
		return "", refusal("the record stands for the tasks " + j.ArrayTasks + ": name one of them in arrayTaskID")
	case *wanted < 0 || !slurm.HasArrayTask(j.ArrayTasks, uint64(*wanted)):
		return "", refusal(fmt.Sprintf("the task %d is not one of %s", *wanted, j.ArrayTasks))
	}
	return array + "_" + slurm.Num(uint64(*wanted)).String(), nil
}
