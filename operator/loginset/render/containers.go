package render

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// waitSeconds is the time that a sidecar may wait for its first configuration, while slurmctld is missing.
const waitSeconds = 24 * 60 * 60

// initconfContainer makes the folders of the pod. It needs no program of Slurm or SSSD.
func initconfContainer(args []string) corev1.Container {
	return corev1.Container{
		Name:    ContainerInitconf,
		Command: []string{"sh", filesDir + "/initconf.sh"},
		Args:    args,
		VolumeMounts: []corev1.VolumeMount{filesMount(), {Name: volumeSlurmSecret, MountPath: slurmSecretDir, ReadOnly: true},
			{Name: volumeSlurmKey, MountPath: slurmconf.Dir}, {Name: volumeRun, MountPath: "/run"},
			{Name: volumeSlurmRun, MountPath: slurmRunDir},
			{Name: volumeTmp, MountPath: "/tmp"}, {Name: VolumeHome, MountPath: homeDir}},
		// It gives the key and the socket's folder to SlurmUser.
		SecurityContext: sshd.RootContext("CHOWN", "DAC_OVERRIDE", "FOWNER"),
	}
}

// sssdContainer runs SSSD. The containers after it wait until it answers.
func sssdContainer() corev1.Container {
	out := sshd.SSSDContainer([]string{"sh", filesDir + "/sssd.sh"}, filesMount(), nsswitchMount(),
		corev1.VolumeMount{Name: volumeTmp, MountPath: "/tmp"})
	out.StartupProbe = &corev1.Probe{ProbeHandler: execHandler("test", "-S", sshd.SSSDSocket), PeriodSeconds: 1,
		FailureThreshold: 60}
	return out
}

// sackdContainer runs sackd. It runs as SlurmUser, since it refuses the new configuration of a slurmctld that
// has another number. It resolves the users whose requests it signs (docs/development/slurm.md, "sackd").
func (in Input) sackdContainer(slurmUser int64) corev1.Container {
	security := podspec.RestrictedContext()
	security.RunAsNonRoot, security.RunAsUser, security.RunAsGroup = new(true), new(slurmUser), new(slurmUser)
	out := corev1.Container{
		Name:          ContainerSackd,
		Command:       []string{"sh", filesDir + "/sackd.sh"},
		Args:          []string{"-D", "--conf-server", refs.ConfServers(in.Controller)},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		StartupProbe: &corev1.Probe{ProbeHandler: execHandler("test", "-S", slurmRunDir+"/sack.socket"),
			PeriodSeconds: 1, FailureThreshold: waitSeconds},
		VolumeMounts: append([]corev1.VolumeMount{filesMount(), nsswitchMount(),
			{Name: volumeSlurmKey, MountPath: slurmconf.Dir, ReadOnly: true},
			{Name: volumeSlurmRun, MountPath: slurmRunDir}}, sshd.SSSMounts()...),
		SecurityContext: security,
	}
	if in.AgentImage != "" {
		in.addAgent(&out)
	}
	return out
}

// addAgent makes sackd's container run slurm-agent too, which gives sackd changed keys.
func (in Input) addAgent(sackd *corev1.Container) {
	for i := range sackd.VolumeMounts {
		if sackd.VolumeMounts[i].Name == volumeSlurmKey {
			sackd.VolumeMounts[i].ReadOnly = false
		}
	}
	sackd.VolumeMounts = append(sackd.VolumeMounts, podspec.AgentMount(),
		corev1.VolumeMount{Name: volumeSlurmSecret, MountPath: slurmSecretDir, ReadOnly: true})
	sackd.Env = append(sackd.Env, corev1.EnvVar{Name: "SLURM_AGENT", Value: podspec.AgentProgram})
	sackd.Env = append(sackd.Env, podspec.KeyVariables(slurmconf.Dir)...)
	sackd.Ports = append(sackd.Ports, podspec.ContainerPortAgent())
}

// loginContainer runs sshd. Before it ends, it waits for its users.
func loginContainer(graceSeconds int64) corev1.Container {
	return corev1.Container{
		Name:    ContainerLogin,
		Command: []string{"sh", filesDir + "/sshd.sh"},
		Args:    []string{"-D", "-e", "-f", filesDir + "/sshd_config"},
		Env: []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}},
		Ports: []corev1.ContainerPort{{Name: portSSH, ContainerPort: names.SSHPort, Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: execHandler("sh", filesDir+"/ready.sh"), PeriodSeconds: 2,
			TimeoutSeconds: 5, FailureThreshold: 5},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
			Command: []string{"sh", filesDir + "/leave.sh", strconv.FormatInt(graceSeconds, 10)}}}},
		VolumeMounts: append([]corev1.VolumeMount{filesMount(), nsswitchMount(),
			{Name: volumeFiles, MountPath: "/etc/pam.d/sshd", SubPath: keyPAM, ReadOnly: true},
			// sshd requires that only root may write the folders above root's keys, as in a volume.
			{Name: volumeFiles, MountPath: authorizedKeysDir + "/root", SubPath: keyAuthorizedKeys, ReadOnly: true},
			sshd.HostKeysMount(),
			{Name: volumeRun, MountPath: "/run"}, {Name: volumeSlurmRun, MountPath: slurmRunDir, ReadOnly: true},
			{Name: volumeTmp, MountPath: "/tmp"}, {Name: volumeTmp, MountPath: "/var/tmp"},
			{Name: VolumeHome, MountPath: homeDir}}, sshd.SSSMounts()...),
		SecurityContext: sshd.RootContext(
			"SETUID", "SETGID", // sshd becomes the user
			"SYS_CHROOT",      // and until then an empty folder is its root
			"CHOWN", "FOWNER", // the terminal and a new home belong to the user
			"DAC_OVERRIDE",     // the home of another user, and terminals for leave.sh
			"KILL",             // sessions of users
			"AUDIT_WRITE",      // sshd records logins, and ends a login that it cannot record
			"NET_BIND_SERVICE", // port 22
		),
	}
}

func execHandler(command ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
}
