package render

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// Template returns the pod template that all workers of a NodeSet share. Of its metadata only
// labels and annotations are set. Its hostname is the prefix of the workers' hostnames. An error
// names the faulty field.
func Template(in Input) (corev1.PodTemplateSpec, error) {
	user, err := in.parseUser()
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	spec := &in.NodeSet.Spec
	out, err := podspec.Merge(in.defaultTemplate(user), podspec.Part{Field: fieldPod, Raw: spec.Template.Spec},
		podspec.Container{Part: podspec.Part{Field: fieldSlurmd, Raw: spec.Slurmd}, Name: ContainerSlurmd},
		podspec.Container{Part: podspec.Part{Field: fieldLogfile, Raw: spec.Logfile}, Name: ContainerLogfile, Init: true})
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	if err := checkSlurmName(spec.ExtraConf, out.Spec.Containers); err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	if spec.HasSSH() {
		sshd.UseDaemonImage(&out.Spec)
	}
	showOwnCgroup(&out.Spec)
	meta := spec.Template.Metadata
	out.Labels = podspec.MergeMaps(meta.Labels, in.sharedLabels())
	out.Annotations = podspec.MergeMaps(meta.Annotations, in.Hashes)
	return out, nil
}

// checkSlurmName returns an error if extraConf or slurmd's arguments name the Slurm node: all workers would have that name.
func checkSlurmName(extraConf string, containers []corev1.Container) error {
	if slurmconf.NamesNode(extraConf) {
		return v1beta1.InField("spec.extraConf", errors.New("NodeName names the Slurm node, and all workers would have that name"))
	}
	for _, c := range containers {
		if c.Name != ContainerSlurmd {
			continue
		}
		if err := podspec.CheckSlurmdName(c); err != nil {
			return v1beta1.InField(fieldSlurmd, err)
		}
	}
	return nil
}
