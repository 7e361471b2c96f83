package kube

import (
	"fmt"
	"reflect"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// NewLogConstructor returns the function that makes the logger of each reconciliation: with the
// name of the controller, and the namespace and the name of the object of a kind.
func NewLogConstructor(log logr.Logger, controller, kind string) func(*reconcile.Request) logr.Logger {
	log = log.WithValues("controller", controller)
	return func(r *reconcile.Request) logr.Logger {
		if r == nil {
			return log
		}
		return log.WithValues("namespace", r.Namespace, kind, r.Name)
	}
}

// describeObject returns the kind and the name of an object for messages, such as
// "NodeSet team/gpu".
func describeObject(o client.Object) string {
	return fmt.Sprintf("%s %s/%s", kindOf(o), o.GetNamespace(), o.GetName())
}

// kindOf returns the kind of a typed object.
func kindOf(o client.Object) string { return reflect.TypeOf(o).Elem().Name() }
