//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// evict requests the eviction of a pod, as kubectl drain does.
func (c nodeSetEnv) evict(pod string) error {
	c.t.Helper()
	config, err := c.Kube.RESTConfig()
	must(c.t, err)
	clients, err := kubernetes.NewForConfig(config)
	must(c.t, err)
	return clients.PolicyV1().Evictions(c.Values.Namespace).Evict(c.t.Context(),
		&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: c.Values.Namespace}})
}

// expectEvictionRefused expects the eviction API to refuse the eviction of workers.
func (c nodeSetEnv) expectEvictionRefused(pods ...string) {
	c.t.Helper()
	for _, pod := range pods {
		if err := c.evict(pod); !apierrors.IsTooManyRequests(err) {
			c.t.Fatalf("evicting the busy worker %s: %v", pod, err)
		}
	}
}

func (c nodeSetEnv) kubectl(args ...string) {
	c.t.Helper()
	_, err := c.Kube.Kubectl(c.t.Context(), args...)
	must(c.t, err)
}

const (
	cordonReason = "slurm-operator: Kubernetes node node is cordoned"
	adminReason  = "disk check"
)

// testCordon: workers on a cordoned Kubernetes node are drained, and jobs continue. An idle worker may be evicted. Afterwards all are in
// service again, except the worker that an administrator drained.
func testCordon(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "ck", Replicas: 3})
	job := c.startJob("ck-0", 30)
	before := c.mustWorkers()
	_, err := s.Slurm(t.Context(), "scontrol", "update", "NodeName=ck-1", "State=DRAIN", "Reason="+adminReason)
	must(t, err)
	c.kubectl("cordon", "node")
	t.Cleanup(func() { _, _ = s.Kube.Kubectl(context.WithoutCancel(t.Context()), "uncordon", "node") })
	c.awaitSlurmState("ck-0", "MIXED+DRAIN", cordonReason)
	c.awaitSlurmState("ck-2", "IDLE+DRAIN", cordonReason)
	c.awaitSlurmState("ck-1", "IDLE+DRAIN", adminReason)
	c.expectEvictionRefused("ck-0")
	c.await("ck-2 may be evicted", func(context.Context) (bool, string) {
		err := c.evict("ck-2") // once jobs were listed after its drain
		return err == nil, fmt.Sprint(err)
	})
	c.await("ck-2 is created again", func(context.Context) (bool, string) {
		w := c.mustWorkers()["ck-2"]
		return w.UID != "" && w.UID != before["ck-2"].UID, fmt.Sprint(w)
	})
	c.kubectl("uncordon", "node")
	c.awaitSlurmState("ck-0", "MIXED", "")
	c.awaitSlurmState("ck-2", "IDLE", "")
	c.expectSteady("the administrator's drain", func() (bool, string) {
		state, reason, err := c.SlurmNode(t.Context(), "ck-1")
		return err == nil && reason == adminReason, fmt.Sprint(state, reason, err)
	})
	if w := c.mustWorkers(); w["ck-0"].UID != before["ck-0"].UID || w["ck-1"].UID != before["ck-1"].UID {
		t.Errorf("workers were replaced: %v, before %v", w, before)
	}
	drainKubeNode(c, job)
	_, err = s.Slurm(t.Context(), "scontrol", "update", "NodeName=ck-1", "State=RESUME")
	must(t, err)
	c.deleteAndWait()
}

// drainKubeNode runs kubectl drain, which waits for the job and then succeeds.
func drainKubeNode(c nodeSetEnv, job string) {
	c.t.Helper()
	drain := []string{"drain", "node", "--pod-selector=app.kubernetes.io/name=slurmd", "--delete-emptydir-data"}
	if _, err := c.Kube.Kubectl(c.t.Context(), append(drain, "--timeout=6s")...); err == nil {
		c.t.Fatal("kubectl drain evicted a busy worker")
	}
	if w := c.mustWorkers()["ck-0"]; !w.Protected || w.Deleting {
		c.t.Fatalf("the busy worker is %v", w)
	}
	c.finishJob(job)
	c.kubectl(append(drain, "--timeout=60s")...)
	c.kubectl("uncordon", "node")
}

// testCordonKubeNodes: the Kubernetes node is cordoned when an administrator drains the Slurm node. It is uncordoned when the drain ends,
// or when the NodeSet is deleted.
func testCordonKubeNodes(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "ckn", Replicas: 1, Spec: "  cordonKubeNodes: true"})
	slurm := func(words ...string) {
		_, err := s.Slurm(t.Context(), append([]string{"scontrol"}, words...)...)
		must(t, err)
	}
	slurm("update", "NodeName=ckn-0", "State=DRAIN", "Reason="+adminReason)
	c.awaitCordon("true " + s.Values.Namespace + "/ckn/ckn-0")
	c.awaitSlurmState("ckn-0", "IDLE+DRAIN", adminReason)
	slurm("update", "NodeName=ckn-0", "State=RESUME")
	c.awaitCordon(" ")
	slurm("update", "NodeName=ckn-0", "State=DRAIN", "Reason="+adminReason)
	c.awaitCordon("true " + s.Values.Namespace + "/ckn/ckn-0")
	must(t, c.Scale(t.Context(), "ckn", 0))
	c.awaitWorkers()
	c.expectSteady("the cordon", func() (bool, string) {
		out := c.cordonOf()
		return strings.HasPrefix(out, "true"),
			out
	})
	c.delete()
	c.await("is gone", func(ctx context.Context) (bool, string) {
		out, err := s.Kube.Kubectl(ctx, "--namespace", s.Values.Namespace, "get", "nodeset", "ckn",
			"--ignore-not-found")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
	c.awaitCordon(" ")
	slurm("delete", "NodeName=ckn-0") // an administrator's drain is left with its record
}

// cordonOf returns whether the Kubernetes node is unschedulable, and the reason.
func (c nodeSetEnv) cordonOf() string {
	c.t.Helper()
	out, err := c.Kube.Kubectl(c.t.Context(), "get", "node", "node", "--output",
		`jsonpath={.spec.unschedulable} {.metadata.annotations.nodeset\.slinky\.slurm\.net/cordoned-for}`)
	must(c.t, err)
	return out
}

func (c nodeSetEnv) awaitCordon(want string) {
	c.t.Helper()
	c.await("the cordon is "+want, func(context.Context) (bool, string) {
		out := c.cordonOf()
		return out == want,
			out
	})
}

// testPerKubeNode: the same protection with a worker on each Kubernetes node, even after the node gets another hostname-override.
func testPerKubeNode(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "ds", Spec: "  scalingMode: DaemonSet"})
	c.awaitSlurmState("node", "IDLE", "")
	job := c.startJob("node", 30)
	const override = "nodeset.slinky.slurm.net/hostname-override"
	c.kubectl("annotate", "node", "node", override+"=renamed")
	t.Cleanup(func() {
		_, _ = s.Kube.Kubectl(context.WithoutCancel(t.Context()), "annotate", "node", "node", override+"-")
	})
	c.awaitSlurmState("node", "MIXED+DRAIN", "slurm-operator: update")
	for pod := range c.mustWorkers() {
		c.expectEvictionRefused(pod)
	}
	c.finishJob(job)
	c.awaitSlurmState("renamed", "IDLE", "")
	c.kubectl("annotate", "node", "node", override+"-")
	c.awaitSlurmState("node", "IDLE", "")

	job = c.startJob("node", 30)
	for pod := range c.mustWorkers() {
		c.expectEvictionRefused(pod)
	}
	c.delete()
	c.awaitSlurmState("node", "MIXED+DRAIN", "slurm-operator: deletion of the NodeSet")
	for pod := range c.mustWorkers() {
		c.expectEvictionRefused(pod)
	}
	c.finishJob(job)
	c.awaitGone()
}

// testScalingModes: a worker with a job stays while its Kubernetes node has a taint of effect NoSchedule. It also stays until the job has
// ended when the NodeSet changes to the other scaling mode and back.
func testScalingModes(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "modes", Spec: "  scalingMode: DaemonSet"})
	setMode := func(mode string) {
		t.Helper()
		c.kubectl("--namespace", s.Values.Namespace, "patch", "nodeset", "modes", "--type=merge",
			`--patch={"spec": {"replicas": 1, "scalingMode": "`+mode+`"}}`)
	}
	startJob := func(slurmNode string) string {
		t.Helper()
		c.awaitSlurmState(slurmNode, "IDLE", "")
		job, err := c.SubmitJob(t.Context(), slurmNode, 30)
		must(t, err)
		c.await("job "+job+" runs on "+slurmNode, func(ctx context.Context) (bool, string) {
			have, err := c.Job(ctx, job)
			return have.State == "RUNNING", fmt.Sprint(have, err)
		})
		return job
	}
	expectSame := func(what string, before map[string]nodeset.Worker) {
		t.Helper()
		c.expectSteadyFor(10*time.Second, what, func() (bool, string) {
			have := c.mustWorkers()
			for name, worker := range before {
				if have[name].UID != worker.UID || have[name].Deleting {
					return false, fmt.Sprint(have)
				}
			}
			return true, ""
		})
	}

	job := startJob("node")
	before := c.mustWorkers()
	const taint = "maintenance"
	c.kubectl("taint", "node", "node", taint+"=soon:NoSchedule")
	t.Cleanup(func() {
		_, _ = s.Kube.Kubectl(context.WithoutCancel(t.Context()), "taint", "node", "node", taint+"-")
	})
	expectSame("the worker of a tainted node stays", before)
	c.awaitSlurmState("node", "MIXED", "")
	c.kubectl("taint", "node", "node", taint+"-")

	setMode("StatefulSet")
	expectSame("the worker with a job stays in the other mode", before)
	c.finishJob(job)
	job = startJob("modes-0")
	before = c.mustWorkers()
	setMode("DaemonSet")
	expectSame("the worker with a job stays in the first mode", before)
	c.finishJob(job)
	c.finishJob(startJob("node"))
	c.deleteAndWait()
}
