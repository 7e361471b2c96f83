package render

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Worker is the pod of one worker: the template, which is not changed, with what is
// the worker's own. It is protected from the start: slurmd may get a job before Slurm is
// read again. It fails when the worker can not have its names.
func Worker(in Input, template corev1.PodTemplateSpec, id Identity) (*corev1.Pod, error) {
	names, err := NamesOf(in)
	if err != nil {
		return nil, err
	}
	if err := names.Check(id); err != nil {
		return nil, err
	}
	claims, err := in.claims()
	if err != nil {
		return nil, err
	}
	t := template.DeepCopy()
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Pod(id), Namespace: in.NodeSet.Namespace,
			Labels: over(t.Labels, ownLabels(names, id)), Annotations: over(t.Annotations, v1beta1.ProtectingAnnotations()),
			OwnerReferences: []metav1.OwnerReference{Owner(in.NodeSet), Anchor(in.NodeSet.Namespace, in.NamespaceUID)},
		},
		Spec: t.Spec,
	}
	pod.Spec.Hostname = names.Slurm(id)
	if pod.Spec.HostNetwork {
		pod.Spec.Hostname, pod.Spec.Subdomain = "", "" // Kubernetes takes the Kubernetes node's
	}
	setConf(&pod.Spec, in, id.Facts)
	if id.KubeNode != "" {
		pin(&pod.Spec, id.KubeNode)
	}
	for _, c := range claims {
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: names.Claim(c.Name, id)}
		setVolume(&pod.Spec, corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
	}
	return pod, nil
}

// ownLabels are those that tell a worker from the others.
func ownLabels(names Names, id Identity) map[string]string {
	out := map[string]string{v1beta1.LabelPodName: names.Pod(id), LabelRevision: id.Revision, v1beta1.LabelPodProtect: "true"}
	if id.Ordinal != nil && !names.perKubeNode {
		out[v1beta1.LabelPodIndex] = strconv.Itoa(*id.Ordinal)
	}
	if slurm := names.Slurm(id); slurm != "" {
		out[v1beta1.LabelPodHostname] = slurm
	}
	return out
}

// setConf puts what is known of the Kubernetes node into slurmd's --conf, unless the
// user has one of their own.
func setConf(spec *corev1.PodSpec, in Input, facts KubeNodeFacts) {
	common := literal(Conf(in, KubeNodeFacts{}))
	for i := range spec.Containers {
		c := &spec.Containers[i]
		for j := range c.Env {
			if c.Name == ContainerSlurmd && c.Env[j].Name == EnvConf && c.Env[j].Value == common {
				c.Env[j].Value = literal(Conf(in, facts))
			}
		}
	}
}

// pin keeps the pod on a Kubernetes node, by its name: the label with the hostname
// may be another. It holds beside whatever else the user asks of the node.
func pin(spec *corev1.PodSpec, kubeNode string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	required := affinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = make([]corev1.NodeSelectorTerm, 1)
	}
	for i := range required.NodeSelectorTerms { // one of them is enough, so each must say it
		term := &required.NodeSelectorTerms[i]
		term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{kubeNode}})
	}
}

// setVolume adds a volume, in the place of one of that name.
func setVolume(spec *corev1.PodSpec, v corev1.Volume) {
	i := slices.IndexFunc(spec.Volumes, func(x corev1.Volume) bool { return x.Name == v.Name })
	if i < 0 {
		spec.Volumes = append(spec.Volumes, v)
		return
	}
	spec.Volumes[i] = v
}

// claims are the NodeSet's claim templates.
func (in Input) claims() ([]corev1.PersistentVolumeClaim, error) {
	out := make([]corev1.PersistentVolumeClaim, len(in.NodeSet.Spec.VolumeClaimTemplates))
	for i, t := range in.NodeSet.Spec.VolumeClaimTemplates {
		field := fmt.Sprintf("%s[%d]", fieldClaims, i)
		var err error
		if out[i].ObjectMeta, err = t.Metadata.ObjectMeta(); err != nil {
			return nil, v1beta1.InField(field+".metadata", err)
		}
		if out[i].Spec, err = t.Spec.ClaimSpec(); err != nil {
			return nil, v1beta1.InField(field+".spec", err)
		}
		if out[i].Name == "" {
			return nil, &v1beta1.MalformedError{Path: field + ".metadata.name", Problem: "must not be empty"}
		}
	}
	return out, nil
}
