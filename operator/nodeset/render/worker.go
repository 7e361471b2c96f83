package render

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Worker returns the pod of one worker: a copy of the template with the worker's own fields. The
// pod is protected from the start, because slurmd may get a job before Slurm is read again. It
// fails if a name of the worker is invalid.
func Worker(in Input, template corev1.PodTemplateSpec, id Identity) (*corev1.Pod, error) {
	workers, err := names.NewWorkers(in.NodeSet, in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := workers.Check(id.ID()); err != nil {
		return nil, err
	}
	claims, err := in.claimTemplates()
	if err != nil {
		return nil, err
	}
	t := template.DeepCopy()
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: workers.Pod(id.ID()), Namespace: in.NodeSet.Namespace,
			Labels:      podspec.MergeMaps(t.Labels, workerLabels(workers, id)),
			Annotations: podspec.MergeMaps(t.Annotations, v1beta1.ProtectingAnnotations()),
			OwnerReferences: []metav1.OwnerReference{Owner(in.NodeSet),
				refs.Anchor(in.NodeSet.Namespace, in.NamespaceUID)},
		},
		Spec: t.Spec,
	}
	pod.Spec.Hostname = workers.SlurmNode(id.ID())
	setSlurmName(&pod.Spec, pod.Spec.Hostname)
	if pod.Spec.HostNetwork {
		pod.Spec.Hostname, pod.Spec.Subdomain = "", "" // the pod has the hostname of its Kubernetes node
	}
	setConf(&pod.Spec, in, id.Facts)
	if id.KubeNode != "" {
		requireKubeNode(&pod.Spec, corev1.NodeSelectorOpIn, id.KubeNode)
	} else if pod.Spec.HostNetwork {
		requireKubeNode(&pod.Spec, corev1.NodeSelectorOpNotIn, id.AvoidKubeNodes...)
	}
	for _, c := range claims {
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: workers.Claim(c.Name, id.ID())}
		podspec.SetVolume(&pod.Spec, corev1.Volume{Name: c.Name,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
	}
	return pod, nil
}

// workerLabels returns the labels that distinguish a worker from the others.
func workerLabels(workers names.Workers, id Identity) map[string]string {
	out := workers.Labels(id.ID())
	out[LabelRevision], out[v1beta1.LabelPodProtect] = id.Revision, "true"
	return out
}

// setSlurmName sets the name with which slurmd starts, over any name in the user's env: the given name or, if it is empty, the name of
// the Kubernetes node that the scheduler chooses. The template takes the name from the pod's label, which can be edited before a
// container restarts.
func setSlurmName(spec *corev1.PodSpec, name string) {
	want := corev1.EnvVar{Name: EnvHostname, Value: name}
	if name == "" {
		want.ValueFrom = fieldSource("spec.nodeName")
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if c.Name != ContainerSlurmd {
			continue
		}
		is := func(v corev1.EnvVar) bool { return v.Name == EnvHostname }
		at := max(0, slices.IndexFunc(c.Env, is))
		c.Env = slices.Insert(slices.DeleteFunc(c.Env, is), at, want) // first if the user has removed it: others may refer to it
	}
}

// SlurmNameIn returns the Slurm node name with which a container of a pod starts slurmd, and reports whether the spec shows it: a
// value, or the Kubernetes node, whose name is empty before the pod is scheduled.
func SlurmNameIn(pod *corev1.Pod, c *corev1.Container) (name string, isShown bool) {
	for _, variable := range c.Env {
		if c.Name != ContainerSlurmd || variable.Name != EnvHostname {
			continue
		}
		from := variable.ValueFrom
		if from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "spec.nodeName" {
			return pod.Spec.NodeName, true
		}
		return variable.Value, variable.Value != ""
	}
	return "", false
}

// setConf adds the known facts of the Kubernetes node to slurmd's --conf, unless the user set the
// variable.
func setConf(spec *corev1.PodSpec, in Input, facts KubeNodeFacts) {
	common := escapeVariables(Conf(in, KubeNodeFacts{}))
	for i := range spec.Containers {
		c := &spec.Containers[i]
		for j := range c.Env {
			if c.Name == ContainerSlurmd && c.Env[j].Name == EnvConf && c.Env[j].Value == common {
				c.Env[j].Value = escapeVariables(Conf(in, facts))
			}
		}
	}
}

// requireKubeNode restricts the pod to a Kubernetes node, or to others than some, by name because the hostname label may
// differ. The restriction applies in addition to the user's.
func requireKubeNode(spec *corev1.PodSpec, operator corev1.NodeSelectorOperator, kubeNodes ...string) {
	if len(kubeNodes) == 0 {
		return
	}
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
	for i := range required.NodeSelectorTerms { // one matching term suffices, so each needs the restriction
		term := &required.NodeSelectorTerms[i]
		for _, name := range kubeNodes { // Kubernetes allows one value in each
			term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{
				Key: metav1.ObjectNameField, Operator: operator, Values: []string{name}})
		}
	}
}

// claimTemplates decodes the NodeSet's claim templates.
func (in Input) claimTemplates() ([]corev1.PersistentVolumeClaim, error) {
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
