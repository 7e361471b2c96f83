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

// APIServices announces the CA of an aggregated API server.
type APIServices struct {
	Client dynamic.Interface
	// Service, in Namespace, is how the server is reached.
	Namespace, Service string
	// Names are those of the APIServices that lead to the server. One that is absent,
	// or leads to another Service, is left alone.
	Names []string
}

var _ Announcer = (*APIServices)(nil)

// Announce implements Announcer.
func (s *APIServices) Announce(ctx context.Context, caCert []byte) error {
	services := s.Client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	for _, name := range s.Names {
		seen, err := services.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", name, err)
		}
		if !s.mine(seen) || bytes.Equal(caOf(seen), caCert) {
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": caCert, "insecureSkipTLSVerify": false}})
		if err != nil {
			return err
		}
		if _, err := services.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patching APIService %s: %w", name, err)
		}
	}
	return nil
}

// mine reports whether an APIService leads to our Service.
func (s *APIServices) mine(a *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(a.Object, "spec", "service", "name")
	namespace, _, _ := unstructured.NestedString(a.Object, "spec", "service", "namespace")
	return name == s.Service && namespace == s.Namespace
}

func caOf(a *unstructured.Unstructured) []byte {
	text, _, _ := unstructured.NestedString(a.Object, "spec", "caBundle")
	ca, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return ca
}
