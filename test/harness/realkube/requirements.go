package realkube

import (
	"os"
	"os/exec"
	"runtime"
)

// MissingRequirement returns the reason, on one line, why real Kubernetes cannot run on this machine, or "" if it can.
// It does not try to build anything.
func MissingRequirement() string {
	if runtime.GOOS != "linux" {
		return "real Kubernetes runs on Linux only"
	}
	for _, tool := range []string{"bash", "go", "unshare", "nsenter", "setpriv", "flock", "setsid"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "real Kubernetes needs the program " + tool
		}
	}
	namespaces := []string{"-m", "-p", "-f", "true"}
	if os.Geteuid() != 0 {
		namespaces = append([]string{"--user", "--map-root-user"}, namespaces...)
	}
	if err := exec.Command("unshare", namespaces...).Run(); err != nil {
		return "real Kubernetes needs the right to create namespaces, try it as root"
	}
	return ""
}

// MissingNodeRequirement returns the reason, on one line, why a node cannot run on this machine, or "" if it can. It
// does not try to install anything.
func MissingNodeRequirement() string {
	if missing := MissingRequirement(); missing != "" {
		return missing
	}
	if os.Geteuid() != 0 {
		return "a node needs root"
	}
	for _, tool := range []string{"ip", "pivot_root", "chroot", "hostname"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "a node needs the program " + tool
		}
	}
	_, aptErr := exec.LookPath("apt-get")
	_, builderErr := exec.LookPath("mmdebstrap")
	if aptErr != nil && builderErr != nil {
		return "a node needs a Debian-like system, with apt-get"
	}
	if err := exec.Command("unshare", "-m", "-n", "-u", "true").Run(); err != nil {
		return "a node needs the right to create network namespaces"
	}
	return ""
}
