package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/inuse"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// simSlurmctld is the state that the Controller's slurmctlds share.
type simSlurmctld struct {
	// partitions are their states by name, and setByAdmin those that an administrator has set.
	partitions map[string]string
	setByAdmin map[string]bool
	// jobs are the partitions of unfinished jobs by id.
	jobs    map[int]string
	lastJob int
	// silent: it does not answer.
	silent bool
	// files are the files of revisions, and accepted is the revision that was in force last.
	files    map[string]configagent.Files
	accepted string
	// drained is the content of the file where agents record the partitions that they drained, or empty. drainedAt is its time.
	drained   string
	drainedAt time.Time
	// written counts files that were written.
	written int64
}

// noteWritten returns the time of a file that is written now. Each time is unique.
func (c *simSlurmctld) noteWritten() time.Time {
	c.written++
	return time.Unix(c.written, 0)
}

func newSlurmctld() *simSlurmctld {
	return &simSlurmctld{partitions: map[string]string{}, setByAdmin: map[string]bool{}, jobs: map[int]string{},
		files: map[string]configagent.Files{}}
}

func (c *simSlurmctld) clone() *simSlurmctld {
	out := *c
	out.partitions, out.setByAdmin, out.jobs, out.files = maps.Clone(c.partitions), maps.Clone(c.setByAdmin), maps.Clone(c.jobs), maps.Clone(c.files)
	return &out
}

// remember keeps the files of a ConfigMap.
func (c *simSlurmctld) remember(data map[string]string) {
	files := configagent.Files{}
	for name, text := range data {
		if name != slurmconf.ForcedRevisionFile {
			files[name] = configagent.File{Content: []byte(text)}
		}
	}
	c.files[data[slurmconf.RevisionFile]] = files
}

// execute plays scontrol and squeue.
func (c *simSlurmctld) execute(keepOpen bool) func(context.Context, string, ...string) (string, error) {
	return func(_ context.Context, program string, args ...string) (string, error) {
		var out strings.Builder
		switch {
		case c.silent:
			return "", errors.New("unable to contact slurm controller")
		case program == "squeue":
			for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
				fmt.Fprintf(&out, "%d|PENDING|%s|||N/A|N/A|N/A|N/A|\n", id, c.jobs[id])
			}
		case args[0] == "update":
			name, _ := strings.CutPrefix(args[1], "PartitionName=")
			if state, isState := strings.CutPrefix(args[2], "State="); isState && !keepOpen {
				c.partitions[name] = state
			}
		case args[len(args)-1] == "partitions":
			for _, name := range slices.Sorted(maps.Keys(c.partitions)) {
				fmt.Fprintf(&out, "PartitionName=%s AllowGroups=ALL Hidden=NO State=%s TotalCPUs=4\n", name, c.partitions[name])
			}
		}
		return out.String(), nil
	}
}

// hold asks the rule of the agent whether the wanted files of a pod may replace others. The folders exist only meanwhile.
func (w *simulation) hold(p *simPod, inForce, wanted configagent.Files) error {
	c := w.slurmctld
	dir, err := os.MkdirTemp("", "slurmctld")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	judge := inuse.Judge{Programs: partition.Programs{Execute: c.execute(w.broken.keepOpen)}, Wanted: dir, Live: filepath.Join(dir, "live"),
		File: filepath.Join(dir, "drained"), GateFile: filepath.Join(dir, "closed"), Log: slog.New(slog.DiscardHandler),
		ReachesSlurmdbd: func(context.Context, []slurmconf.Setting) bool { return w.broken.ignoreDatabase || w.reachesSlurmdbd() }}
	type file struct {
		text string
		at   time.Time
	}
	files := map[string]file{"drained": {c.drained, c.drainedAt}, slurmconf.ForcedRevisionFile: {text: w.forcedRevision()}}
	if p.applied != "" {
		files["live/slurm.conf"] = file{"its slurmctld has started", p.appliedAt}
	}
	err = os.Mkdir(judge.Live, 0o700)
	for name, f := range files {
		if path := filepath.Join(dir, name); f.text != "" {
			err = errors.Join(err, os.WriteFile(path, []byte(f.text), 0o600), os.Chtimes(path, f.at, f.at))
		}
	}
	if err != nil {
		return err
	}
	verdict := judge.Hold(context.Background(), inForce, wanted)
	drained, _ := os.ReadFile(judge.File) // the file is missing if nothing is drained
	c.drained = string(drained)
	if info, err := os.Stat(judge.File); err == nil && !info.ModTime().Equal(c.drainedAt) {
		c.drainedAt = c.noteWritten()
	}
	return verdict
}

// reachesSlurmdbd reports whether slurmdbd runs, or runs elsewhere.
func (w *simulation) reachesSlurmdbd() bool {
	return w.isOutside("slurmdbd") || len(w.runningReleases(v1beta1.KindAccounting)) > 0
}

// hasDatabase reports whether slurmctld uses slurmdbd with files.
func hasDatabase(files configagent.Files) bool {
	out := false
	for _, s := range partition.Settings(files) {
		if s.Name == "AccountingStorageType" {
			out = s.Value == "accounting_storage/slurmdbd"
		}
	}
	return out
}

// forcedRevision returns the revision that is applied whatever it ends.
func (w *simulation) forcedRevision() string {
	if config := find[*corev1.ConfigMap](w.api, names.ControllerConfigMap(ctldName)); config != nil {
		return config.Data[slurmconf.ForcedRevisionFile]
	}
	return ""
}

// tryConfig gives slurmctld the wanted files, unless they are held. A pod that has just started gets those that were in force then.
func (w *simulation) tryConfig(p *simPod) {
	c, current := w.slurmctld, p.applied
	if current == "" {
		current = c.accepted
	}
	if p.wanted == p.applied { // another slurmctld may have read a newer revision meanwhile
		p.held = nil
		return
	}
	if current == "" || w.broken.ignoreHolds {
		w.applyConfig(p, p.wanted)
		return
	}
	var err error
	if c.accepted != current { // another slurmctld has it
		err = w.hold(p, c.files[c.accepted], c.files[p.wanted])
	}
	if err == nil {
		err = w.hold(p, c.files[current], c.files[p.wanted])
	}
	var held *configagent.HeldError
	switch {
	case err == nil:
		w.applyConfig(p, p.wanted)
		return
	case !errors.As(err, &held):
		w.failf("judging a revision: %v", err)
		return
	}
	if p.held == nil || *p.held != configagent.Held(*held) {
		w.logf("revision %s is held: %s", p.wanted, held.Message)
		p.held = &configagent.Held{Reason: held.Reason, Message: held.Message}
	}
	w.counts["a revision is held"]++
	w.checkDrained(p)
	if p.applied == "" {
		p.applied, p.appliedAt = c.accepted, c.noteWritten()
	}
}

// applyConfig has slurmctld read the files of a revision: it ends the jobs of partitions that these lack.
func (w *simulation) applyConfig(p *simPod, revision string) {
	c := w.slurmctld
	if p.held != nil {
		w.counts["a held revision is in force"]++
	}
	p.held, p.applied, p.appliedAt = nil, revision, c.noteWritten()
	if revision == "" || revision == c.accepted {
		return
	}
	if c.accepted != "" && !hasDatabase(c.files[c.accepted]) && hasDatabase(c.files[revision]) {
		w.counts["accounting is turned on"]++
		if !w.reachesSlurmdbd() && w.forcedRevision() != revision {
			w.failf("slurmctld gets accounting with revision %s while slurmdbd does not run, and ends", revision)
		}
	}
	states := map[string]string{}
	for _, line := range slurmconf.PartitionsOf(partition.Settings(c.files[revision])) {
		if states[line.Name] = line.State; c.partitions[line.Name] != "" {
			states[line.Name] = c.partitions[line.Name] // ReconfigFlags=KeepPartState
		}
	}
	c.partitions, c.accepted = states, revision
	maps.DeleteFunc(c.setByAdmin, func(name string, _ bool) bool { return states[name] == "" })
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		switch {
		case states[c.jobs[id]] != "":
			continue
		case w.forcedRevision() == revision:
			w.counts["a revision is forced"]++
		default:
			w.failf("revision %s has no partition %s, which ends job %d", revision, c.jobs[id], id)
		}
		delete(c.jobs, id)
	}
}

// checkDrained holds a revision that is held to the promise that the partitions which it removes get no new jobs.
func (w *simulation) checkDrained(p *simPod) {
	c := w.slurmctld
	if c.silent || p.applied == "" || p.held.Reason != v1beta1.ReasonPartitionInUse {
		return
	}
	wanted := map[string]bool{}
	for _, line := range slurmconf.PartitionsOf(partition.Settings(c.files[p.wanted])) {
		wanted[line.Name] = true
	}
	for name, state := range c.partitions {
		if !wanted[name] && !c.setByAdmin[name] && (state == partition.Up || state == partition.Down) {
			w.failf("the partition %s is to be removed, and may still get jobs", name)
		}
	}
}

// watchPartitions gives drained partitions their state back once no revision is held, as the agent of slurmctld does.
func (w *simulation) watchPartitions(p *simPod) {
	c := w.slurmctld
	isHeld := slices.ContainsFunc(slices.Collect(maps.Values(w.pods)), func(o *simPod) bool { return o.held != nil })
	if p.daemon != "slurmctld" || c.drained == "" || c.silent || isHeld || p.applied == "" || p.applied != c.accepted {
		return
	}
	if err := w.hold(p, c.files[p.applied], c.files[p.applied]); err != nil {
		w.failf("nothing is removed, and a revision is held: %v", err)
	}
}

// isControllerPod reports whether slurmctld's StatefulSet wants a pod.
func (w *simulation) isControllerPod(name string) bool {
	set := find[*appsv1.StatefulSet](w.api, names.ControllerStatefulSet(ctldName))
	if set == nil || set.Spec.Replicas == nil { // a foreign object
		return false
	}
	for i := range *set.Spec.Replicas {
		if name == names.ControllerPod(ctldName, int(i)) {
			return true
		}
	}
	return false
}

// checkHeldIsTold checks that the condition ConfigApplied reports what the agents wait for.
func (w *simulation) checkHeldIsTold(kind string, conditions []metav1.Condition) {
	config := find[*corev1.ConfigMap](w.api, names.ControllerConfigMap(ctldName))
	if kind != v1beta1.KindController || config == nil {
		return
	}
	for name, p := range w.pods {
		if w.isControllerPod(name) && p.held != nil && !p.silent && p.wanted == config.Data[slurmconf.RevisionFile] &&
			meta.IsStatusConditionTrue(conditions, v1beta1.ConditionConfigApplied) {
			w.failf("the revision of %s is held, and ConfigApplied is True", name)
		}
	}
}

// checkPartitionsAtRest checks that no partition stays drained for a revision.
func (w *simulation) checkPartitionsAtRest() {
	for name, state := range w.slurmctld.partitions {
		if !w.slurmctld.setByAdmin[name] && state != partition.Up {
			w.failf("at rest the partition %s is %s", name, state)
		}
	}
}
