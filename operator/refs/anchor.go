package refs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Anchor is the reference that makes the namespace another owner of an object, besides the one that
// controls it. The garbage collector deletes an object only when none of its owners remains. With this
// reference it removes a deleted owner from the object, with foreground deletion too, and leaves the
// object to the operator, which deletes it when no job needs it any more.
func Anchor(namespace string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: uid}
}
