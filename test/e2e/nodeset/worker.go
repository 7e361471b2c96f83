package nodeset

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Worker is a pod of a NodeSet.
type Worker struct {
	Name, UID string
	// Protected reports whether the pod is marked as having work, for Kubernetes, for cluster
	// autoscalers and for Karpenter.
	Protected bool
	// Deleting reports that the pod has a deletion timestamp.
	Deleting bool
	Round    string
	// Deadline is the end of the time limit of its last job, empty without a job or if unknown.
	Deadline string
}

// Workers returns the workers of a NodeSet by name.
func (s *Env) Workers(ctx context.Context, nodeSet string) (map[string]Worker, error) {
	var list struct {
		Items []struct {
			Metadata struct {
				Name, UID           string
				Labels, Annotations map[string]string
				DeletionTimestamp   string
			}
		}
	}
	if err := s.Get(ctx, &list, "pods", "--selector", "app.kubernetes.io/name=slurmd,app.kubernetes.io/instance="+
		nodeSet); err != nil {
		return nil, err
	}
	out := map[string]Worker{}
	for _, item := range list.Items {
		m := item.Metadata
		out[m.Name] = Worker{
			Name: m.Name, UID: m.UID, Deleting: m.DeletionTimestamp != "", Round: m.Annotations["round"],
			Deadline:  m.Annotations["nodeset.slinky.slurm.net/pod-deadline"],
			Protected: m.Labels["nodeset.slinky.slurm.net/pod-protect"] == "true",
		}
		if shown := out[m.Name].Protected; shown != (m.Annotations["karpenter.sh/do-not-disrupt"] == "true") ||
			shown != (m.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false") {
			return nil, fmt.Errorf("worker %s is only partly protected: labels %v, annotations %v", m.Name, m.Labels,
				m.Annotations)
		}
	}
	return out, nil
}

// SlurmNode returns the state of a Slurm node, such as IDLE+DRAIN+DYNAMIC_NORM, and its reason.
func (s *Env) SlurmNode(ctx context.Context, name string) (state, reason string, err error) {
	out, err := s.Slurm(ctx, "scontrol", "show", "node", name, "--future", "--oneliner")
	return matchField(out, `State=(\S+)`), matchField(out, `Reason=(.*?) \[`), err
}

// FutureRecords returns the sorted names of the FUTURE records with a feature.
func (s *Env) FutureRecords(ctx context.Context, feature string) ([]string, error) {
	out, err := s.Slurm(ctx, "scontrol", "show", "nodes", "--future", "--oneliner")
	var names []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(matchField(line, `State=(\S+)`), "FUTURE") && matchField(line, `AvailableFeatures=(\S+)`) == feature {
			names = append(names, matchField(line, `NodeName=(\S+)`))
		}
	}
	slices.Sort(names)
	return names, err
}

// Job is the state of a job in Slurm.
type Job struct{ State, ExitCode, Restarts string }

// CompletedOnce reports whether the job completed at its first start.
func (j Job) CompletedOnce() bool { return j == Job{"COMPLETED", "0:0", "0"} }

// Job reads the state of a job.
func (s *Env) Job(ctx context.Context, id string) (Job, error) {
	out, err := s.Slurm(ctx, "scontrol", "show", "job", id, "--oneliner")
	return Job{matchField(out, `JobState=(\S+)`), matchField(out, `ExitCode=(\S+)`), matchField(out, `Restarts=(\S+)`)},
		err
}

// SubmitJob submits a job for one worker that runs until FinishJob, with a time limit in minutes.
func (s *Env) SubmitJob(ctx context.Context, slurmNode string, limit int) (id string, err error) {
	return s.Slurm(ctx, "sbatch", "--parsable", "-J", "held", "-o", "/out/%x-%j-%N", "-p", "all", "-w", slurmNode,
		"--time", strconv.Itoa(limit), "--wrap", "until test -e /out/over-$SLURM_JOB_ID; do sleep 0.2; done")
}

// FinishJob ends a job that SubmitJob submitted.
func (s *Env) FinishJob(ctx context.Context, id string) error {
	_, err := s.Slurm(ctx, "touch", "/out/over-"+id)
	return err
}

// Scale sets the replicas of a NodeSet through its scale subresource.
func (s *Env) Scale(ctx context.Context, nodeSet string, replicas int) error {
	_, err := s.kubectl(ctx, "scale", "nodeset", nodeSet, fmt.Sprintf("--replicas=%d", replicas))
	return err
}

func matchField(text, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}
