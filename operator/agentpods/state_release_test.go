package agentpods

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// TestStateReleaseIsThatOfOurPods: any user who creates pods in the namespace chooses their labels and their answers. Such
// pods do not change the result, and silent ones do not delay the other Controllers.
func TestStateReleaseIsThatOfOurPods(t *testing.T) {
	const set = "slurm-controller"
	labels := map[string]string{"app": "slurmctld"}
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm", UID: "uid-slurm"}}
	newPod := func(name, ip string, owner string) *corev1.Pod {
		out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Status: corev1.PodStatus{PodIP: ip}}
		if owner != "" {
			out.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: set, UID: "uid-set", Controller: new(true)}}
		}
		return out
	}
	live := newSet(set, "uid-set", 1)
	live.OwnerReferences = []metav1.OwnerReference{{Kind: "Controller", Name: "slurm", UID: "uid-slurm", Controller: new(true)}}
	objects := []client.Object{live, newPod("slurm-controller-0", "10.0.0.1", set), newPod("stranger", "10.0.0.2", "")}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		objects = append(objects, newPod("silent-"+name, "10.0.0.3", ""))
	}
	store := kubetest.NewStore(t, c, objects...)
	var asked atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		r := Reader{Writer: kube.Writer{Client: store, Uncached: store}, Now: time.Now,
			ReadAgent: func(_ context.Context, ip string) (configagent.Status, error) {
				asked.Add(1)
				if ip == "10.0.0.3" {
					time.Sleep(3 * time.Second)
					return configagent.Status{}, errors.New("no answer")
				}
				return configagent.Status{StateRelease: map[string]string{"10.0.0.1": "25.11", "10.0.0.2": "30.05"}[ip]}, nil
			}}
		got, err := r.StateRelease(t.Context(), Daemon{Name: "slurmctld", Namespace: "team", Owner: c, Set: set, Pods: labels})
		if err != nil || got.String() != "25.11" || asked.Load() != 1 {
			t.Errorf("the state is of %s, %v, and %d pods were asked", got, err, asked.Load())
		}
	})
}
