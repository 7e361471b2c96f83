package render

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an object of Kubernetes.
type Object interface {
	metav1.Object
	runtime.Object
}

// Objects returns all objects of a Controller, those first that the others refer to. If one cannot be
// built, none is returned.
func Objects(in Input) ([]Object, error) {
	config, err := ConfigMap(in)
	if err != nil {
		return nil, err
	}
	service, err := Service(in)
	if err != nil {
		return nil, err
	}
	set, err := StatefulSet(in)
	if err != nil {
		return nil, err
	}
	return []Object{config, InternalService(in), service, set}, nil
}
