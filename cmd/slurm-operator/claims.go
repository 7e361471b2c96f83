package main

import (
	"fmt"
	"os"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/claims"
	"github.com/slurmtide/slurmtide/operator/kube"
)

// addClaims adds the guard that keeps the reconcilers out of namespaces that another slurm-operator manages.
func addClaims(mgr ctrl.Manager, o *options) (kube.Guard, error) {
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	uncached, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	name, err := o.installationName()
	if err != nil {
		return nil, err
	}
	c := claims.New(claims.Identity{Name: name, NamesNamespaces: len(o.namespaces) > 0}, uncached, mgr.GetLogger().WithName("claims"))
	return c.Guard, mgr.Add(c)
}

// podNamespaceFile has the namespace of the pod in which the program runs.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// installationName returns a name that all replicas of this operator share: the namespace of their leader election, or of their pods.
// Outside of Kubernetes it is the host name.
func (o *options) installationName() (string, error) {
	if o.leaderElection && o.leaderNamespace != "" {
		return o.leaderNamespace, nil
	}
	if namespace, err := os.ReadFile(podNamespaceFile); err == nil {
		return strings.TrimSpace(string(namespace)), nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("reading the name of this machine: %w", err)
	}
	return name, nil
}
