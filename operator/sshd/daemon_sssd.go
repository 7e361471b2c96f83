package sshd

import (
	"cmp"
	_ "embed"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// daemonSSSDScript runs SSSDScript, its $0, as long as the pod exists.
//
//go:embed files/sssd-daemon.sh
var daemonSSSDScript string

// sssdScriptOfDaemons is SSSDScript for a Secret that may be missing: the kubelet removes the file when the Secret is deleted, and SSSD
// continues with its last configuration. Login pods and workers keep the file, and their templates the script.
var sssdScriptOfDaemons = strings.Replace(SSSDScript, "if ! cmp -s", "if [ -s "+sssdSecretDir+"/sssd.conf ] && ! cmp -s", 1)

const (
	volumeSSSDTmp  = "sssd-tmp"
	volumeNSSwitch = "nsswitch"

	nsswitchFile = "nsswitch.conf"
	// waitedFile exists when the pod has waited for SSSD long enough.
	waitedFile = "/run/sssd-waited"
	// startFailures is the number of seconds, one per failure, until the startup probe gives up and the container restarts. waitedFile
	// ends the probe long before.
	startFailures = 24 * 60 * 60
)

// AddDaemonSSSD adds SSSD to the pod of slurmctld or slurmrestd, so that the daemon knows the users and groups of a directory. The
// daemon's container is the first one. The pod works without all of this: the Secret may be missing, SSSD may not start, and the
// directory may not answer. The daemon then starts ten seconds later, and knows only the users of its image. A changed Secret restarts
// only SSSD. UseDaemonImage gives the sidecar its image.
func AddDaemonSSSD(template *corev1.PodTemplateSpec, conf corev1.SecretKeySelector) {
	spec := &template.Spec
	spec.InitContainers = append(spec.InitContainers, daemonSSSDContainer())
	daemon := &spec.Containers[0]
	daemon.VolumeMounts = append(daemon.VolumeMounts, directoryMounts()...)
	volumes := SSSDVolumes(conf)
	volumes[0].Secret.Optional = new(true)
	spec.Volumes = append(spec.Volumes, append(volumes, podspec.EmptyVolume(volumeSSSDTmp), nsswitchVolume())...)
	template.Annotations = podspec.MergeMaps(template.Annotations,
		map[string]string{v1beta1.AnnotationNSSwitch: NSSwitch})
}

// directoryMounts are the mounts that give a container the users of the directory.
func directoryMounts() []corev1.VolumeMount {
	return []corev1.VolumeMount{SSSFolderMount(),
		{Name: volumeNSSwitch, MountPath: "/etc/" + nsswitchFile, SubPath: nsswitchFile, ReadOnly: true}}
}

// AddDirectoryToAgent lets slurm-agent find the users that AddDaemonSSSD gives to slurmctld, so that no revision is applied while the
// users of reservations cannot be found.
func AddDirectoryToAgent(spec *corev1.PodSpec) {
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.Name == podspec.ContainerReconfigure {
			c.VolumeMounts = append(c.VolumeMounts, directoryMounts()...)
			c.Args = append(c.Args, "--directory")
		}
	}
}

// daemonSSSDContainer returns the sidecar. Its memory has no limit: the kernel would end the whole container, and the
// pod would not be ready.
func daemonSSSDContainer() corev1.Container {
	out := SSSDContainer([]string{"sh", "-c", daemonSSSDScript, sssdScriptOfDaemons},
		corev1.VolumeMount{Name: volumeSSSDTmp, MountPath: "/tmp"})
	out.SecurityContext.RunAsNonRoot = new(false) // the pod sets true
	out.StartupProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
		Command: []string{"test", "-S", SSSDSocket, "-o", "-e", waitedFile}}}, PeriodSeconds: 1, TimeoutSeconds: 5,
		FailureThreshold: startFailures}
	out.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
		corev1.ResourceMemory: resource.MustParse("64Mi")}
	return out
}

// nsswitchVolume returns the volume with nsswitch.conf. The file is an annotation of the pod, so that a pod needs no other object and
// keeps the file of its template.
func nsswitchVolume() corev1.Volume {
	file := corev1.DownwardAPIVolumeFile{Path: nsswitchFile, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
		FieldPath: "metadata.annotations['" + v1beta1.AnnotationNSSwitch + "']"}}
	return corev1.Volume{Name: volumeNSSwitch, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{file}}}}
}

// UseDaemonImage gives SSSD the image of the pod's first container unless the user names one.
func UseDaemonImage(pod *corev1.PodSpec) {
	daemon := &pod.Containers[0]
	for i := range pod.InitContainers {
		if c := &pod.InitContainers[i]; c.Name == ContainerSSSD && c.Image == "" {
			c.Image, c.ImagePullPolicy = daemon.Image, cmp.Or(c.ImagePullPolicy, daemon.ImagePullPolicy)
		}
	}
}
