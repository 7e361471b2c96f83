package simulation

import (
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// applyWantedImage has workloads get the image that users want.
func applyWantedImage(w *simulation, next *write) bool {
	spec, _ := next.content["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	inner, _ := template["spec"].(map[string]any)
	containers, _ := inner["containers"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		name, _ := container["name"].(string)
		if kind, isDaemon := kindsOfDaemons[name]; isDaemon && releaseIn(w.images[kind]).IsKnown() {
			container["image"] = w.images[kind]
		}
	}
	return true
}

// takeOver makes the operator treat foreign objects as its own.
func takeOver(w *simulation, o client.Object) {
	kind := kindOf(o)
	if !w.theirs[kind+"/"+o.GetName()] {
		return
	}
	isController := true
	for owner, name := range objectNames {
		if of := w.api.objects[owner][name]; of != nil && len(o.GetName()) > len(name) && o.GetName()[:len(name)] == name {
			o.SetOwnerReferences([]metav1.OwnerReference{{Kind: owner, Name: name, UID: of.GetUID(), Controller: &isController}})
		}
	}
}

// replaceInStatus changes the text written into statuses, and the object that the patch is made of.
func replaceInStatus(pattern, replacement string) func(*simulation, *write) bool {
	matches := regexp.MustCompile(pattern)
	return func(_ *simulation, next *write) bool {
		if next.isStatus {
			next.data = matches.ReplaceAll(next.data, []byte(replacement))
		}
		return true
	}
}

// touchServices has each Service that is applied differ from the last one.
func touchServices(w *simulation, next *write) bool {
	if meta, isMeta := next.content["metadata"].(map[string]any); isMeta && next.kind == "Service" {
		w.addresses++
		meta["annotations"] = map[string]any{v1beta1.AnnotationAppliedHash: time.Duration(w.addresses).String()}
	}
	return true
}
