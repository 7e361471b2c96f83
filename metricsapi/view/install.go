package view

import (
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// NewScheme returns a scheme with the kinds of the view and the common types that an API server
// needs.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering the types of the view: %w", err)
	}
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{},
		&metav1.APIGroup{}, &metav1.APIResourceList{})
	for kind, known := range selectableFields() {
		err := scheme.AddFieldLabelConversionFunc(v1alpha1.SchemeGroupVersion.WithKind(kind),
			func(field, value string) (string, string, error) {
				if !slices.Contains(known, field) {
					return "", "", fmt.Errorf("%q is not a field selector of %s; known are %q", field, kind, known)
				}
				return field, value, nil
			})
		if err != nil {
			return nil, fmt.Errorf("registering the types of the view: %w", err)
		}
	}
	return scheme, nil
}

// selectableFields returns the fields that selectors may contain, sorted, by kind.
func selectableFields() map[string][]string {
	return map[string][]string{
		v1alpha1.KindJob: fieldsOf(jobResource()), v1alpha1.KindNode: fieldsOf(nodeResource()),
		v1alpha1.KindPartition: fieldsOf(partitionResource()),
	}
}

func fieldsOf[T any](n *resource[T]) []string {
	known := []string{"metadata.name", "metadata.namespace"}
	for f := range n.fields {
		known = append(known, f)
	}
	slices.Sort(known)
	return known
}

// Install adds the API group to the server. The scheme must come from NewScheme. The authorizer
// decides who may see private records.
func (v *View) Install(
	server *genericapiserver.GenericAPIServer, scheme *runtime.Scheme, a authorizer.Authorizer,
) error {
	codecs := serializer.NewCodecFactory(scheme)
	info := genericapiserver.NewDefaultAPIGroupInfo(v1alpha1.GroupName, scheme, runtime.NewParameterCodec(scheme),
		codecs)
	info.NegotiatedSerializer = withoutProtobuf{info.NegotiatedSerializer}
	storage := map[string]rest.Storage{}
	for resource, s := range v.stores(a) {
		storage[resource] = s
	}
	for resource, s := range v.actions(a) {
		storage[resource] = s
	}
	info.VersionedResourcesStorageMap[v1alpha1.SchemeGroupVersion.Version] = storage
	if err := server.InstallAPIGroup(&info); err != nil {
		return fmt.Errorf("serving %s: %w", v1alpha1.GroupName, err)
	}
	server.Handler.NonGoRestfulMux.HandlePrefix(StatesPath, http.HandlerFunc(v.serveStates))
	return nil
}

// withoutProtobuf removes the protobuf serializer, because the kinds have no protobuf encoding.
// Clients that prefer protobuf and accept JSON get JSON.
type withoutProtobuf struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (t withoutProtobuf) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(t.NegotiatedSerializer.SupportedMediaTypes()),
		func(s runtime.SerializerInfo) bool {
			return s.MediaType == runtime.ContentTypeProtobuf
		})
}
