// Package sshd has the parts for sshd and SSSD in login pods and workers: host keys, sshd_config, the files of PAM
// and of the name service, and the container that runs SSSD, which slurmctld and slurmrestd also get. It is pure,
// except that NewHostKeys is random.
package sshd
