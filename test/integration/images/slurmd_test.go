//go:build e2e

package images

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestWorkersAsPods runs the pods of images/slurmd/worker.yaml with each Slurm version. They
// register by themselves and run jobs of a user that their image does not have.
func TestWorkersAsPods(t *testing.T) {
	k := startKube(t, "slurmd:24.11", "slurmd:26.05")
	for _, version := range []string{"24.11", "26.05"} {
		t.Run(version, func(t *testing.T) {
			s := startSlurm(t, k, version)
			s.applyFile(t, "images/slurmd/worker.yaml")
			s.kubectl(t, "wait", "--for=condition=Ready", "--timeout=90s", "pod/privileged-0", "pod/unprivileged-0")
			s.awaitRegistered(t)
			for _, feature := range []string{"privileged", "unprivileged"} {
				s.testJobs(t, feature)
			}
			s.testGPUJob(t)
			s.testCancelledJob(t)
			s.testNoZombies(t)
			s.testTermination(t)
		})
	}
}

// startKube starts a Kubernetes cluster whose node has the images.
func startKube(t *testing.T, images ...string) *realkube.Cluster {
	t.Helper()
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	k, err := realkube.Start(t.Context(), realkube.Config{Kubelet: true, Name: "images"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := k.LoadImages(t.Context(), images...); err != nil {
		t.Fatal(err)
	}
	return k
}

// env is a slurmctld with workers, all of them pods of one namespace.
type env struct {
	kube               *realkube.Cluster
	namespace, version string
}

func startSlurm(t *testing.T, k *realkube.Cluster, version string) env {
	t.Helper()
	s := env{kube: k, namespace: "slurm-" + strings.ReplaceAll(version, ".", "-"), version: version}
	s.kubectl(t, "create", "namespace", s.namespace)
	s.applyFile(t, "test/integration/images/testdata/slurmctld.yaml")
	for _, name := range []string{"statefulset/slurmctld", "deployment/slurmrestd"} {
		s.kubectl(t, "rollout", "status", name, "--timeout=60s")
	}
	return s
}

// applyFile applies a file of this repository, adapted to this version of Slurm.
func (s env) applyFile(t *testing.T, file string) {
	t.Helper()
	objects := strings.NewReplacer(
		"localhost/slurmd:26.05", "localhost/slurmd:"+s.version,
		"\nmetadata:\n", "\nmetadata:\n  namespace: "+s.namespace+"\n",
	).Replace(readFile(t, file))
	if err := s.kube.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
}

func (s env) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.kube.Kubectl(t.Context(), append([]string{"--namespace", s.namespace}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// execInPod runs a shell command in a pod.
func (s env) execInPod(t *testing.T, pod, command string) string {
	t.Helper()
	return s.kubectl(t, "exec", pod, "--", "sh", "-c", command)
}

// asAlice runs a command as a user that exists only in the pod of slurmctld.
const asAlice = "cd /tmp && timeout 60 setpriv --reuid 3001 --regid 3001 --clear-groups "

func (s env) awaitRegistered(t *testing.T) {
	want := "privileged-0 idle privileged (null)\nunprivileged-0 idle unprivileged gpu:h100:2"
	s.awaitOutput(t, "sinfo's list of nodes", want, "slurmctld-0", "sinfo -h -N -o '%N %T %f %G' | sort")
}

func (s env) testJobs(t *testing.T, feature string) {
	out := s.execInPod(t, "slurmctld-0", asAlice+"srun --constraint "+feature+" sh -c 'id -u; hostname'")
	if want := "3001\n" + feature + "-0"; out != want {
		t.Errorf("srun on %s printed %q, want %q", feature, out, want)
	}
	s.execInPod(t, "slurmctld-0", asAlice+"sbatch --wait --array=1-4 --output /dev/null --constraint "+feature+
		" --wrap 'sleep 0.2'")
}

func (s env) testGPUJob(t *testing.T) {
	out := s.execInPod(t, "slurmctld-0", asAlice+"srun --gres=gpu:h100:2 sh -c 'echo $CUDA_VISIBLE_DEVICES; hostname'")
	if out != "0,1\nunprivileged-0" {
		t.Errorf("srun with GPUs printed %q", out)
	}
}

// testCancelledJob checks that an unprivileged slurmd can signal processes of other users.
func (s env) testCancelledJob(t *testing.T) {
	id := s.execInPod(t, "slurmctld-0",
		asAlice+"sbatch --parsable --output /dev/null --constraint unprivileged --wrap 'sleep 600'")
	s.awaitOutput(t, "the state of the job", "RUNNING", "slurmctld-0", "squeue -h -o %T -j "+id)
	s.execInPod(t, "slurmctld-0", "scancel "+id)
	s.awaitOutput(t, "the list of the job's processes", "", "unprivileged-0",
		"grep -lazs '^600$' /proc/[0-9]*/cmdline | grep -v self || true")
}

// testNoZombies checks that process 1 reaps what slurmd leaves to it.
func (s env) testNoZombies(t *testing.T) {
	for _, pod := range []string{"privileged-0", "unprivileged-0"} {
		s.awaitOutput(t, "the number of zombies of "+pod, "0", pod, "grep -hs 'Z (zombie)' /proc/[0-9]*/status | wc -l")
	}
}

// testTermination checks that slurmd receives the signal that ends it, long before the kubelet
// would kill it.
func (s env) testTermination(t *testing.T) {
	begun := time.Now()
	s.kubectl(t, "delete", "pod", "unprivileged-0")
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("slurmd took %s to end", took)
	}
}

// awaitOutput waits until a command in a pod prints want.
func (s env) awaitOutput(t *testing.T, what, want, pod, command string) {
	t.Helper()
	process.AwaitValue(t, what, want, func(context.Context) (string, error) {
		return s.execInPod(t, pod, command), nil
	})
}
