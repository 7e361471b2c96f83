package refs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Anchor returns the reference that makes the namespace another owner of an object, besides its controller.
// The garbage collector deletes an object only when none of its owners remains. With this reference it
// removes a deleted owner from the object, even with foreground deletion. The operator deletes the object
// when no job needs it.
func Anchor(namespace string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: uid}
}
