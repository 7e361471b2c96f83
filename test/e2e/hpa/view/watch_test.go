//go:build e2e

package view

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testWatch runs kubectl get --watch while a job is submitted, starts and is cancelled.
func (s *env) testWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := s.watchOutput(ctx, t, "slurmjobs", "-A", "-l", "partition=cpu", "--watch", "--no-headers")
	lines.awaitLine(t, "alpha.2", "RUNNING")
	id, err := s.alpha.Submit(slurmtest.JobSpec{User: "alice",
		JobRequest: slurm.JobRequest{Name: "new", Partition: "cpu", Tasks: 1}, Forever: true})
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprint("alpha.", id)
	s.alpha.Step(5 * time.Second)
	lines.awaitLine(t, name, "RUNNING")
	if err := s.alpha.Cancel(fmt.Sprint(id)); err != nil {
		t.Fatal(err)
	}
	s.alpha.Step(5 * time.Second)
	lines.awaitLine(t, name, "CANCELLED")
	cancel()
	if got := lines.contents(); strings.Contains(got, "alpha.1 ") {
		t.Errorf("the watch shows a job of another partition:\n%s", got)
	}
}

// outputBuffer collects the output of a program.
type outputBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *kubeEnv) watchOutput(ctx context.Context, t *testing.T, args ...string) *outputBuffer {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(s.kube.Dir, "bin", "kubectl"), append([]string{"get"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kube.Kubeconfig(), "KUBECACHEDIR="+s.dir,
		"NO_PROXY="+s.kube.HostAddress)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := &outputBuffer{}
	go func() {
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			out.mu.Lock()
			out.text.WriteString(lines.Text() + "\n")
			out.mu.Unlock()
		}
		_ = cmd.Wait()
	}()
	return out
}

func (o *outputBuffer) contents() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// awaitLine waits for a line that contains all the words.
func (o *outputBuffer) awaitLine(t *testing.T, words ...string) {
	t.Helper()
	process.Await(t, func() error {
		for line := range strings.Lines(o.contents()) {
			found := true
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				return nil
			}
		}
		return fmt.Errorf("no line contains %q in\n%s", words, o.contents())
	})
}

// testInformer compares the store of an informer with a list while jobs change.
func (s *env) testInformer(t *testing.T) {
	config, err := s.kube.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resource := v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.Jobs)
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, "team-a", 0, cache.Indexers{},
		nil).Informer()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	for round := range 3 {
		id, err := s.alpha.Submit(slurmtest.JobSpec{User: "bob",
			JobRequest: slurm.JobRequest{Name: fmt.Sprint("round-", round), Partition: "cpu", Tasks: 1}, Forever: true})
		if err != nil {
			t.Fatal(err)
		}
		s.alpha.Step(5 * time.Second)
		process.Await(t, func() error {
			return compareInformer(ctx, client.Resource(resource).Namespace("team-a"),
				informer, id)
		})
		if err := s.alpha.Cancel(fmt.Sprint(id)); err != nil {
			t.Fatal(err)
		}
	}
	// The records of finished jobs are dropped after MinJobAge.
	s.alpha.Step(10 * time.Minute)
	process.Await(t, func() error {
		if n := len(informer.GetStore().List()); n != 4 {
			return fmt.Errorf("the informer stores %d jobs, want 4", n)
		}
		return nil
	})
}

// compareInformer returns an error unless the list and the informer contain the same jobs in the
// same states, the given job among them.
func compareInformer(ctx context.Context, client dynamic.ResourceInterface, informer cache.SharedIndexInformer,
	id uint32) error {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	states := func(objects []unstructured.Unstructured) map[string]string {
		out := map[string]string{}
		for _, o := range objects {
			out[o.GetName()], _, _ = unstructured.NestedString(o.Object, "status", "state")
		}
		return out
	}
	var held []unstructured.Unstructured
	for _, o := range informer.GetStore().List() {
		held = append(held, *o.(*unstructured.Unstructured))
	}
	listed, kept := states(list.Items), states(held)
	if fmt.Sprint(listed) != fmt.Sprint(kept) || listed[fmt.Sprint("alpha.", id)] == "" {
		return fmt.Errorf("the list has %v, the informer %v", listed, kept)
	}
	return nil
}
