package sshd

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/podspec"
)

// ContainerSSSD is the sidecar that runs SSSD. Users need the name to override parts of it.
const ContainerSSSD = "sssd"

// Volumes and folders of SSSD.
const (
	volumeSSSDSecret = "sssd-secret"
	volumeSSSDConf   = "sssd-conf"
	volumeSSSDRun    = "sssd-run"
	volumeSSS        = "sss"

	sssdSecretDir = "/etc/sssd-secret"
	// sssDir has the sockets and the cache of SSSD.
	sssDir = "/var/lib/sss"
)

// SSSDSocket exists when SSSD answers.
const SSSDSocket = sssDir + "/pipes/nss"

// SSSDContainer returns a sidecar that runs SSSD with a command that runs SSSDScript. It serves the other containers at
// sockets in SSSFolderMount or SSSMounts. When the Secret with sssd.conf changes, only SSSD restarts, which ends no
// session. The container keeps running: a pod whose sidecar restarts is not ready, and Kubernetes would remove it first.
// mounts come first; one of them must be /tmp.
func SSSDContainer(command []string, mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name:          ContainerSSSD,
		Command:       command,
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		VolumeMounts: append(mounts,
			corev1.VolumeMount{Name: volumeSSSDSecret, MountPath: sssdSecretDir, ReadOnly: true},
			corev1.VolumeMount{Name: volumeSSSDConf, MountPath: "/etc/sssd"},
			corev1.VolumeMount{Name: volumeSSSDRun, MountPath: "/run"},
			corev1.VolumeMount{Name: volumeSSS, MountPath: sssDir}),
		// SSSD gives up its capabilities when it has started. Its helpers for Kerberos become the user.
		SecurityContext: RootContext("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"),
	}
}

// SSSDVolumes returns the volumes of SSSDContainer for sssd.conf in a key of a Secret.
func SSSDVolumes(conf corev1.SecretKeySelector) []corev1.Volume {
	return []corev1.Volume{podspec.KeyVolume(volumeSSSDSecret, conf, "sssd.conf"), podspec.MemoryVolume(volumeSSSDConf),
		podspec.MemoryVolume(volumeSSSDRun), podspec.EmptyVolume(volumeSSS)}
}

// SSSFolderMount returns the mount of the whole folder of SSSD for a container that does not wait for SSSD.
func SSSFolderMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: volumeSSS, MountPath: sssDir, ReadOnly: true}
}

// SSSMounts are the mounts that a container needs to use SSSD: its sockets and its cache in memory. The folders must
// exist.
func SSSMounts() []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for _, folder := range []string{"mc", "pipes"} {
		out = append(out, corev1.VolumeMount{Name: volumeSSS, MountPath: sssDir + "/" + folder, SubPath: folder,
			ReadOnly: true})
	}
	return out
}

// RootContext returns the security context of a container that runs as root with only the given capabilities. The pod
// security standard "baseline" must allow them.
func RootContext(capabilities ...corev1.Capability) *corev1.SecurityContext {
	out := podspec.RestrictedContext()
	out.Capabilities.Add = capabilities
	out.RunAsUser, out.RunAsGroup = new(int64(0)), new(int64(0))
	return out
}
