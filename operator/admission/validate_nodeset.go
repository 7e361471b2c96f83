package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// ValidateNodeSet returns the errors of a NodeSet, and warnings about surprising settings. old is the object that it
// replaces, or nil if it is new.
func ValidateNodeSet(old, new *v1beta1.NodeSet) (warnings []string, errs field.ErrorList) {
	f, at := &findings{}, field.NewPath("spec")
	checkClusterRefs(f, at, new.Spec)
	checkWorkers(f, at, new)
	checkClaims(f, at.Child("volumeClaimTemplates"), new.Spec.VolumeClaimTemplates)
	checkUpdateStrategy(f, at.Child("updateStrategy"), new.Spec.UpdateStrategy)
	checkDrainPolicy(f, at.Child("drainPolicy"), new.Spec.DrainPolicy)
	checkNumbers(f, at, new.Spec)
	checkMostReplicas(f, at.Child("replicas"), old, new)
	f.warnIgnored(at, new.Spec.IgnoredFields())
	checkAnnotations(f, new)
	if old != nil {
		checkClusterUnchanged(f, at, old.Spec, new.Spec)
		same := slices.EqualFunc(old.Spec.VolumeClaimTemplates, new.Spec.VolumeClaimTemplates, isSameClaim)
		f.checkUnchanged(at.Child("volumeClaimTemplates"), field.OmitValueType{}, same)
	}
	return f.result()
}

// checkClusterRefs checks the references to the cluster.
func checkClusterRefs(f *findings, at *field.Path, s v1beta1.NodeSetSpec) {
	switch {
	case (s.ControllerRef == nil) == (s.ClusterRef == nil):
		f.invalid(at, field.OmitValueType{}, "exactly one of controllerRef and clusterRef must be given")
	case s.ControllerRef != nil:
		f.requireName(at.Child("controllerRef"), s.ControllerRef.Name, "a Controller")
	default:
		f.requireName(at.Child("clusterRef"), s.ClusterRef.Name, "a Cluster")
	}
}

// checkClusterUnchanged refuses that workers move to another cluster: their jobs belong to the
// cluster that they joined.
func checkClusterUnchanged(f *findings, at *field.Path, old, now v1beta1.NodeSetSpec) {
	for _, ref := range []struct {
		name     string
		old, now *corev1.LocalObjectReference
	}{{"controllerRef", old.ControllerRef, now.ControllerRef}, {"clusterRef", old.ClusterRef, now.ClusterRef}} {
		if !equality.Semantic.DeepEqual(ref.old, ref.now) {
			f.invalid(at.Child(ref.name), field.OmitValueType{},
				"is immutable: workers stay in the cluster that they joined")
			return // one error is enough
		}
	}
}

// checkWorkers checks the pods and their names.
func checkWorkers(f *findings, at *field.Path, n *v1beta1.NodeSet) {
	s := n.Spec
	checkSlurmd(f, at.Child("slurmd"), s.Slurmd)
	f.checkContainer(at.Child("logfile"), s.Logfile)
	pod, readable := f.checkTemplate(at.Child("template"), s.Template)
	const ordinal = "0"
	if n.Name != "" {
		f.checkLabel(field.NewPath("metadata", "name"), n.Name, n.Name+"-"+ordinal)
	}
	if readable && pod.Hostname != "" && s.ScalingMode != v1beta1.ScalingModeDaemonSet {
		f.checkLabel(at.Child("template", "spec", "hostname"), pod.Hostname, pod.Hostname+ordinal)
	}
	if s.SSH != nil {
		checkSSH(f, at, &s, pod.HostNetwork)
	}
	for word := range strings.FieldsSeq(s.ExtraConf) {
		if name, value, ok := strings.Cut(word, "="); ok && value == "" {
			f.warn(at.Child("extraConf"), name+"= has no value: the next option would become its value")
		}
	}
}

// checkSlurmd checks the overlay of slurmd's container, and that it does not name the Slurm node of all workers.
func checkSlurmd(f *findings, at *field.Path, r v1beta1.Raw) {
	slurmd, readable := checkOpenField(f, at, r, v1beta1.Raw.Container)
	if len(slurmd.Command) == 0 {
		slurmd.Command = []string{"slurmd"}
	}
	slurmd.EnvFrom = nil // unknown variables are the operator's, which checks the whole container again
	if err := podspec.CheckSlurmdName(slurmd); readable && err != nil {
		f.invalid(at, field.OmitValueType{}, err.Error())
	}
}

// checkSSH checks how users log in to workers.
func checkSSH(f *findings, at *field.Path, s *v1beta1.NodeSetSpec, hostNetwork bool) {
	f.checkSecretKey(at.Child("ssh", "sssdConfRef"), s.SSH.SSSDConfRef)
	extra := at.Child("ssh", "extraSshdConfig")
	if strings.Contains(s.SSH.ExtraSshdConfig, "\x00") {
		f.invalid(extra, field.OmitValueType{}, "must not contain a NUL character")
	}
	if !s.SSH.Enabled {
		return
	}
	options := sshd.GlobalOptions(s.SSH.ExtraSshdConfig)
	if pam, has := options["usepam"]; has && !strings.EqualFold(pam, "yes") {
		f.invalid(extra, field.OmitValueType{}, "must not switch UsePAM off: by PAM, Slurm refuses users without a job")
	}
	for _, name := range []string{"kbdinteractiveauthentication", "challengeresponseauthentication"} {
		if strings.EqualFold(options[name], "yes") {
			f.warn(extra, "lets users in by keyboard-interactive authentication, after which pam_slurm_adopt does not move their "+
				"sessions into the job")
		}
	}
	if _, has := options["port"]; hostNetwork && !has {
		f.warn(extra, "has no Port: port 22 of the Kubernetes node may be taken by its own sshd")
	}
	if slurmd, err := s.Slurmd.Container(); err == nil && len(slurmd.Command) > 0 {
		f.warn(at.Child("slurmd", "command"), "takes the place of the command that starts sshd, which it must do itself")
	}
}

// checkClaims checks the templates of claims.
func checkClaims(f *findings, at *field.Path, templates []v1beta1.VolumeClaimTemplate) {
	names := map[string]bool{}
	for i, t := range templates {
		at := at.Index(i)
		meta, readable := checkOpenField(f, at.Child("metadata"), t.Metadata, v1beta1.Raw.ObjectMeta)
		checkOpenField(f, at.Child("spec"), t.Spec, v1beta1.Raw.ClaimSpec)
		name := at.Child("metadata", "name")
		switch {
		case !readable:
		case meta.Name == "":
			f.required(name, "the name of the volume")
		case names[meta.Name]:
			f.errs = append(f.errs, field.Duplicate(name, meta.Name))
		default:
			for _, problem := range validation.IsDNS1123Label(meta.Name) {
				f.invalid(name, meta.Name, problem)
			}
		}
		names[meta.Name] = true
	}
}

func isSameClaim(a, b v1beta1.VolumeClaimTemplate) bool {
	return a.Metadata.Equal(b.Metadata) && a.Spec.Equal(b.Spec)
}

// checkUpdateStrategy checks how workers are updated to a new revision.
func checkUpdateStrategy(f *findings, at *field.Path, u v1beta1.NodeSetUpdateStrategy) {
	if r := u.RollingUpdate; r != nil {
		rolling := at.Child("rollingUpdate")
		if checkCountOrPercent(f, rolling.Child("maxUnavailable"), r.MaxUnavailable) == 0 {
			f.warn(rolling.Child("maxUnavailable"), "is zero: no worker is ever updated")
		}
		f.checkReplicas(rolling.Child("partition"), r.Partition)
	}
	scheduled := at.Child("scheduledUpdate")
	if s := u.ScheduledUpdate; s != nil {
		f.checkDuration(scheduled.Child("duration"), s.Duration)
		for i, flag := range s.Flags {
			if flag == "" || strings.ContainsAny(flag, ", \t\n") {
				f.invalid(scheduled.Child("flags").Index(i), flag,
					"must be one flag of a reservation, such as MAGNETIC")
			}
		}
	}
	if u.Type == v1beta1.UpdateScheduled && (u.ScheduledUpdate == nil || u.ScheduledUpdate.StartTime == nil) {
		f.required(scheduled.Child("startTime"), "the start of a ScheduledUpdate")
	}
}

// checkCountOrPercent checks a number or a percentage of pods, and returns the number that it is
// for a hundred pods; nil is all.
func checkCountOrPercent(f *findings, at *field.Path, v *intstr.IntOrString) int {
	const hundred = 100
	if v == nil {
		return hundred
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, hundred, true)
	if err != nil || n < 0 {
		f.invalid(at, v.String(), "must be a number or a percentage, such as 25%")
		return hundred
	}
	return n
}

// checkDrainPolicy checks how long a drain waits for jobs.
func checkDrainPolicy(f *findings, at *field.Path, p *v1beta1.DrainPolicy) {
	if p == nil {
		return
	}
	f.checkDuration(at.Child("timeout"), p.Timeout)
	switch {
	case p.Type == v1beta1.DrainTimeout && p.Timeout == nil:
		f.required(at.Child("timeout"), "a drainPolicy of type Timeout requires it")
	case p.Type != v1beta1.DrainTimeout && p.Timeout != nil:
		f.warn(at.Child("timeout"), "has no effect unless type is Timeout")
	}
	if p.Type == v1beta1.DrainForce {
		f.warn(at.Child("type"), "is Force: jobs are lost when their workers are deleted")
	}
}

// checkNumbers checks counts.
func checkNumbers(f *findings, at *field.Path, s v1beta1.NodeSetSpec) {
	f.checkReplicas(at.Child("replicas"), s.Replicas)
	f.checkReplicas(at.Child("maxReplicas"), s.MaxReplicas)
	f.checkNotNegative(at.Child("minReadySeconds"), int64(s.MinReadySeconds))
	f.checkNotNegative(at.Child("revisionHistoryLimit"), int64(s.RevisionHistoryLimit))
	const digits = 10 // of the largest int32
	if s.OrdinalPadding < 0 || s.OrdinalPadding > digits {
		f.invalid(at.Child("ordinalPadding"), s.OrdinalPadding, "must be a number of digits, 0 to 10")
	}
	if s.Replicas != nil && s.MaxReplicas != nil && *s.Replicas > *s.MaxReplicas {
		f.warn(at.Child("maxReplicas"), "is less than replicas")
	}
}

// checkMostReplicas refuses more workers than Slurm supports. Other fields of a NodeSet that already has too many can
// be changed.
func checkMostReplicas(f *findings, at *field.Path, old, new *v1beta1.NodeSet) {
	n := scaling.SpecReplicas(new)
	if n > scaling.MaxNodes && (old == nil || scaling.SpecReplicas(old) != n) {
		f.invalid(at, n, fmt.Sprintf("must be at most %d, the number of nodes that Slurm supports", scaling.MaxNodes))
	}
}

// checkAnnotations checks the annotations that users set. An invalid one disables only its own
// feature, so it is a warning.
func checkAnnotations(f *findings, n *v1beta1.NodeSet) {
	at := field.NewPath("metadata", "annotations")
	if wake, ok := n.Annotations[v1beta1.AnnotationWake]; ok && wake != v1beta1.WakeAlways &&
		wake != v1beta1.WakeNever {
		f.warn(at.Key(v1beta1.AnnotationWake), `is neither "always" nor "never"`)
	}
	for _, name := range []string{v1beta1.AnnotationZeroAfter, v1beta1.AnnotationIdleGrace} {
		text, ok := n.Annotations[name]
		if d, err := time.ParseDuration(text); ok && (err != nil || d < 0) {
			f.warn(at.Key(name), "is not a duration such as 10m")
		}
	}
}
