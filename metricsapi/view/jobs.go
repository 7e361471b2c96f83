package view

import (
	"cmp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func jobResource() *resource[slurm.Job] {
	return &resource[slurm.Job]{
		kind: v1alpha1.KindJob, plural: v1alpha1.Jobs, singular: "slurmjob", short: "sjob",
		read:    func(s *slurmclient.Snapshot) ([]*slurm.Job, slurmclient.Poll) { return s.Jobs.Value, s.Jobs.Poll },
		key:     func(j *slurm.Job) string { return strconv.FormatUint(uint64(j.ID), 10) },
		withKey: jobWithKey,
		compare: func(a, b *slurm.Job) int { return cmp.Compare(a.ID, b.ID) },
		same:    isSameJob,
		fingerprint: func(j *slurm.Job) uint64 {
			c, d := shownJob(j), shownDetails(j)
			return fingerprint(&c, &d)
		},
		isPrivate: func(p PrivateData) bool { return p.Jobs },
		owner:     jobOwner,
		attributes: map[attribute]attributeValues[slurm.Job]{
			byCluster:   clusterValues[slurm.Job],
			byPartition: func(_ ClusterRef, j *slurm.Job, yield func(string) bool) { yieldList(j.Partition, yield) },
			byState:     jobStateValues,
			byUser:      textValues(func(j *slurm.Job) string { return j.UserName() }),
			byAccount:   textValues(func(j *slurm.Job) string { return j.Account() }),
			byNode:      jobNodeValues,
			byName:      textValues(func(j *slurm.Job) string { return j.Name }),
			byJobID: func(_ ClusterRef, j *slurm.Job, yield func(string) bool) {
				yield(strconv.FormatUint(uint64(j.ID), 10))
			},
			byArrayJobID: jobArrayValues,
		},
		fields: map[string]attribute{
			v1alpha1.FieldCluster: byCluster, v1alpha1.FieldPartition: byPartition, v1alpha1.FieldState: byState,
			v1alpha1.FieldUser: byUser, v1alpha1.FieldAccount: byAccount, v1alpha1.FieldNode: byNode,
			v1alpha1.FieldName: byName, v1alpha1.FieldJobID: byJobID, v1alpha1.FieldArrayJobID: byArrayJobID,
		},
		newObject: func(s placement, j *slurm.Job) runtime.Object { return jobObject(s, j) },
		newList: func(matches []match[slurm.Job], meta metav1.ListMeta, version version) runtime.Object {
			out := &v1alpha1.SlurmJobList{ListMeta: meta, Items: make([]v1alpha1.SlurmJob, len(matches))}
			for i, m := range matches {
				out.Items[i] = *jobObject(m.cluster.placement(version), m.record)
			}
			return out
		},
		newEmpty: func() runtime.Object { return &v1alpha1.SlurmJob{} },
		table:    jobTable(),
	}
}

// jobOwner returns the Slurm user of a job: its name, or where slurmrestd does not know that, the name in the association of the job.
// A uid is the name of nobody, since a user of Kubernetes may be called like it.
func jobOwner(users map[uint32]string, j *slurm.Job) string {
	if !j.HasUserName() {
		return users[j.AssociationID()]
	}
	return j.UserName()
}

// jobWithKey returns a job with the id in key, or id 0, which no job has, if key is not an id.
func jobWithKey(key string) *slurm.Job {
	id, err := strconv.ParseUint(key, 10, 32)
	if err != nil {
		return &slurm.Job{}
	}
	return &slurm.Job{ID: uint32(id)}
}

// jobStateValues yields the base state and the flags.
func jobStateValues(_ ClusterRef, j *slurm.Job, yield func(string) bool) {
	if j.State.Flags == 0 {
		yield(j.State.Base.String())
		return
	}
	yieldAll(j.State.Names(), yield)
}

// jobNodeValues yields the nodes of a job, or none if the hostlist is invalid.
func jobNodeValues(_ ClusterRef, j *slurm.Job, yield func(string) bool) {
	if j.Nodes == "" {
		return
	}
	names, err := hostlist.All(j.Nodes)
	if err != nil {
		return
	}
	for name := range names {
		if !yield(name) {
			return
		}
	}
}

func jobArrayValues(_ ClusterRef, j *slurm.Job, yield func(string) bool) {
	if j.ArrayJobID != 0 {
		yield(strconv.FormatUint(uint64(j.ArrayJobID), 10))
	}
}

func jobObject(s placement, j *slurm.Job) *v1alpha1.SlurmJob {
	key := strconv.FormatUint(uint64(j.ID), 10)
	meta := s.meta(v1alpha1.KindJob, key, j.SubmitTime, jobLabels(s.ref, j, j.Partitions()))
	return convert.JobObject(meta, s.cluster(), j)
}

func jobLabels(h ClusterRef, j *slurm.Job, partitions []string) map[string]string {
	pairs := map[string]string{
		v1alpha1.LabelCluster: h.Name, v1alpha1.LabelState: j.State.Base.String(),
		v1alpha1.LabelUser: j.UserName(), v1alpha1.LabelAccount: j.Account(),
	}
	if !strings.ContainsAny(j.Nodes, "[,") {
		pairs[v1alpha1.LabelNode] = j.Nodes
	}
	return labelsOf(pairs, partitions)
}

// isSameJob reports whether two records of a job are equal in what its object shows.
func isSameJob(a, b *slurm.Job) bool {
	c, d := shownJob(a), shownJob(b)
	return c.Same(&d) && (a.SharedDetails == b.SharedDetails || shownDetails(a) == shownDetails(b))
}

// shownJob returns a job without its details, without the fields that its object does not have, and without the time of the
// scheduler's last evaluation, which changes for every pending job at each of its rounds and tells nothing of the job.
func shownJob(j *slurm.Job) slurm.Job {
	c := *j
	c.SharedDetails = slurm.SharedDetails{}
	c.LastSchedEval, c.AccrueTime, c.HetOffset = 0, 0, 0
	return c
}

// shownDetails returns the details of a job that its object has.
func shownDetails(j *slurm.Job) slurm.JobDetails {
	d := j.Details()
	d.HetJobIDs = ""
	d.TasksPerNode, d.MinCPUsPerNode, d.MinTmpDiskMiB, d.ThreadsPerCore = slurm.Number{}, slurm.Number{}, slurm.Number{}, slurm.Number{}
	d.Prefer, d.Contiguous, d.MemoryPerTRES, d.Siblings, d.Network, d.Flags = "", false, "", "", "", ""
	return d
}
