package loop

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// applyObjects creates the namespace, the Cluster with its token, and the NodeSet.
func (l *Loop) applyObjects(ctx context.Context) error {
	token, err := os.ReadFile(l.Slurm.TokenFile)
	if err != nil {
		return err
	}
	if _, err := l.Kube.Kubectl(ctx, "create", "namespace", l.config.Namespace); err != nil {
		return err
	}
	if err := l.SetToken(ctx, strings.TrimSpace(string(token))); err != nil {
		return err
	}
	url := l.Slurm.URL
	if l.config.SlurmURL != nil {
		url = l.config.SlurmURL(url)
	}
	return l.Kube.Apply(ctx, fmt.Sprintf(`
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  server: %[3]s
  token: {secretRef: {name: token, key: SLURM_JWT}}
---
%[4]s`, ClusterName, l.config.Namespace, url, l.NodeSetManifest(l.config.Replicas)))
}

// SetToken replaces the token that the adapter uses for Slurm.
func (l *Loop) SetToken(ctx context.Context, token string) error {
	return l.Kube.Apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: %s}
stringData: {SLURM_JWT: %q}
`, l.config.Namespace, token))
}

// NodeSetManifest returns the NodeSet's manifest.
func (l *Loop) NodeSetManifest(replicas int) string {
	return fmt.Sprintf(`
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: %s, namespace: %s}
spec:
  clusterRef: {name: %s}
  replicas: %d
  extraConf: %s
  partition: {enabled: true}
  slurmd: {image: none}
  template: {}
`, l.config.NodeSet, l.config.Namespace, ClusterName, replicas, workerConf)
}
