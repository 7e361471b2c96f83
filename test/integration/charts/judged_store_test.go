//go:build e2e

package charts

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/accounting"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/controller"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/loginset"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/restapi"
	"github.com/slurmtide/slurmtide/operator/wakeup"
)

// judgedStore has the objects of a chart, the objects that they refer to, and a Slurm for each Controller.
type judgedStore struct {
	*kubetest.Store
	t      *testing.T
	given  map[string]bool
	slurms map[string]*nodesettest.FakeSlurm
	now    time.Time
}

// newJudgedStore returns a store in which every NodeSet has a replica and a Kubernetes node that its workers select.
func newJudgedStore(t *testing.T, owners []client.Object) *judgedStore {
	t.Helper()
	s := &judgedStore{t: t, given: map[string]bool{}, slurms: map[string]*nodesettest.FakeSlurm{}, now: nodesettest.Noon}
	all := append(slices.Clone(owners), missingReferences(owners)...)
	all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "uid-team"}})
	for _, o := range owners {
		n, isNodeSet := o.(*v1beta1.NodeSet)
		if !isNodeSet {
			continue
		}
		if n.Spec.Replicas == nil || *n.Spec.Replicas == 0 {
			n.Spec.Replicas = new(int32(1))
		}
		all = append(all, kubeNodeFor(n))
	}
	for _, o := range all {
		s.given[kindOf(o)+" "+o.GetName()] = true
	}
	s.Store = kubetest.NewIndexedStore(t, func(ctx context.Context, i client.FieldIndexer) error {
		return errors.Join(nodeset.AddIndexes(ctx, i), wakeup.IndexByNodeSet(ctx, i))
	}, all...)
	return s
}

// kubeNodeFor returns a Kubernetes node that the workers of a NodeSet select.
func kubeNodeFor(n *v1beta1.NodeSet) *corev1.Node {
	return nodesettest.NewKubeNode("kube-"+n.Name, func(k *corev1.Node) {
		k.Labels[corev1.LabelOSStable] = "linux"
		if spec, err := n.Spec.Template.Spec.PodSpec(); err == nil {
			maps.Copy(k.Labels, spec.NodeSelector)
		}
	})
}

// slurmOf returns the Slurm of a Controller, which was just read.
func (s *judgedStore) slurmOf(name string) *nodesettest.FakeSlurm {
	if s.slurms[name] == nil {
		s.slurms[name] = nodesettest.NewFakeSlurm(func() time.Time { return s.now })
	}
	s.slurms[name].Poll()
	return s.slurms[name]
}

// newReconciler returns the operator's reconciler of an object with its recorder, and nil for other kinds.
func (s *judgedStore) newReconciler(o client.Object) (*events.FakeRecorder, reconcile.Reconciler) {
	readAgent := func(context.Context, string) (configagent.Status, error) {
		return configagent.Status{}, errors.New("there are no pods")
	}
	recorder, now := events.NewFakeRecorder(1000), func() time.Time { return s.now }
	switch o.(type) {
	case *v1beta1.Controller:
		return recorder, controller.New(s, s, readAgent, recorder, now, controller.Config{Image: "slurmctld:1", AgentImage: "agent:1"})
	case *v1beta1.Accounting:
		return recorder, accounting.New(s, s, readAgent, recorder, now, accounting.Config{Image: "slurmdbd:1", AgentImage: "agent:1"})
	case *v1beta1.RestApi:
		return recorder, restapi.New(s, s, recorder, now, restapi.Config{Image: "slurmrestd:1", AgentImage: "agent:1"})
	case *v1beta1.LoginSet:
		return recorder, loginset.New(s, s, readAgent, recorder, now, loginset.Config{Image: "login:1", AgentImage: "agent:1"})
	case *v1beta1.NodeSet:
		cfg := nodeset.DefaultConfig()
		cfg.Image, cfg.AgentImage, cfg.Parallel = "slurmd:1", "agent:1", 1
		slurmOf := func(key refs.ClusterKey) reading.SlurmCluster { return s.slurmOf(key.Name) }
		return recorder, nodeset.New(s, s, slurmOf, recorder, nodeset.NewMetrics(prometheus.NewRegistry()), now, cfg)
	}
	return nil, nil
}

// reconcile reconciles an object as often as it takes to mark it, to create its records and its workers, and to see these register.
func (s *judgedStore) reconcile(j *judgement, o client.Object, reconciler reconcile.Reconciler) {
	s.t.Helper()
	for range 4 {
		s.now = s.now.Add(10 * time.Second)
		if _, err := reconciler.Reconcile(s.t.Context(), kubetest.Request(o.GetName())); err != nil {
			j.complain(o, "%v", err)
			return
		}
		if n, isNodeSet := o.(*v1beta1.NodeSet); isNodeSet {
			s.registerWorkers(n)
		}
	}
}

// registerWorkers registers the Slurm nodes of a NodeSet's workers.
func (s *judgedStore) registerWorkers(n *v1beta1.NodeSet) {
	s.t.Helper()
	pods := &corev1.PodList{}
	if err := s.List(s.t.Context(), pods); err != nil {
		s.t.Fatal(err)
	}
	key, _ := refs.ClusterKeyOf(n)
	for i := range pods.Items {
		if name := observed.SlurmName(&pods.Items[i]); name != "" && isOwnedBy(&pods.Items[i], n) {
			s.slurmOf(key.Name).Nodes[name] = nodesettest.NewSlurmNode(name, "IDLE")
		}
	}
}

// collect adds the objects that the operator created, the configurations and the records.
func (s *judgedStore) collect(j *judgement) {
	s.t.Helper()
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{},
		&corev1.PersistentVolumeClaimList{}, &corev1.PodList{}, &appsv1.StatefulSetList{}, &appsv1.DeploymentList{},
		&policyv1.PodDisruptionBudgetList{}} {
		if err := s.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // the function never fails
			o, isObject := item.(client.Object)
			if !isObject || s.given[kindOf(o)+" "+o.GetName()] {
				return nil
			}
			j.created = append(j.created, o)
			if config, isConfig := o.(*corev1.ConfigMap); isConfig {
				if controller := controllerOf(config); controller != "" {
					j.configs[controller] = config.Data
				}
			}
			return nil
		})
	}
	for controller, slurm := range s.slurms {
		j.records[controller] = map[string]string{}
		for _, call := range slurm.Calls {
			if names, options, isCreate := strings.Cut(strings.TrimPrefix(call, "create "), " "); isCreate && strings.HasPrefix(call, "create ") {
				j.records[controller][names] = options
			}
		}
	}
}

// controllerOf returns the Controller whose slurmctld has the configuration in a ConfigMap, or "".
func controllerOf(config *corev1.ConfigMap) string {
	for _, owner := range config.OwnerReferences {
		if owner.Kind == v1beta1.KindController && config.Name == names.ControllerConfigMap(owner.Name) {
			return owner.Name
		}
	}
	return ""
}

// kindOf returns the kind of an object, which a list does not name.
func kindOf(o client.Object) string {
	kinds, _, err := knownScheme().ObjectKinds(o)
	if err != nil || len(kinds) == 0 {
		return ""
	}
	return kinds[0].Kind
}

// conditionsOf returns the conditions of an object of the operator.
func conditionsOf(o client.Object) *[]metav1.Condition {
	if holder, ok := o.(interface{ ConditionsOf() *[]metav1.Condition }); ok {
		return holder.ConditionsOf()
	}
	return &[]metav1.Condition{}
}

// readObjects returns the operator's objects and the objects that they refer to, each with a UID. NodeSets come last, since the other
// objects create what they need.
func readObjects(t *testing.T, text string) []client.Object {
	t.Helper()
	var out []client.Object
	for i, o := range decodeObjects(t, text) {
		switch o := o.(type) {
		case *v1beta1.Controller, *v1beta1.Accounting, *v1beta1.RestApi, *v1beta1.LoginSet, *v1beta1.NodeSet, *corev1.ConfigMap,
			*autoscalingv2.HorizontalPodAutoscaler:
			object, _ := o.(client.Object)
			object.SetUID(types.UID("uid-" + strconv.Itoa(i)))
			object.SetGeneration(1)
			out = append(out, object)
		case *corev1.Secret:
			o.Data = map[string][]byte{}
			for key, value := range o.StringData {
				o.Data[key] = []byte(value)
			}
			o.StringData = nil
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b client.Object) int { return orderOf(a) - orderOf(b) })
	return out
}

// orderOf returns when an object is reconciled.
func orderOf(o client.Object) int {
	switch o.(type) {
	case *v1beta1.Accounting:
		return 0
	case *v1beta1.NodeSet:
		return 2
	}
	return 1
}
