package render

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// Volumes of a login pod, besides VolumeHome.
const (
	volumeFiles       = "login-files"
	volumeSlurmSecret = "slurm-secret"
	volumeSlurmKey    = "slurm-key"
	volumeSlurmRun    = "slurm-run"
	volumeRun         = "run"
	volumeTmp         = "tmp"
)

// Folders in the containers.
const (
	filesDir          = "/etc/slurm-login"
	authorizedKeysDir = "/etc/ssh-authorized-keys"
	slurmSecretDir    = "/etc/slurm-secret"
	// slurmRunDir is where sackd puts its socket and the configuration, and where commands look for them.
	slurmRunDir = "/run/slurm"
	homeDir     = "/home"
)

func filesMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: volumeFiles, MountPath: filesDir, ReadOnly: true}
}

func nsswitchMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: volumeFiles, MountPath: "/etc/nsswitch.conf", SubPath: keyNSSwitch, ReadOnly: true}
}

// defaultVolumes returns the volumes of a login pod, where conf is the key with sssd.conf.
func (in Input) defaultVolumes(conf corev1.SecretKeySelector) []corev1.Volume {
	l := in.LoginSet
	out := []corev1.Volume{
		{Name: volumeFiles, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: names.LoginConfigMap(l.Name)}}}},
		sshd.HostKeysVolume(names.LoginHostKeys(l.Name)),
		// SlurmUser reads it in the container of sackd, where no user of the cluster is.
		podspec.SlurmKeysVolume(volumeSlurmSecret, refs.ControllerSlurmctld(in.Controller).Key, 0o444),
	}
	out = append(out, sshd.SSSDVolumes(conf)...)
	for _, name := range []string{volumeSlurmKey, volumeSlurmRun, volumeRun} {
		out = append(out, podspec.MemoryVolume(name))
	}
	if in.AgentImage != "" {
		out = append(out, podspec.EmptyVolume(podspec.VolumeAgent))
	}
	return append(out, podspec.EmptyVolume(volumeTmp), podspec.EmptyVolume(VolumeHome))
}
