package certs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// APIServiceAnnouncer writes the CA of an aggregated API server into its APIServices.
type APIServiceAnnouncer struct {
	Client dynamic.Interface
	// Namespace and Service name the server's Service.
	Namespace, Service string
	// Names are the names of the server's APIServices. Announce skips an APIService that is missing, refers to another
	// Service, or must not be read. The chart grants no rights for APIs that are switched off, which another server may
	// serve.
	Names []string
}

var _ Announcer = (*APIServiceAnnouncer)(nil)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// Announce implements Announcer. It returns an error if it may not read any of the APIServices.
func (s *APIServiceAnnouncer) Announce(ctx context.Context, caCert []byte) error {
	services := s.Client.Resource(apiServices)
	var forbidden error
	forbiddenOnes := 0
	for _, name := range s.Names {
		found, err := services.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if apierrors.IsForbidden(err) {
			forbidden = fmt.Errorf("reading APIService %s: %w", name, err)
			forbiddenOnes++
			continue
		}
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", name, err)
		}
		if !s.isOurs(found) || bytes.Equal(caBundleOf(found), caCert) {
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": caCert,
			"insecureSkipTLSVerify": false}})
		if err != nil {
			return err
		}
		if _, err := services.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patching APIService %s: %w", name, err)
		}
	}
	if forbiddenOnes == len(s.Names) {
		return forbidden
	}
	return nil
}

// isOurs reports whether an APIService refers to our Service.
func (s *APIServiceAnnouncer) isOurs(a *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(a.Object, "spec", "service", "name")
	namespace, _, _ := unstructured.NestedString(a.Object, "spec", "service", "namespace")
	return name == s.Service && namespace == s.Namespace
}

func caBundleOf(a *unstructured.Unstructured) []byte {
	text, _, _ := unstructured.NestedString(a.Object, "spec", "caBundle")
	ca, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return ca
}
