package realslurm

import (
	"os"
	"os/exec"
	"runtime"
)

// MissingRequirement returns the reason, on one line, why real Slurm cannot run on this machine, or "" if it can. It
// does not try to install anything.
func MissingRequirement() string {
	if runtime.GOOS != "linux" {
		return "real Slurm runs on Linux only"
	}
	if os.Geteuid() != 0 {
		return "real Slurm needs root"
	}
	for _, tool := range []string{"bash", "unshare", "nsenter", "flock", "setsid", "chroot", "hostname"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "real Slurm needs the program " + tool
		}
	}
	_, aptErr := exec.LookPath("apt-get")
	_, builderErr := exec.LookPath("mmdebstrap")
	if aptErr != nil && builderErr != nil {
		return "real Slurm needs a Debian-like system, with apt-get"
	}
	if err := exec.Command("unshare", "-m", "-p", "-u", "-f", "true").Run(); err != nil {
		return "real Slurm needs the right to create namespaces"
	}
	return ""
}
