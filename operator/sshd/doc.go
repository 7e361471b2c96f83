// Package sshd has what sshd and SSSD need in the pods of LoginSets and in the workers of NodeSets: host keys,
// sshd_config, the files of PAM and of the name service, and the container that runs SSSD, also beside slurmctld and
// slurmrestd. It is pure, except that NewHostKeys is random.
package sshd
