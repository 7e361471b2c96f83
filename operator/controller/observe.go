package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// observe reads everything that the objects of a Controller are built from. A *problem.Error names
// what is missing.
func (r *Reconciler) observe(ctx context.Context, c *v1beta1.Controller) (render.Input, error) {
	in := render.Input{Controller: c, Image: r.cfg.Image, AgentImage: r.cfg.AgentImage,
		ClusterDomain: r.cfg.ClusterDomain, UsesIPv6: r.cfg.UsesIPv6}
	namespace := &corev1.Namespace{}
	if err := r.Uncached.Get(ctx, client.ObjectKey{Name: c.Namespace}, namespace); err != nil {
		return in, fmt.Errorf("reading namespace %s: %w", c.Namespace, err)
	}
	in.NamespaceUID = namespace.UID
	if err := access.CheckKeys(ctx, r.Uncached, c.Namespace,
		access.RequiredKey{Field: "spec.slurmKeyRef", Ref: c.Spec.SlurmKeyRef},
		access.RequiredKey{Field: "spec.jwtKeyRef", Ref: render.JWTKeyRef(c)}); err != nil {
		return in, err
	}
	if conf := c.Spec.SSSDConfRef; conf != nil {
		err := access.CheckDaemonSSSD(ctx, r.Uncached, c.Namespace, refs.SSSDConf{SecretKeySelector: *conf, Field: "spec.sssdConfRef"})
		if err != nil {
			return in, err
		}
	}
	err := access.CheckConfigMapKey(ctx, r.Uncached, c.Namespace, "spec.jwksKeyRef", c.Spec.JWKSKeyRef)
	if err != nil {
		return in, err
	}
	if in.Files, err = r.readFiles(ctx, c); err != nil {
		return in, err
	}
	if in.Accounting, err = access.FindSlurmdbd(ctx, r.Client, c); err != nil {
		return in, err
	}
	if in.AccountedTRES, err = r.readAccountedTRES(ctx, c); err != nil {
		return in, err
	}
	in.NodeSets, in.LeftOut, in.MaxWorkers, err = r.findNodeSets(ctx, c, in.Files.Config)
	return in, err
}

// readAccountedTRES returns the TRES in the slurm.conf that was last written.
func (r *Reconciler) readAccountedTRES(ctx context.Context, c *v1beta1.Controller) ([]string, error) {
	config, err := r.readConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return slurmconf.AccountedTRES(slurmconf.ParseFiles(config, config["slurm.conf"])), nil
}

// readConfig returns the files of the configuration that was last written, none before that.
func (r *Reconciler) readConfig(ctx context.Context, c *v1beta1.Controller) (map[string]string, error) {
	config := &corev1.ConfigMap{}
	id := client.ObjectKey{Namespace: c.Namespace, Name: names.ControllerConfigMap(c.Name)}
	if err := r.Uncached.Get(ctx, id, config); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", id.Name, err)
	}
	return config.Data, nil
}

// fileRefs returns the fields of a Controller that name ConfigMaps, with where their files go.
func fileRefs(c *v1beta1.Controller, into *render.UserFiles) []fileRef {
	return []fileRef{
		{"spec.configFileRefs", c.Spec.ConfigFileRefs, &into.Config},
		{"spec.prologScriptRefs", c.Spec.PrologScriptRefs, &into.Prolog},
		{"spec.epilogScriptRefs", c.Spec.EpilogScriptRefs, &into.Epilog},
		{"spec.prologSlurmctldScriptRefs", c.Spec.PrologSlurmctldScriptRefs, &into.PrologSlurmctld},
		{"spec.epilogSlurmctldScriptRefs", c.Spec.EpilogSlurmctldScriptRefs, &into.EpilogSlurmctld},
	}
}

// fileRef is a field that names ConfigMaps.
type fileRef struct {
	field string
	refs  []corev1.LocalObjectReference
	files *map[string]string
}

// readFiles reads the users' ConfigMaps.
func (r *Reconciler) readFiles(ctx context.Context, c *v1beta1.Controller) (render.UserFiles, error) {
	var out render.UserFiles
	for _, ref := range fileRefs(c, &out) {
		files, err := access.ReadFiles(ctx, r.Uncached, c.Namespace, ref.field, ref.refs)
		if err != nil {
			return out, err
		}
		*ref.files = files
	}
	return out, nil
}

// findNodeSets returns the NodeSets of a Controller in the order of their names, why others are left out
// of slurm.conf, and the sum of their maxima. files are those that it may include. Those that are being deleted are among them, since jobs
// may still run on their workers.
func (r *Reconciler) findNodeSets(ctx context.Context, c *v1beta1.Controller, files map[string]string) (
	[]slurmconf.NodeSet, map[string]string, uint64, error) {
	list, hpas := &v1beta1.NodeSetList{}, &autoscalingv2.HorizontalPodAutoscalerList{}
	err := errors.Join(r.Client.List(ctx, list, client.InNamespace(c.Namespace)),
		r.Client.List(ctx, hpas, client.InNamespace(c.Namespace)))
	if err != nil {
		return nil, nil, 0, fmt.Errorf("listing NodeSets and HorizontalPodAutoscalers: %w", err)
	}
	kubeNodes := &corev1.NodeList{}
	if scaling.HasWorkersOnKubeNodes(list.Items) {
		if err := r.Client.List(ctx, kubeNodes); err != nil {
			return nil, nil, 0, fmt.Errorf("listing Kubernetes nodes: %w", err)
		}
	}
	leftOut, err := r.leftOut(ctx, c, list.Items, hpas.Items, kubeNodes.Items, files)
	if err != nil {
		return nil, nil, 0, err
	}
	slices.SortFunc(list.Items, func(a, b v1beta1.NodeSet) int { return strings.Compare(a.Name, b.Name) })
	var out []slurmconf.NodeSet
	var workers uint64
	for i := range list.Items {
		n := &list.Items[i]
		if key, _ := refs.ClusterKeyOf(n); key.Kind != v1beta1.KindController || key.Name != c.Name {
			continue
		}
		if leftOut[n.Name] != "" {
			continue
		}
		workers += scaling.MaxWorkers(n, hpas.Items)
		s := slurmconf.NodeSet{Name: n.Name, HasSSH: n.Spec.HasSSH(), GRES: shape.GRESOfNodeSet(n)}
		if p := n.Spec.Partition; p != nil {
			s.HasPartition, s.PartitionOptions = p.Enabled, p.Config
		}
		out = append(out, s)
	}
	return out, leftOut, workers, nil
}

// leftOut returns why NodeSets are left out of slurm.conf, by name. Those that it lists stay.
func (r *Reconciler) leftOut(ctx context.Context, c *v1beta1.Controller, nodeSets []v1beta1.NodeSet,
	hpas []autoscalingv2.HorizontalPodAutoscaler, kubeNodes []corev1.Node, files map[string]string) (map[string]string, error) {
	assigned := scaling.AssignNames(c, nodeSets, hpas, kubeNodes, files)
	if len(assigned.LeftOut) == 0 {
		return nil, nil
	}
	config, err := r.readConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	files = podspec.MergeMaps(files, map[string]string{"slurm.conf": config["slurm.conf"]})
	return scaling.AssignNames(c, nodeSets, hpas, kubeNodes, files).LeftOut, nil
}
