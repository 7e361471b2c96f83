package upgrade

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// findStrays finds the Controllers of RestApis and LoginSets that refer to none: their Deployments say which ones they
// were made for, and stay until somebody corrects the reference.
func (g Guard) findStrays(ctx context.Context, all *inventory) error {
	controllers := map[string]bool{}
	for i := range all.controllers.Items {
		controllers[all.controllers.Items[i].Name] = true
	}
	all.strays = map[client.Object]string{}
	for i := range all.restAPIs.Items {
		r := &all.restAPIs.Items[i]
		if controllers[r.Spec.ControllerRef.Name] {
			continue
		}
		if err := g.findStray(ctx, all, r, names.RestAPIDeployment(r.Name)); err != nil {
			return err
		}
	}
	for i := range all.loginSets.Items {
		l := &all.loginSets.Items[i]
		if controllers[l.Spec.ControllerRef.Name] {
			continue
		}
		if err := g.findStray(ctx, all, l, names.LoginDeployment(l.Name)); err != nil {
			return err
		}
	}
	return nil
}

// findStray finds the Controller for which the Deployment of an object was made.
func (g Guard) findStray(ctx context.Context, all *inventory, object client.Object, name string) error {
	if !g.MayRunIn(object.GetNamespace()) {
		return nil
	}
	d := &appsv1.Deployment{}
	err := g.Uncached.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, d)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading Deployment %s: %w", name, err)
	}
	if metav1.IsControlledBy(d, object) {
		all.strays[object] = d.Spec.Template.Labels[v1beta1.LabelCluster]
	}
	return nil
}
