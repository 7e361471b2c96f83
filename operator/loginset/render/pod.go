package render

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// Names of parts of a login pod. Users need them to override those parts.
const (
	// ContainerLogin is the first container. It runs sshd.
	ContainerLogin = "login"
	// ContainerInitconf is the first init container. It makes the folders of the pod.
	ContainerInitconf = "initconf"
	// ContainerSackd is a sidecar, like SSSD's container.
	ContainerSackd = "sackd"

	portSSH = "ssh"
	// VolumeHome is the volume of the homes. Where the user brings a volume of this name, it is theirs.
	VolumeHome = "home"
)

// Fields that errors name.
const (
	fieldPod      = "spec.template.spec"
	fieldLogin    = "spec.login"
	fieldInitconf = "spec.initconf"
	// FieldSSSDConf is the field with the key of sssd.conf.
	FieldSSSDConf = "spec.sssdConfRef"
)

// defaultGraceSeconds is the time that users can stay in a pod that is being deleted.
const defaultGraceSeconds = 3600

// template returns the login pod with the user's parts.
func (in Input) template() (corev1.PodTemplateSpec, error) {
	spec := &in.LoginSet.Spec
	defaults, err := in.defaultTemplate()
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	out, err := podspec.Merge(defaults, podspec.Part{Field: fieldPod, Raw: spec.Template.Spec},
		podspec.Container{Part: podspec.Part{Field: fieldLogin, Raw: spec.Login}, Name: ContainerLogin},
		podspec.Container{Part: podspec.Part{Field: fieldInitconf, Raw: spec.Initconf}, Name: ContainerInitconf, Init: true})
	if err != nil {
		return out, err
	}
	in.useLoginImage(&out.Spec)
	return out, nil
}

// useLoginImage sets the image of the login container in containers without one: all four need the same
// programs.
func (in Input) useLoginImage(pod *corev1.PodSpec) {
	login := &pod.Containers[0]
	login.Image = cmp.Or(login.Image, in.Image)
	for i := range pod.InitContainers {
		c := &pod.InitContainers[i]
		ours := slices.Contains([]string{ContainerInitconf, sshd.ContainerSSSD, ContainerSackd}, c.Name)
		if ours && c.Image == "" {
			c.Image, c.ImagePullPolicy = login.Image, cmp.Or(c.ImagePullPolicy, login.ImagePullPolicy)
		}
	}
}

// defaultTemplate returns the login pod before the user's parts are applied.
func (in Input) defaultTemplate() (corev1.PodTemplateSpec, error) {
	var none corev1.PodTemplateSpec
	user, err := in.LoginSet.Spec.Template.Spec.PodSpec()
	if err != nil {
		return none, v1beta1.InField(fieldPod, err)
	}
	slurmUser, err := refs.SlurmUser(in.Controller)
	if err != nil {
		return none, err
	}
	conf, err := refs.FindSSSDConf(FieldSSSDConf, in.LoginSet.Spec.SSSDConfRef, in.Controller)
	if err != nil {
		return none, err
	}
	grace := cmp.Or(user.TerminationGracePeriodSeconds, new(int64(defaultGraceSeconds)))
	initconf := []string{strconv.FormatInt(slurmUser, 10)}
	if !slices.ContainsFunc(user.Volumes, func(v corev1.Volume) bool { return v.Name == VolumeHome }) {
		initconf = append(initconf, homeDir)
	}
	containers := []corev1.Container{initconfContainer(initconf), sssdContainer(), in.sackdContainer(slurmUser)}
	if in.AgentImage != "" {
		containers = slices.Insert(containers, 1, podspec.InstallAgentContainer(in.AgentImage))
	}
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: containers,
		Containers:     []corev1.Container{loginContainer(*grace)},
		Volumes:        in.defaultVolumes(conf.SecretKeySelector),
		// srun and sbatch report it, and slurmctld 24.11 resolves it; a pod's own name has no address.
		Hostname:                      names.LoginService(in.LoginSet.Name),
		DNSPolicy:                     podspec.DNSPolicyOf(&user),
		EnableServiceLinks:            new(false),
		AutomountServiceAccountToken:  new(false),
		TerminationGracePeriodSeconds: grace,
		// Users reach workers by their Slurm names.
		DNSConfig: &corev1.PodDNSConfig{Searches: []string{names.ServiceDomain(
			names.WorkerService(in.Controller.Name), in.LoginSet.Namespace, in.ClusterDomain)}},
		SecurityContext: &corev1.PodSecurityContext{
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
	}}, nil
}
