//go:build e2e

package soak

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// podList contains the fields of pods that the soak reads.
type podList struct {
	Items []struct {
		Metadata struct {
			Name, UID, DeletionTimestamp string
			Labels                       map[string]string
		}
	}
}

// observe takes a sample each second until the context ends.
func (r *run) observe(ctx context.Context) {
	for ctx.Err() == nil {
		if s, err := r.takeSample(ctx); err == nil {
			r.addSample(s)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// takeSample reads the workers, their Slurm nodes and the queue.
func (r *run) takeSample(ctx context.Context) (sample, error) {
	out, err := r.tryKubectl(ctx, "get", "pods", "--selector=app.kubernetes.io/name=slurmd", "-o", "json")
	if err != nil {
		return sample{}, err
	}
	var pods podList
	if err := json.Unmarshal([]byte(out), &pods); err != nil {
		return sample{}, err
	}
	s := sample{at: time.Now(), workers: map[string]worker{}, needed: -1}
	text, slurmErr := r.controller(ctx, "sh", "-c", `sinfo -h -N -o "node %N %T" && squeue -h -r -o "job %T %D %N %r"`)
	nodes, needed := readNodes(text)
	if slurmErr == nil {
		s.needed = needed
	}
	for _, pod := range pods.Items {
		if pod.Metadata.DeletionTimestamp != "" {
			continue
		}
		name := pod.Metadata.Labels["nodeset.slinky.slurm.net/pod-hostname"]
		state := nodes[name]
		s.workers[pod.Metadata.UID] = worker{name: name,
			isBusy: strings.Contains(state, "alloc") || strings.Contains(state, "mix") || strings.Contains(state, "comp"),
			isHeld: state != "" && !strings.HasPrefix(state, "idle") && !strings.HasPrefix(state, "alloc") &&
				!strings.HasPrefix(state, "mix")}
	}
	return s, nil
}

// readNodes returns the states of nodes by name, and how many workers jobs use or wait for.
func readNodes(text string) (map[string]string, int) {
	nodes, used, waited := map[string]string{}, []string{}, 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "node":
			nodes[words[1]] = strings.ToLower(words[2])
			if isUsed(nodes[words[1]]) {
				used = append(used, words[1])
			}
		case len(words) >= 3 && words[0] == "job" && words[1] == "PENDING" && !slices.Contains(words, "JobHeldUser") &&
			!slices.Contains(words, "BeginTime"):
			count, _ := strconv.Atoi(words[2])
			waited += count
		}
	}
	slices.Sort(used)
	return nodes, len(slices.Compact(used)) + waited
}

// isUsed reports whether jobs are on a node of a state.
func isUsed(state string) bool {
	return strings.HasPrefix(state, "alloc") || strings.HasPrefix(state, "mix") || strings.HasPrefix(state, "comp") ||
		strings.HasPrefix(state, "draining")
}

// readRecords returns the records of all jobs of a seed. It requests them by their ids: with only -S, sacct leaves out jobs without an
// eligible time (docs/development/slurm.md, "What sacct leaves out").
func (r *run) readRecords() ([]record, error) {
	r.mu.Lock()
	var ids []string
	for _, job := range r.jobs {
		ids = append(ids, job.id)
	}
	r.mu.Unlock()
	out, err := r.controller(r.Context(), "sacct", "-a", "-n", "-P", "-X", "-D", "-j", strings.Join(ids, ","), "-o",
		"jobid,jobname,state,restarts,start")
	if err != nil {
		return nil, err
	}
	var records []record
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) == 5 && strings.HasPrefix(fields[1], r.prefix) {
			restarts, _ := strconv.Atoi(fields[3])
			start, _ := time.Parse(accountingTime, fields[4])
			records = append(records, record{fields[0], fields[1], fields[2], restarts, start})
		}
	}
	return records, nil
}
