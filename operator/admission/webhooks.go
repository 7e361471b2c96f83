package admission

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/slurmtide/slurmtide/operator/api/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ConvertPath is the path of the conversion webhook.
const ConvertPath = "/convert"

// ValidatePath returns the path of a resource's validating webhook.
func ValidatePath(plural string) string { return "/validate/" + plural }

// Resources returns the plural names of the kinds that have a validating webhook.
func Resources() []string {
	return []string{"accountings", "clusters", "controllers", "loginsets", "nodesets", "restapis", "tokens"}
}

// Register adds every webhook to a server. It uses its own scheme.
func Register(server webhook.Server) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("registering types: %w", err)
		}
	}
	for plural, hook := range map[string]*webhook.Admission{
		"accountings": newValidatingWebhook(scheme, v1beta1.KindAccounting, ValidateAccounting,
			func(o *v1beta1.Accounting) any { return &o.Spec }),
		"clusters": newValidatingWebhook(scheme, v1beta1.KindCluster, ValidateCluster,
			func(o *v1beta1.Cluster) any { return &o.Spec }),
		"controllers": newValidatingWebhook(scheme, v1beta1.KindController, ValidateController,
			func(o *v1beta1.Controller) any { return &o.Spec }),
		"loginsets": newValidatingWebhook(scheme, v1beta1.KindLoginSet, ValidateLoginSet,
			func(o *v1beta1.LoginSet) any { return &o.Spec }),
		"nodesets": newValidatingWebhook(scheme, v1beta1.KindNodeSet, ValidateNodeSet,
			func(o *v1beta1.NodeSet) any { return &o.Spec }),
		"restapis": newValidatingWebhook(scheme, v1beta1.KindRestApi, ValidateRestApi,
			func(o *v1beta1.RestApi) any { return &o.Spec }),
		"tokens": newValidatingWebhook(scheme, v1beta1.KindToken, ValidateToken,
			func(o *v1beta1.Token) any { return &o.Spec }),
	} {
		server.Register(ValidatePath(plural), hook)
	}
	converters, err := newConverters(scheme)
	if err != nil {
		return err
	}
	server.Register(ConvertPath, conversion.NewWebhookHandler(scheme, converters))
	return nil
}

// newConverters returns the converters of the kinds that have two versions.
func newConverters(scheme *runtime.Scheme) (conversion.Registry, error) {
	registry := conversion.NewRegistry()
	for kind, converter := range map[string]func(*runtime.Scheme) (conversion.Converter, error){
		v1beta1.KindNodeSet: conversion.NewHubSpokeConverter(
			&v1beta1.NodeSet{}, conversion.NewSpokeConverter(&v1alpha1.NodeSet{},
				func(_ context.Context, beta *v1beta1.NodeSet, alpha *v1alpha1.NodeSet) error {
					alpha.FromBeta(beta)
					return nil
				},
				func(_ context.Context, alpha *v1alpha1.NodeSet, beta *v1beta1.NodeSet) error {
					alpha.ToBeta(beta)
					return nil
				})),
		v1beta1.KindCluster: conversion.NewHubSpokeConverter(
			&v1beta1.Cluster{}, conversion.NewSpokeConverter(&v1alpha1.Cluster{},
				func(_ context.Context, beta *v1beta1.Cluster, alpha *v1alpha1.Cluster) error {
					alpha.FromBeta(beta)
					return nil
				},
				func(_ context.Context, alpha *v1alpha1.Cluster, beta *v1beta1.Cluster) error {
					alpha.ToBeta(beta)
					return nil
				})),
	} {
		made, err := converter(scheme)
		if err != nil {
			return nil, fmt.Errorf("making the converter of %s: %w", kind, err)
		}
		if err := registry.RegisterConverter(v1beta1.SchemeGroupVersion.WithKind(kind).GroupKind(), made); err != nil {
			return nil, fmt.Errorf("registering the converter of %s: %w", kind, err)
		}
	}
	return registry, nil
}

// validator validates the objects of a kind.
type validator[T client.Object] struct {
	kind     string
	validate func(old, new T) ([]string, field.ErrorList)
	spec     func(T) any
}

func newValidatingWebhook[T client.Object](
	scheme *runtime.Scheme, kind string,
	validate func(old, new T) ([]string, field.ErrorList), spec func(T) any,
) *webhook.Admission {
	return admission.WithValidator(scheme, validator[T]{kind, validate, spec})
}

// ValidateCreate implements admission.Validator.
func (v validator[T]) ValidateCreate(_ context.Context, obj T) (admission.Warnings, error) {
	var none T
	return v.review(none, obj)
}

// ValidateUpdate implements admission.Validator.
func (v validator[T]) ValidateUpdate(_ context.Context, old, obj T) (admission.Warnings, error) {
	if obj.GetDeletionTimestamp() != nil || apiequality.Semantic.DeepEqual(v.spec(old), v.spec(obj)) {
		return nil, nil
	}
	return v.review(old, obj)
}

// ValidateDelete implements admission.Validator.
func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (v validator[T]) review(old, obj T) (admission.Warnings, error) {
	warnings, errs := v.validate(old, obj)
	if len(errs) == 0 {
		return warnings, nil
	}
	return warnings, apierrors.NewInvalid(v1beta1.SchemeGroupVersion.WithKind(v.kind).GroupKind(), obj.GetName(), errs)
}
