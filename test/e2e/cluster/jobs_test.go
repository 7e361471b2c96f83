//go:build e2e

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestEditsEndNoJob edits the objects of clusters in ways that would end jobs or slurmctld. It runs with -long, on each
// release.
func TestEditsEndNoJob(t *testing.T) {
	kube := startLong(t, "jobs.yaml")
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			e := editedCluster{startSlurm(t, kube, version, "jobs.yaml"), version}
			for _, tc := range []struct {
				name string
				test func(editedCluster)
			}{
				{"a partition disappears", editedCluster.testPartitions},
				{"a NodeSet has the name of a worker", editedCluster.testNames},
				{"keys and files disappear", editedCluster.testDeletedReferences},
				{"a change fails", editedCluster.testFailedChange},
			} {
				t.Run(tc.name, func(t *testing.T) {
					copied := *e.env
					copied.T = t
					tc.test(editedCluster{&copied, version})
				})
			}
		})
	}
}

// editedCluster is a cluster of a release whose objects are edited.
type editedCluster struct {
	*env
	version string
}

// createNodeSet creates a NodeSet with a worker and a partition.
func (e editedCluster) createNodeSet(name string) {
	e.Helper()
	must(e.T, e.kube.Apply(e.Context(), fmt.Sprintf(`
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: %s, namespace: %s}
spec:
  controllerRef: {name: slurm}
  replicas: 1
  maxReplicas: 2
  partition: {enabled: true}
  extraConf: CPUs=2 RealMemory=500
  oversubscribeNode: true
  slurmd: {image: "localhost/slurmd:%s", imagePullPolicy: Never}
`, name, e.namespace, e.version)))
}

// deleteNodeSet deletes a NodeSet and waits until it is gone.
func (e editedCluster) deleteNodeSet(name string) {
	e.Helper()
	begin := time.Now()
	e.kubectl("delete", "nodeset", name, "--timeout=180s")
	e.Logf("%s: NodeSet %s is gone after %.1f s", e.version, name, time.Since(begin).Seconds())
}

// submitWaiting submits a job that runs until endJob.
func (e editedCluster) submitWaiting(args ...string) string {
	e.Helper()
	job := e.submit(append(args, "--no-requeue", "--wrap", "while [ ! -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done")...)
	e.awaitState(job, "RUNNING")
	return job
}

// endJob lets a job of submitWaiting end on a worker.
func (e editedCluster) endJob(worker, job string) {
	e.Helper()
	e.kubectl("exec", worker, "--", "touch", "/tmp/end-"+job)
}

// awaitPartition waits until a partition has a state, empty for a partition that does not exist.
func (e editedCluster) awaitPartition(partition, want string) {
	e.Helper()
	process.Await(e.T, func() error {
		got, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--",
			"scontrol", "--oneliner", "show", "partitions")
		_, line, has := strings.Cut(got, "PartitionName="+partition+" ")
		line, _, _ = strings.Cut(line, "\n")
		if err == nil && (has != (want != "") || has && !strings.Contains(line, " State="+want)) {
			err = fmt.Errorf("the partition %s is %q, not %q", partition, line, want)
		}
		return err
	})
}

// testPartitions removes partitions of running and held jobs in every possible way.
func (e editedCluster) testPartitions() {
	e.testRemovedPartition("w", func() {
		e.kubectl("patch", "nodeset", "w", "--type=merge", "-p", `{"spec":{"partition":{"enabled":false}}}`)
	})
	e.testDeletedNodeSet()
	e.testRenamedNodeSet()
	e.setExtraConf("PartitionName=more Nodes=ALL")
	e.awaitPartition("more", "UP")
	e.testRemovedPartition("more", func() { e.setExtraConf("# nothing") })
	e.testForcedRevision()
}

// testRemovedPartition removes a partition. The removal waits for a running and a held job, and then completes without help.
func (e editedCluster) testRemovedPartition(partition string, remove func()) {
	e.Helper()
	running := e.submitWaiting("-p", partition)
	held := e.submit("-p", partition, "-H", "--wrap", "true")
	begin := time.Now()
	remove()
	e.awaitCondition(v1beta1.ConditionConfigApplied, "False PartitionInUse")
	e.Logf("%s: it is held after %.1f s: %s", e.version, time.Since(begin).Seconds(), e.condition(v1beta1.ConditionConfigApplied))
	e.awaitCondition(v1beta1.ConditionConfigApplied, partition+" (jobs ")
	e.awaitCondition(v1beta1.ConditionConfigApplied, running)
	e.awaitCondition(v1beta1.ConditionConfigApplied, held)
	e.awaitPartition(partition, "DRAIN")
	e.awaitState(held, "PENDING")
	e.slurm("scontrol", "release", held)
	e.awaitState(held, "COMPLETED")
	e.awaitState(running, "RUNNING")
	begin = time.Now()
	e.endJob("w-0", running)
	e.awaitPartition(partition, "")
	e.awaitState(running, "COMPLETED")
	e.awaitState(held, "COMPLETED")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
	e.Logf("%s: it is in force %.1f s after the end of the last job", e.version, time.Since(begin).Seconds())
}

// testDeletedNodeSet deletes a NodeSet with a running job, and a held job in its partition that another one may run, too.
func (e editedCluster) testDeletedNodeSet() {
	e.Helper()
	e.createNodeSet("x")
	e.awaitPartition("x", "UP")
	e.await("idle", "sinfo", "-h", "-n", "x-0", "-o", "%t")
	running := e.submitWaiting("-p", "x")
	held := e.submit("-p", "x,all", "-H", "--wrap", "true")
	begin := time.Now()
	e.kubectl("delete", "nodeset", "x", "--wait=false")
	e.await("drain", "sinfo", "-h", "-n", "x-0", "-o", "%T %E") // the worker is chosen
	e.awaitState(running, "RUNNING")
	e.endJob("x-0", running)
	e.awaitState(running, "COMPLETED")
	e.kubectl("wait", "nodeset/x", "--for=delete", "--timeout=180s")
	e.Logf("%s: NodeSet x is gone after %.1f s", e.version, time.Since(begin).Seconds())
	e.awaitCondition(v1beta1.ConditionConfigApplied, "False PartitionInUse")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "x (job "+held+")")
	e.awaitPartition("x", "DRAIN")
	e.awaitState(held, "PENDING")
	e.movePendingJob(held) // slurmctld does not release it in a partition without nodes
	e.slurm("scontrol", "release", held)
	e.awaitPartition("x", "")
	e.awaitState(held, "COMPLETED")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
}

// movePendingJob requests another partition for a job. slurmctld 26.05 sometimes answers "Resource temporarily unavailable".
func (e editedCluster) movePendingJob(job string) {
	e.Helper()
	process.Await(e.T, func() error {
		_, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--",
			"scontrol", "update", "jobid="+job, "partition=all")
		return err
	})
}

// testRenamedNodeSet creates a NodeSet and deletes the NodeSet that it replaces. One job runs there, and a held job requests its partition
// and another one.
func (e editedCluster) testRenamedNodeSet() {
	e.Helper()
	e.createNodeSet("before")
	running := e.runIn("before", "before-0")
	held := e.submit("-p", "before,all", "-H", "--wrap", "true")
	begin := time.Now()
	e.createNodeSet("after")
	e.kubectl("delete", "nodeset", "before", "--wait=false")
	e.await("drain", "sinfo", "-h", "-n", "before-0", "-o", "%T")
	e.awaitState(running, "RUNNING")
	e.endJob("before-0", running)
	e.awaitState(running, "COMPLETED")
	e.kubectl("wait", "nodeset/before", "--for=delete", "--timeout=180s")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "before (job "+held+")")
	e.awaitState(held, "PENDING")
	e.movePendingJob(held)
	e.slurm("scontrol", "release", held)
	e.awaitState(held, "COMPLETED")
	e.awaitPartition("before", "")
	e.endJob("after-0", e.runIn("after", "after-0"))
	e.Logf("%s: NodeSet before is NodeSet after %.1f s later", e.version, time.Since(begin).Seconds())
	e.deleteNodeSet("after")
}

// testForcedRevision ends a job with the annotation that the condition shows.
func (e editedCluster) testForcedRevision() {
	e.Helper()
	e.setExtraConf("PartitionName=forced Nodes=ALL")
	e.awaitPartition("forced", "UP")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
	running := e.submitWaiting("-p", "forced")
	e.setExtraConf("# nothing more")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "False PartitionInUse")
	condition := e.condition(v1beta1.ConditionConfigApplied)
	_, command, _ := strings.Cut(condition, "kubectl ")
	command, _, has := strings.Cut(command, ";")
	if !has || !strings.Contains(command, v1beta1.AnnotationForceRevision+"=") {
		e.Fatalf("%s: the condition names no command that forces the revision: %s", e.version, condition)
	}
	e.awaitState(running, "RUNNING")
	begin := time.Now()
	_, err := e.kube.Kubectl(e.Context(), strings.Fields(command)...)
	must(e.T, err)
	e.awaitState(running, "NODE_FAIL")
	e.awaitPartition("forced", "")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
	e.Logf("%s: kubectl %s: it is in force after %.1f s", e.version, command, time.Since(begin).Seconds())
}

// awaitReady waits until the condition Ready of a NodeSet contains want.
func (e editedCluster) awaitReady(nodeSet, want string) {
	e.Helper()
	process.Await(e.T, func() error {
		got := e.kubectl("get", "nodeset", nodeSet, "-o",
			`jsonpath={.status.conditions[?(@.type=="Ready")]['status','reason','message']}`)
		if !strings.Contains(got, want) {
			return fmt.Errorf("Ready of NodeSet %s is %q, not %q", nodeSet, got, want)
		}
		return nil
	})
}

// awaitLeftOut waits until the Controller names a NodeSet that slurm.conf leaves out, or no NodeSet.
func (e editedCluster) awaitLeftOut(nodeSet string) {
	e.Helper()
	if nodeSet != "" {
		e.awaitCondition(v1beta1.ConditionNodeSetsIncluded, "False NameTaken NodeSet "+nodeSet+" is not in slurm.conf")
		e.awaitReady(nodeSet, "False NameTaken")
		return
	}
	process.Await(e.T, func() error {
		if got := e.condition(v1beta1.ConditionNodeSetsIncluded); got != "" {
			return errors.New(got)
		}
		return nil
	})
}

// testNames creates NodeSets with names of other NodeSets' workers, in both orders, and one with a name that Slurm does not accept.
func (e editedCluster) testNames() {
	e.createNodeSet("gpu")
	job := e.runIn("gpu", "gpu-0")
	e.createNodeSet("gpu-0")
	e.awaitLeftOut("gpu-0")
	e.killSlurmctld(job)
	e.deleteNodeSet("gpu-0")
	e.awaitLeftOut("")

	e.createNodeSet("gpu-0")
	e.awaitLeftOut("gpu-0")
	e.endJob("gpu-0", job)
	e.awaitState(job, "COMPLETED")
	e.deleteNodeSet("gpu")
	e.awaitLeftOut("")
	job = e.runIn("gpu-0", "gpu-0-0")
	e.createNodeSet("gpu") // the younger one now
	other := e.runIn("gpu", "gpu-1")
	e.awaitReady("gpu", "no worker gpu-0 is created, because NodeSet gpu-0 has that name")
	e.killSlurmctld(job)
	e.awaitState(other, "RUNNING")
	e.endJob("gpu-0-0", job)
	e.deleteNodeSet("gpu-0")
	e.awaitState(job, "COMPLETED")

	e.createNodeSet("default")
	e.awaitLeftOut("default")
	e.killSlurmctld(other)
	if nodes := e.slurm("scontrol", "show", "nodes", "--future", "--oneliner"); strings.Contains(nodes, "NodeName=default-") {
		e.Errorf("the nodes of NodeSet default are in the partition of all nodes:\n%s", nodes)
	}
	e.deleteNodeSet("default")
	e.endJob("gpu-1", other)
	e.awaitState(other, "COMPLETED")
	e.deleteNodeSet("gpu")
	e.awaitLeftOut("")
}

// runIn starts a job in the partition of a NodeSet, and checks which worker has it.
func (e editedCluster) runIn(nodeSet, worker string) string {
	e.Helper()
	e.awaitPartition(nodeSet, "UP")
	e.await("idle", "sinfo", "-h", "-n", worker, "-o", "%t")
	job := e.submitWaiting("-p", nodeSet)
	e.await("BatchHost="+worker+"\n", "scontrol", "show", "job", job)
	return job
}

// killSlurmctld kills slurmctld with SIGKILL while a job runs, and waits until it has started again.
func (e editedCluster) killSlurmctld(job string) {
	e.Helper()
	before := e.restarts()
	time.Sleep(stateInterval)
	e.slurm("sh", "-c", "kill -9 $(cat "+slurmconf.RunDir+"/slurmctld.pid)")
	process.Await(e.T, func() error {
		if e.restarts() == before {
			return errors.New("slurmctld was not started again")
		}
		return nil
	})
	e.awaitState(job, "RUNNING")
	e.await("Restarts=0", "scontrol", "show", "job", job)
}

// testDeletedReferences deletes the objects that the Controller refers to while a job runs, and kills slurmctld without them. The operator
// watches only ConfigMaps.
func (e editedCluster) testDeletedReferences() {
	job := e.submitWaiting("-p", "all")
	for _, object := range []string{"configmap/files", "secret/slurm-jwt", "secret/slurm-auth"} {
		kept := e.kubectl("get", object, "-o", "json", "--show-managed-fields=false")
		begin := time.Now()
		e.kubectl("delete", object)
		if name, watched := strings.CutPrefix(object, "configmap/"); watched {
			e.awaitCondition(v1beta1.ConditionReady, "False ReferenceNotFound")
			e.awaitCondition(v1beta1.ConditionReady, name)
		}
		e.killSlurmctld(job)
		e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
		var fields map[string]any
		must(e.T, json.Unmarshal([]byte(kept), &fields))
		metadata, _ := fields["metadata"].(map[string]any)
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		again, err := json.Marshal(fields)
		must(e.T, err)
		must(e.T, e.kube.Apply(e.Context(), string(again)))
		e.awaitCondition(v1beta1.ConditionReady, "True")
		e.awaitState(job, "RUNNING")
		e.Logf("%s: %s was away for %.1f s", e.version, object, time.Since(begin).Seconds())
	}
	e.endJob("w-0", job)
	e.awaitState(job, "COMPLETED")
	e.await("Restarts=0", "scontrol", "show", "job", job)
}

// testFailedChange sets an option that a trial accepts but with which slurmctld does not start, and reverts it.
func (e editedCluster) testFailedChange() {
	e.kubectl("delete", "pod", e.ctld) // the kubelet starts a container again later and later
	e.setExtraConf("# A")
	e.await("is UP", "scontrol", "ping")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
	before := e.condition(v1beta1.ConditionConfigApplied)
	revision := strings.Fields(before)[3]
	job := e.submitWaiting("-p", "all")
	time.Sleep(stateInterval)
	begin := time.Now()
	e.setExtraConf("JobCompType=jobcomp/mysql") // there is no database
	e.awaitCondition(v1beta1.ConditionConfigApplied, "False Retrying")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "; revision "+revision+" stays in force")
	e.Logf("%s: it is undone after %.1f s: %s", e.version, time.Since(begin).Seconds(),
		e.condition(v1beta1.ConditionConfigApplied))
	e.await("is UP", "scontrol", "ping")
	e.awaitState(job, "RUNNING")
	begin = time.Now()
	e.setExtraConf("# A")
	e.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied revision "+revision+" is in force")
	e.Logf("%s: it is taken back after %.1f s", e.version, time.Since(begin).Seconds())
	e.await("is UP", "scontrol", "ping")
	e.endJob("w-0", job)
	e.awaitState(job, "COMPLETED")
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
}
