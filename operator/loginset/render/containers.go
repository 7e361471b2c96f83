package render

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// waitSeconds is how long a sidecar may wait for its first configuration: as long as slurmctld is not there.
const waitSeconds = 24 * 60 * 60

// initconfContainer makes the folders of the pod. It needs no program of Slurm or SSSD.
func initconfContainer(args []string) corev1.Container {
	return corev1.Container{
		Name:    ContainerInitconf,
		Command: []string{"sh", filesDir + "/initconf.sh"},
		Args:    args,
		VolumeMounts: []corev1.VolumeMount{filesMount(), {Name: volumeSlurmSecret, MountPath: slurmSecretDir, ReadOnly: true},
			{Name: volumeSlurmKey, MountPath: slurmconf.Dir}, {Name: volumeRun, MountPath: "/run"},
			{Name: volumeSlurmRun, MountPath: slurmRunDir}, {Name: volumeSSS, MountPath: sssDir},
			{Name: volumeTmp, MountPath: "/tmp"}, {Name: VolumeHome, MountPath: homeDir}},
		// It gives the key and the socket's folder to SlurmUser.
		SecurityContext: rootContext("CHOWN", "DAC_OVERRIDE", "FOWNER"),
	}
}

// sssdContainer runs SSSD, which answers the other containers at sockets in sssDir. When the Secret with
// sssd.conf changes, the kubelet starts SSSD again, which ends no session.
func sssdContainer() corev1.Container {
	return corev1.Container{
		Name:          ContainerSSSD,
		Command:       []string{"sh", filesDir + "/sssd.sh"},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		StartupProbe: &corev1.Probe{ProbeHandler: execHandler("test", "-S", sssDir+"/pipes/nss"), PeriodSeconds: 1,
			FailureThreshold: 60},
		LivenessProbe: &corev1.Probe{ProbeHandler: execHandler("cmp", "-s", sssdSecretDir+"/sssd.conf",
			"/etc/sssd/sssd.conf"), PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 1},
		VolumeMounts: []corev1.VolumeMount{filesMount(), nsswitchMount(),
			{Name: volumeSSSDSecret, MountPath: sssdSecretDir, ReadOnly: true},
			{Name: volumeSSSDConf, MountPath: "/etc/sssd"}, {Name: volumeSSSDRun, MountPath: "/run"},
			{Name: volumeSSS, MountPath: sssDir}, {Name: volumeTmp, MountPath: "/tmp"}},
		// SSSD gives up its capabilities when it has started. Its helpers for Kerberos become the user.
		SecurityContext: rootContext("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"),
	}
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
			{Name: volumeSlurmRun, MountPath: slurmRunDir}}, sssMounts()...),
		SecurityContext: security,
	}
	if in.AgentImage != "" {
		in.addAgent(&out)
	}
	return out
}

// addAgent makes the container of sackd run slurm-agent beside sackd, which gives it changed keys.
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
		Command: []string{"/usr/sbin/sshd"},
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
			// sshd wants the folders above the keys of root to be writable for nobody else, and that of a volume is.
			{Name: volumeFiles, MountPath: authorizedKeysDir + "/root", SubPath: keyAuthorizedKeys, ReadOnly: true},
			{Name: volumeHostKeys, MountPath: hostKeysDir, ReadOnly: true},
			{Name: volumeRun, MountPath: "/run"}, {Name: volumeSlurmRun, MountPath: slurmRunDir, ReadOnly: true},
			{Name: volumeTmp, MountPath: "/tmp"}, {Name: volumeTmp, MountPath: "/var/tmp"},
			{Name: VolumeHome, MountPath: homeDir}}, sssMounts()...),
		SecurityContext: rootContext(
			"SETUID", "SETGID", // sshd becomes the user
			"SYS_CHROOT",      // and until then an empty folder is its root
			"CHOWN", "FOWNER", // the terminal and a new home belong to the user
			"DAC_OVERRIDE",     // the home of another user, and terminals for leave.sh
			"KILL",             // sessions of users
			"AUDIT_WRITE",      // sshd records logins, and ends one that it cannot record
			"NET_BIND_SERVICE", // port 22
		),
	}
}

// rootContext returns the security context of a container that runs as root with some capabilities alone, all
// of which the pod security standard "baseline" allows.
func rootContext(capabilities ...corev1.Capability) *corev1.SecurityContext {
	out := podspec.RestrictedContext()
	out.Capabilities.Add = capabilities
	out.RunAsUser, out.RunAsGroup = new(int64(0)), new(int64(0))
	return out
}

func execHandler(command ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
}
