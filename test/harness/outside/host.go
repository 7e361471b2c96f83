// Package outside runs hosts outside of the pods of a real Kubernetes. Each has its own network, mount, pid and host
// name namespaces, with Slurm's daemons from the images' root file systems. Its address is in the network
// 203.0.113.0/24, which the Kubernetes node routes (hack/kube/outside).
package outside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/instance"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// Config describes a host.
type Config struct {
	// Name is the host's name, unique in the cluster. Number is the last part of its address.
	Name   string
	Number int
	// Image is an image of Debian's packages, such as slurmd:26.05, whose files the host has.
	Image string
	// Unpeered hosts reach the Kubernetes node, but not pods or Services by their own addresses.
	Unpeered bool
	// Names are addresses by name, for /etc/hosts. The host has no DNS.
	Names map[string]string
}

// Host is a running host. It ends with the test, and its files with it.
type Host struct {
	testing.TB
	Name, Address string
	pid           string
	daemons       []daemon
}

// daemon is a program that runs in a host until the host ends.
type daemon struct {
	*process.Process
	command string
}

// Start starts a host beside the node of a cluster. If the test fails, the daemons' logs are printed.
func Start(t testing.TB, kube *realkube.Cluster, c Config) *Host {
	t.Helper()
	scripts, err := instance.ScriptsDir("kube")
	if err != nil {
		t.Fatal(err)
	}
	root, err := instance.RunCommand(t.Context(), exec.CommandContext(t.Context(),
		filepath.Join(scripts, "../images/root"), c.Image))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--dir", kube.Dir}
	if c.Unpeered {
		args = append(args, "--unpeered")
	}
	holder, err := process.Launch(filepath.Join(scripts, "outside"), append(args, c.Name, strconv.Itoa(c.Number),
		strings.TrimSpace(root))...)
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{TB: t, Name: c.Name, Address: fmt.Sprintf("203.0.113.%d", c.Number)}
	t.Cleanup(func() {
		holder.Kill() // all processes of the host end with its first one
		for _, d := range h.daemons {
			d.Kill()
			if t.Failed() {
				t.Logf("%s: %s wrote:\n%s", h.Name, d.command, d.Log())
			}
		}
	})
	process.Await(t, func() error {
		text, err := os.ReadFile(filepath.Join(kube.Dir, "pid", "outside-"+c.Name))
		var found bool
		if h.pid, _, found = strings.Cut(string(text), " "); err == nil && !found {
			err = errors.New("the pid is not written")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, holder.Log())
		}
		return nil
	})
	for name, address := range c.Names {
		h.AddName(name, address)
	}
	return h
}

// AddName makes a name resolve in the host.
func (h *Host) AddName(name, address string) {
	h.Helper()
	h.MustRun("sh", "-c", `echo "$1 $2" >>/etc/hosts`, "sh", address, name)
}

// nsenterArgs returns the command that runs a program in the host.
func (h *Host) nsenterArgs(args ...string) []string {
	return append([]string{"-t", h.pid, "-m", "-n", "-u", "-p", "--", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root"}, args...)
}

// Run runs a program in the host and returns its output. An error contains its standard error.
func (h *Host) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nsenter", h.nsenterArgs(args...)...) //nolint:gosec // a test's own command
	out, err := instance.RunCommand(ctx, cmd)
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", h.Name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out), err
}

// MustRun runs a program in the host, which must succeed, and returns its output.
func (h *Host) MustRun(args ...string) string {
	h.Helper()
	out, err := h.Run(h.Context(), args...)
	if err != nil {
		h.Fatal(err)
	}
	return out
}

// WriteFile writes a file that belongs to a user of the host; only this user may write it.
func (h *Host) WriteFile(path, owner, mode string, content []byte) {
	h.Helper()
	write := exec.CommandContext(h.Context(), "nsenter", h.nsenterArgs("sh", "-euc", //nolint:gosec // as above
		`mkdir -p "$(dirname "$1")"; umask 077; cat >"$1"; chown "$2" "$1"; chmod "$3" "$1"`, "sh", path, owner, mode)...)
	write.Stdin = strings.NewReader(string(content))
	if _, err := instance.RunCommand(h.Context(), write); err != nil {
		h.Fatalf("writing %s: %v", path, err)
	}
}

// Launch starts a daemon, which runs until the host ends.
func (h *Host) Launch(args ...string) {
	h.Helper()
	started, err := process.Launch("nsenter", h.nsenterArgs(args...)...)
	if err != nil {
		h.Fatal(err)
	}
	h.daemons = append(h.daemons, daemon{started, strings.Join(args, " ")})
}
