// Package local puts up the demo on this machine: a real Kubernetes with a node, Slurm
// in plain pods, the operator and the adapter from their charts by Helm, and NodeSets at
// zero with their HPAs. All of it is in one folder, by the scripts in hack.
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

// Version is that of Slurm.
const Version = "26.05"

const namespace = "slurm"

// NodeSet is one of the demo's.
type NodeSet struct {
	Name      string
	ExtraConf string
	Max       int
}

// Local is the demo on this machine. Steps and Down are for one goroutine at a time; once
// it is up, Submit, Cancel and Look may be called from several.
type Local struct {
	repo, dir string
	sets      []NodeSet
	kube      *api
	slurm     *slurmclient.Client
}

// New returns the demo of the repository in repo whose state is in folder dir. Nothing
// is started.
func New(repo, dir string, sets ...NodeSet) *Local {
	return &Local{repo: repo, dir: dir, sets: sets}
}

// Close lets go of connections. What runs goes on.
func (l *Local) Close() {
	if l.slurm != nil {
		l.slurm.Close()
	}
}

// Steps puts it up. What is up already is left as it is, so that they can be done again
// after an interruption, or for another play.
func (l *Local) Steps() []steps.Step {
	return []steps.Step{
		{Name: "build Kubernetes", Do: l.script("hack/kube/build", "kube")},
		{Name: "build Helm", Do: l.script("hack/kube/build", "helm")},
		{Name: "build CoreDNS", Do: l.script("hack/kube/build", "coredns")},
		{Name: "root of the node", Do: l.rooted("kube-root", "hack/kube/root")},
		{Name: "root of Slurm " + Version, Do: l.rooted("images/slurmd-"+Version, "hack/images/root", Version)},
		{Name: "compile operator and adapter", Do: l.compile},
		{Name: "start Kubernetes with a node", Do: l.start},
		{Name: "load images into the node", Do: l.images},
		{Name: "install CRDs (Helm)", Do: l.crds},
		{Name: "start slurmctld and slurmrestd", Do: l.startSlurm},
		{Name: "install operator and adapter (Helm)", Do: l.charts},
		{Name: "make NodeSets at zero with HPAs", Do: l.nodeSets},
		{Name: "sweep what an earlier play left", Do: l.sweep},
	}
}

func (l *Local) kubeDir() string { return filepath.Join(l.dir, "kube") }

// EnvFile is the file to source to use kubectl and helm with it.
func (l *Local) EnvFile() string { return filepath.Join(l.dir, "env") }

func (l *Local) start(ctx context.Context, tell func(steps.Progress)) error {
	err := l.script("hack/kube/up", "--name", "demo", "--kubelet", "--dir", l.kubeDir(), "--env-file", l.EnvFile(),
		"--controller-manager-arg", "--horizontal-pod-autoscaler-sync-period=1s")(ctx, tell)
	if err != nil {
		return err
	}
	l.kube, err = connect(filepath.Join(l.kubeDir(), "pki", "admin.kubeconfig"))
	return err
}

// images gives the node its images, one by one.
func (l *Local) images(ctx context.Context, tell func(steps.Progress)) error {
	names := []string{"slurm-operator", "slurm-metrics-adapter", "slurmd:" + Version}
	for i, name := range names {
		tell(steps.Progress{Done: i, Total: len(names), Text: fmt.Sprintf("%s, %d of %d", name, i+1, len(names))})
		if err := l.script("hack/images/load", "--dir", l.kubeDir(), name)(ctx, func(steps.Progress) {}); err != nil {
			return err
		}
	}
	return nil
}

// Down ends everything that Steps started, in whatever state it is, and tells what it
// does. Nothing to end is no error.
func (l *Local) Down(ctx context.Context, tell func(steps.Progress)) error {
	if _, err := os.Stat(l.kubeDir()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return l.script("hack/kube/down", "--dir", l.kubeDir())(ctx, tell)
}

// Missing says why this machine cannot run it, empty when it can.
func Missing() string {
	if runtime.GOOS != "linux" {
		return "a kubelet needs Linux, and this is " + runtime.GOOS
	}
	if os.Geteuid() != 0 {
		return "a kubelet needs root, and you are not (try: sudo -E make demo)"
	}
	for _, tool := range []string{"bash", "unshare", "nsenter", "flock", "setsid", "setpriv", "ip", "pivot_root", "chroot", "hostname"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "a node needs the program " + tool
		}
	}
	_, aptErr := exec.LookPath("apt-get")
	_, builderErr := exec.LookPath("mmdebstrap")
	if aptErr != nil && builderErr != nil {
		return "a node is made of Debian's packages, and there is no apt-get"
	}
	if err := exec.Command("unshare", "-m", "-n", "-u", "-p", "-f", "true").Run(); err != nil { //nolint:noctx // it ends at once
		return fmt.Sprintf("a node needs namespaces, which cannot be made here (unshare: %v)", err)
	}
	return ""
}
