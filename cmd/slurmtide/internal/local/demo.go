// Package local runs the demo on this machine: a real Kubernetes cluster with one node, and the chart
// slurm-stack with NodeSets that HPAs scale from zero. The scripts in hack do the work. All state is
// in one folder.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// SlurmVersion is the version of Slurm.
const SlurmVersion = "26.05"

// The release of the chart slurm-stack, and its objects.
const (
	release   = "slurm"
	namespace = "slurm"
	// cluster is the name of the Controller, the Accounting and the RestApi.
	cluster  = "slurm"
	loginSet = "slurm-login-main"
	// jwtSecret and jwtKey are the Secret and the key in it from which tokens are minted, as slurmUser.
	jwtSecret = "slurm-auth-jwt"
	jwtKey    = "jwt.key"
	slurmUser = "slurm"
)

// NodeSet is a NodeSet of the demo. hack/demo/values.yaml sets the resources of its workers.
type NodeSet struct {
	// Name is the name in the chart's values, and also the name of the partition.
	Name string
	// Max is the maximum number of workers.
	Max int
}

// object returns the name of the NodeSet in Kubernetes.
func (s NodeSet) object() string { return cluster + "-worker-" + s.Name }

// Demo is the demo on this machine. Only one goroutine at a time may use Steps and Down. After the
// steps are done, several goroutines may call Submit, Cancel and Observe.
type Demo struct {
	repo, dir string
	sets      []NodeSet
	kube      *kubeAPI
	slurm     *slurmclient.Client
}

// New returns the demo of the repository repo with its state in the folder dir. It starts nothing.
func New(repo, dir string, sets ...NodeSet) *Demo {
	return &Demo{repo: repo, dir: dir, sets: sets}
}

// Close closes connections. The cluster keeps running.
func (l *Demo) Close() {
	if l.slurm != nil {
		l.slurm.Close()
	}
}

// BuildKubernetes is the name of the first step, which takes minutes on a machine that has not done it before.
const BuildKubernetes = "build Kubernetes"

// Steps returns the steps that start the demo. They skip what already runs, so they can be repeated
// after an interruption or for another play.
func (l *Demo) Steps() []steps.Step {
	return []steps.Step{
		{Name: BuildKubernetes, Do: l.scriptStep("hack/kube/build", "kube")},
		{Name: "build Helm", Do: l.scriptStep("hack/kube/build", "helm")},
		{Name: "build CoreDNS", Do: l.scriptStep("hack/kube/build", "coredns")},
		{Name: "build the provisioner of volumes", Do: l.scriptStep("hack/kube/build", "provisioner")},
		{Name: "root file system of the node", Do: l.rootStep("kube-root", "hack/kube/root")},
		{Name: "root file systems of Slurm " + SlurmVersion, Do: l.makeRoots},
		{Name: "compile our programs", Do: l.compilePrograms},
		{Name: "start Kubernetes with one node", Do: l.startKubernetes},
		{Name: "load images of the control plane", Do: l.loadImages(firstImages())},
		{Name: "install slurm-stack (Helm)", Do: l.installStack},
		{Name: "load images of login and workers", Do: l.loadImages(laterImages())},
		{Name: "wait until Slurm accepts jobs", Do: l.awaitStack},
		{Name: "connect to slurmrestd", Do: l.connectSlurm},
		{Name: "cancel earlier jobs, await zero", Do: l.cancelLeftovers},
	}
}

func (l *Demo) kubeDir() string { return filepath.Join(l.dir, "kube") }

// binDir contains the kubectl plugin.
func (l *Demo) binDir() string { return filepath.Join(l.dir, "bin") }

func (l *Demo) startKubernetes(ctx context.Context, report func(steps.Progress)) error {
	err := l.scriptStep("hack/kube/up", "--name", "demo", "--kubelet", "--dir", l.kubeDir(), "--env-file", l.EnvFile(),
		"--controller-manager-arg", "--horizontal-pod-autoscaler-sync-period=1s")(ctx, report)
	if err != nil {
		return err
	}
	if err := errors.Join(l.writeKubeconfig(), l.extendEnvFile()); err != nil {
		return err
	}
	l.kube, err = connectKube(l.kubeconfig())
	return err
}

// Down stops everything that Steps started, whatever its state, and reports the progress. It
// returns nil if nothing runs.
func (l *Demo) Down(ctx context.Context, report func(steps.Progress)) error {
	if _, err := os.Stat(l.kubeDir()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return l.scriptStep("hack/kube/down", "--dir", l.kubeDir())(ctx, report)
}

// MissingRequirement returns the reason why this machine cannot run the demo, or "" if it can.
func MissingRequirement() string {
	if runtime.GOOS != "linux" {
		return "a kubelet needs Linux, and this is " + runtime.GOOS
	}
	if os.Geteuid() != 0 {
		return "a kubelet needs root (try: sudo -E make demo)"
	}
	for _, tool := range []string{"bash", "unshare", "nsenter", "flock", "setsid", "setpriv", "ip", "pivot_root",
		"chroot", "hostname"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "a node needs the program " + tool
		}
	}
	_, aptErr := exec.LookPath("apt-get")
	_, builderErr := exec.LookPath("mmdebstrap")
	if aptErr != nil && builderErr != nil {
		return "a node is built from Debian packages, and neither apt-get nor mmdebstrap is installed"
	}
	probe := exec.Command("unshare", "-m", "-n", "-u", "-p", "-f", "true") //nolint:noctx // it ends at once
	if err := probe.Run(); err != nil {
		return fmt.Sprintf("a node needs namespaces, which cannot be created here (unshare: %v)", err)
	}
	return ""
}
