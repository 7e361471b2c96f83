package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/cluster"
	"github.com/slurmtide/slurmtide/operator/controller"
	"github.com/slurmtide/slurmtide/operator/definitions"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/operator/token"
	"github.com/slurmtide/slurmtide/operator/wakeup"
)

// agentTimeout is how long the operator waits for the answer of an agent beside slurmctld or slurmdbd.
const agentTimeout = 3 * time.Second

// newManager returns a manager with its probes but without reconcilers.
func newManager(cfg *rest.Config, o *options, log logr.Logger) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	grace := 10 * time.Second
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                  scheme,
		Logger:                  log,
		Cache:                   o.cache(),
		Client:                  client.Options{Cache: &client.CacheOptions{DisableFor: controller.UncachedObjects()}},
		Metrics:                 o.metrics(),
		HealthProbeBindAddress:  o.healthAddress,
		LeaderElection:          o.leaderElection,
		LeaderElectionID:        "slurm-operator",
		LeaderElectionNamespace: o.leaderNamespace,
		// The process exits with the manager, so the next leader may start at once.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("caches",
		newCachesCheck(mgr.GetCache(), &v1beta1.NodeSet{}, &autoscalingv2.HorizontalPodAutoscaler{}))
}

// addReconcilers adds the enabled reconcilers, their shared parts, and the webhooks.
func addReconcilers(ctx context.Context, mgr ctrl.Manager, o *options) error {
	if o.upgradeDefinitions {
		if err := definitions.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	if err := o.webhook.setup(mgr); err != nil {
		return err
	}
	if err := wakeup.IndexByNodeSet(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	guard, err := addClaims(mgr, o)
	if err != nil {
		return err
	}
	if o.isEnabled(wakeUpReconciler) {
		if err := addWakeUpReconciler(mgr, guard, o); err != nil {
			return err
		}
	}
	if o.isEnabled(tokenReconciler) {
		if err := addTokenReconciler(mgr, guard); err != nil {
			return err
		}
	}
	if !o.isEnabled(nodeSetReconciler) && !o.isEnabled(clusterReconciler) {
		return addDaemonReconcilers(mgr, guard, o, nil)
	}
	slurms, err := o.slurm.newClients(mgr, metrics.Registry)
	if err != nil {
		return err
	}
	if err := addDaemonReconcilers(mgr, guard, o, slurms); err != nil {
		return err
	}
	return addSlurmReconcilers(ctx, mgr, guard, o, slurms)
}

func addTokenReconciler(mgr ctrl.Manager, guard kube.Guard) error {
	kube, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	return token.New(mgr.GetClient(), mgr.GetAPIReader(), access.NewSecretReader(kube), newRecorder(mgr), time.Now).
		SetupWithManager(mgr, guard)
}

func addWakeUpReconciler(mgr ctrl.Manager, guard kube.Guard, o *options) error {
	demand, err := wakeup.NewCustomMetrics(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	return wakeup.New(mgr.GetClient(), demand, newRecorder(mgr), time.Now, o.wakeup).SetupWithManager(mgr, guard)
}

// addSlurmReconcilers adds the reconcilers that talk to Slurm. They share one client per cluster.
func addSlurmReconcilers(ctx context.Context, mgr ctrl.Manager, guard kube.Guard, o *options, slurms *slurmclients.Clusters) error {
	if o.isEnabled(clusterReconciler) {
		if err := cluster.New(mgr.GetClient(), slurms, time.Now).SetupWithManager(mgr, guard); err != nil {
			return err
		}
	}
	if !o.isEnabled(nodeSetReconciler) {
		return nil
	}
	cfg := o.nodeSet
	if o.isEnabled(controllerReconciler) {
		cfg.AgentImage, cfg.ComparesReleases, cfg.DaemonNamespaces = o.agentImage, true, o.daemonNamespaces
	}
	workers := nodeset.New(mgr.GetClient(), mgr.GetAPIReader(), clusterLookup(slurms), newRecorder(mgr),
		nodeset.NewMetrics(metrics.Registry), time.Now, cfg)
	return workers.SetupWithManager(ctx, mgr, guard, slurms.ChangeSource(workers.Requests))
}

func newRecorder(mgr ctrl.Manager) events.EventRecorder {
	return kube.CuttingRecorder{EventRecorder: mgr.GetEventRecorder("slurm-operator")}
}

// clusterLookup returns the lookup of live Slurm clusters for the NodeSet reconciler.
func clusterLookup(slurms *slurmclients.Clusters) func(refs.ClusterKey) reading.SlurmCluster {
	return func(k refs.ClusterKey) reading.SlurmCluster {
		if s := slurms.For(k); s != nil {
			return s
		}
		return nil
	}
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, autoscalingv1.AddToScheme,
		autoscalingv2.AddToScheme, v1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	return scheme, nil
}

func (o *options) cache() cache.Options {
	out := cache.Options{ByObject: nodeset.CacheOptions()}
	maps.Copy(out.ByObject, wakeup.CacheOptions())
	maps.Copy(out.ByObject, kube.CacheOfOwned(o.daemonNamespaces))
	for _, namespace := range o.namespaces {
		if out.DefaultNamespaces == nil {
			out.DefaultNamespaces = map[string]cache.Config{}
		}
		out.DefaultNamespaces[namespace] = cache.Config{}
	}
	return out
}

func (o *options) metrics() metricsserver.Options {
	out := metricsserver.Options{BindAddress: o.metricsAddress}
	if o.metricsSecure {
		out.SecureServing = true
		out.CertDir = o.metricsCertDir
		out.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return out
}

// newCachesCheck returns a check that fails until the objects of all kinds have been listed once.
// The check itself starts the informers, so that replicas without leadership become ready too.
func newCachesCheck(c cache.Cache, kinds ...client.Object) healthz.Checker {
	return func(r *http.Request) error {
		for _, kind := range kinds {
			informer, err := c.GetInformer(r.Context(), kind, cache.BlockUntilSynced(false))
			if err != nil {
				return fmt.Errorf("watching %T: %w", kind, err)
			}
			if !informer.HasSynced() {
				return fmt.Errorf("%T are still being listed", kind)
			}
		}
		return nil
	}
}
