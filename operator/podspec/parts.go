package podspec

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// KeyVolume returns a volume with one key of a Secret as a file of the given name. Only its owner may read
// the file: Slurm refuses a key that others may read.
func KeyVolume(name string, key corev1.SecretKeySelector, file string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName:  key.Name,
		Items:       []corev1.KeyToPath{{Key: key.Key, Path: file}},
		DefaultMode: new(int32(0o600)),
	}}}
}

// HashContent returns a short hash of a file, for an annotation that replaces pods when the file changes.
func HashContent(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// MergeMaps returns the union of both maps. Values of over take precedence. It returns nil if both
// are empty.
func MergeMaps(under, over map[string]string) map[string]string {
	out := maps.Clone(under)
	if out == nil && len(over) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}

// SetVolume adds a volume, or replaces the volume with its name.
func SetVolume(spec *corev1.PodSpec, v corev1.Volume) {
	i := slices.IndexFunc(spec.Volumes, func(x corev1.Volume) bool { return x.Name == v.Name })
	if i < 0 {
		spec.Volumes = append(spec.Volumes, v)
		return
	}
	spec.Volumes[i] = v
}

// LogfileContainer returns a sidecar that prints a daemon's log file, and truncates the file before it fills
// the disk of the Kubernetes node. Daemons append to the file, so only old lines are lost. mount is the mount
// of the file's folder.
func LogfileContainer(name, image, path string, mount corev1.VolumeMount) corev1.Container {
	const script = `touch "$0"
(while sleep 60; do [ "$(wc -c <"$0")" -lt 67108864 ] || : >"$0"; done) &
exec tail -n +1 -F "$0"`
	return corev1.Container{
		Name:          name,
		Image:         image,
		Command:       []string{"sh", "-c", script, path},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		VolumeMounts:  []corev1.VolumeMount{mount},
	}
}

// RestrictedContext returns the security context that the pod security standard "restricted" requires.
func RestrictedContext() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// KubeObject is an object of Kubernetes.
type KubeObject interface {
	metav1.Object
	runtime.Object
}
