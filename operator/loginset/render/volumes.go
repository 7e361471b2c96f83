package render

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Volumes of a login pod, besides VolumeHome.
const (
	volumeFiles       = "login-files"
	volumeHostKeys    = "ssh-host-keys"
	volumeSlurmSecret = "slurm-secret"
	volumeSlurmKey    = "slurm-key"
	volumeSlurmRun    = "slurm-run"
	volumeSSSDSecret  = "sssd-secret"
	volumeSSSDConf    = "sssd-conf"
	volumeSSSDRun     = "sssd-run"
	volumeSSS         = "sss"
	volumeRun         = "run"
	volumeTmp         = "tmp"
)

// Folders in the containers.
const (
	filesDir          = "/etc/slurm-login"
	hostKeysDir       = "/etc/ssh-host-keys"
	authorizedKeysDir = "/etc/ssh-authorized-keys"
	slurmSecretDir    = "/etc/slurm-secret"
	sssdSecretDir     = "/etc/sssd-secret"
	// slurmRunDir is where sackd puts its socket and the configuration, and where commands look for them.
	slurmRunDir = "/run/slurm"
	// sssDir has the sockets and the cache of SSSD.
	sssDir  = "/var/lib/sss"
	homeDir = "/home"
)

func filesMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: volumeFiles, MountPath: filesDir, ReadOnly: true}
}

func nsswitchMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: volumeFiles, MountPath: "/etc/nsswitch.conf", SubPath: keyNSSwitch, ReadOnly: true}
}

// sssMounts are what a container needs to ask SSSD: its sockets and its cache in memory.
func sssMounts() []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for _, folder := range []string{"mc", "pipes"} {
		out = append(out, corev1.VolumeMount{Name: volumeSSS, MountPath: sssDir + "/" + folder, SubPath: folder,
			ReadOnly: true})
	}
	return out
}

// defaultVolumes returns the volumes of a login pod.
func (in Input) defaultVolumes() []corev1.Volume {
	l := in.LoginSet
	out := []corev1.Volume{
		{Name: volumeFiles, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: names.LoginConfigMap(l.Name)}}}},
		{Name: volumeHostKeys, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: names.LoginHostKeys(l.Name), DefaultMode: new(int32(0o600))}}},
		// SlurmUser reads it in the container of sackd, where no user of the cluster is.
		podspec.SlurmKeysVolume(volumeSlurmSecret, refs.ControllerSlurmctld(in.Controller).Key, 0o444),
		podspec.KeyVolume(volumeSSSDSecret, l.Spec.SSSDConfRef, "sssd.conf"),
	}
	for _, name := range []string{volumeSlurmKey, volumeSSSDConf, volumeSlurmRun, volumeRun, volumeSSSDRun} {
		out = append(out, podspec.MemoryVolume(name))
	}
	if in.AgentImage != "" {
		out = append(out, podspec.EmptyVolume(podspec.VolumeAgent))
	}
	return append(out, podspec.EmptyVolume(volumeSSS), podspec.EmptyVolume(volumeTmp), podspec.EmptyVolume(VolumeHome))
}
