package sshd

import (
	_ "embed"
	"strings"
)

var (
	// NSSwitch is nsswitch.conf: users of the image, then users from SSSD.
	//
	//go:embed files/nsswitch.conf
	NSSwitch string
	// SSSDScript is a shell script that runs SSSD in the container of SSSD.
	//
	//go:embed files/sssd.sh
	SSSDScript string
	// KnownOptions defines a shell function known_options, which prints arguments for sshd. They are the options in
	// comments of Config that this sshd knows.
	//
	//go:embed files/known_options.sh
	KnownOptions string
	//go:embed files/pam-sshd
	pamSSHD string
)

// pamAccounts are the last two lines of the accounts in pamSSHD. For users of the image, the first one ends them.
const pamAccounts = "account  sufficient pam_localuser.so\n" +
	"account  [default=bad success=ok user_unknown=ignore] pam_sss.so\n"

// LoginPAM returns PAM's file of sshd in login pods, which lets in every user.
func LoginPAM() string { return pamSSHD }

// WorkerPAM returns sshd's PAM file for a worker. It lets in root, and users with a job on the worker. The options
// apply to pam_slurm_adopt. The module comes last, since it moves the session into the job.
func WorkerPAM(options ...string) string {
	adopting := strings.Replace(pamAccounts, "sufficient", "[success=1 default=ignore]", 1) +
		strings.Join(append([]string{"account  required  pam_slurm_adopt.so"}, options...), " ") + "\n"
	return strings.NewReplacer(pamAccounts, adopting, "new_authtok_reqd=done", "new_authtok_reqd=1").Replace(pamSSHD)
}
