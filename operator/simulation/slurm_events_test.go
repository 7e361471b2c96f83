package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// partitionedNodeSets are the names that the NodeSet with a partition may have.
var partitionedNodeSets = []string{"cpu", "big"}

func (w *simulation) addPartitionedNodeSet(name string) {
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	n.Spec.ControllerRef = &corev1.LocalObjectReference{Name: ctldName}
	n.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true}
	w.api.put(n)
}

// slurmEvent is something that happens in Slurm, or to partitions. It draws from numbers of its own.
func (w *simulation) slurmEvent() {
	switch w.slurmRand.IntN(24) {
	case 0, 1, 2:
		w.submitJob()
	case 3, 4:
		w.finishJob()
	case 5, 6:
		w.changePartition()
	case 7:
		w.toggleExtraPartition()
	case 8, 11, 12:
		w.forceRevision()
	case 9:
		w.slurmctld.silent = w.slurmRand.IntN(3) == 0
	case 10:
		w.administerPartition()
	}
}

// pickPartition returns a partition of the running slurmctld, or an empty string.
func (w *simulation) pickPartition() string {
	if all := slices.Sorted(maps.Keys(w.slurmctld.partitions)); len(all) > 0 {
		return all[w.slurmRand.IntN(len(all))]
	}
	return ""
}

// submitJob submits a job to a partition that accepts it.
func (w *simulation) submitJob() {
	c, name := w.slurmctld, w.pickPartition()
	if state := c.partitions[name]; state == partition.Up || state == partition.Down {
		c.lastJob++
		c.jobs[c.lastJob] = name
		w.logf("job %d is submitted to %s", c.lastJob, name)
	}
}

func (w *simulation) finishJob() {
	for _, id := range slices.Sorted(maps.Keys(w.slurmctld.jobs)) {
		w.logf("job %d ends", id)
		delete(w.slurmctld.jobs, id)
		return
	}
}

// endJobs ends all jobs, makes slurmctld answer and removes a forced revision.
func (w *simulation) endJobs() {
	w.slurmctld.silent = false
	clear(w.slurmctld.jobs)
	w.annotate(v1beta1.KindController, v1beta1.AnnotationForceRevision, "")
}

// changePartition disables or enables the partition of a NodeSet, or renames or deletes the NodeSet, or brings it back.
func (w *simulation) changePartition() {
	for i, name := range partitionedNodeSets {
		if find[*v1beta1.NodeSet](w.api, name) == nil {
			continue
		}
		switch w.slurmRand.IntN(4) {
		case 0, 1:
			change(w.api, name, func(n *v1beta1.NodeSet) {
				n.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: !n.Spec.Partition.Enabled}
				w.logf("the partition of NodeSet %s is enabled: %t", name, n.Spec.Partition.Enabled)
			})
		case 2:
			w.logf("NodeSet %s is deleted", name)
			w.api.remove("NodeSet", name)
		case 3:
			w.logf("NodeSet %s is renamed", name)
			w.api.remove("NodeSet", name)
			w.addPartitionedNodeSet(partitionedNodeSets[1-i])
		}
		return
	}
	w.addPartitionedNodeSet(partitionedNodeSets[0])
}

// toggleExtraPartition adds a partition to extraConf, or removes the line.
func (w *simulation) toggleExtraPartition() {
	w.changeObject(v1beta1.KindController, func(o client.Object) {
		c, isController := o.(*v1beta1.Controller)
		switch {
		case !isController:
		case c.Spec.ExtraConf == "":
			c.Spec.ExtraConf = "PartitionName=extra Nodes=ALL"
		default:
			c.Spec.ExtraConf = ""
		}
		w.logf("extraConf is %q", c.Spec.ExtraConf)
	})
}

// forceRevision forces the held configuration, whatever it ends.
func (w *simulation) forceRevision() {
	config := find[*corev1.ConfigMap](w.api, names.ControllerConfigMap(ctldName))
	isHeld := slices.ContainsFunc(slices.Collect(maps.Values(w.pods)), func(p *simPod) bool { return p.held != nil })
	if config != nil && isHeld {
		w.logf("revision %s is forced", config.Data[slurmconf.RevisionFile])
		w.annotate(v1beta1.KindController, v1beta1.AnnotationForceRevision, config.Data[slurmconf.RevisionFile])
	}
}

// administerPartition plays an administrator who opens or closes a partition.
func (w *simulation) administerPartition() {
	if name := w.pickPartition(); name != "" {
		states := []string{partition.Up, partition.Down, partition.Drain}
		w.slurmctld.partitions[name] = states[w.slurmRand.IntN(len(states))]
		w.slurmctld.setByAdmin[name] = true
		w.logf("an administrator sets the partition %s to %s", name, w.slurmctld.partitions[name])
	}
}

// hideHold makes agents report a held revision as applied.
func hideHold(_ *simulation, said configagent.Status, err error) (configagent.Status, error) {
	if said.Held != nil {
		said.Held, said.Error, said.Applied = nil, "", said.Wanted
	}
	return said, err
}
