package main

import (
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/accounting"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/controller"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/loginset"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/restapi"
	"github.com/slurmtide/slurmtide/operator/rotation"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
)

// setupper is a reconciler that registers itself with the manager.
type setupper interface {
	SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error
}

// rotationLookup returns the lookup of live Slurm clusters for the rotation of keys. slurms is nil if no cluster is read.
func rotationLookup(slurms *slurmclients.Clusters) func(refs.ClusterKey) rotation.SlurmCluster {
	return func(k refs.ClusterKey) rotation.SlurmCluster {
		if slurms == nil {
			return nil
		}
		if s := slurms.For(k); s != nil {
			return s
		}
		return nil
	}
}

// addDaemonReconcilers adds the enabled reconcilers of the kinds that stand for daemons of Slurm. slurms is nil if no cluster is read.
func addDaemonReconcilers(mgr ctrl.Manager, guard kube.Guard, o *options, slurms *slurmclients.Clusters) error {
	c, uncached, recorder := mgr.GetClient(), mgr.GetAPIReader(), newRecorder(mgr)
	usesIPv6 := o.usesIPv6(os.Getenv("POD_IP"))
	agents := configagent.NewStatusReader(agentTimeout)
	if o.isEnabled(controllerReconciler) {
		keys := rotation.New(c, uncached, agents.Read, rotationLookup(slurms), recorder, time.Now, o.daemonNamespaces)
		if err := keys.SetupWithManager(mgr, guard); err != nil {
			return err
		}
	}
	for name, r := range map[string]setupper{
		controllerReconciler: controller.New(c, uncached, agents.Read, recorder, time.Now, controller.Config{
			Namespaces: o.daemonNamespaces, Image: o.slurmctldImage, AgentImage: o.agentImage,
			ClusterDomain: o.nodeSet.ClusterDomain, UsesIPv6: usesIPv6}),
		restAPIReconciler: restapi.New(c, uncached, recorder, time.Now, restapi.Config{
			Namespaces: o.daemonNamespaces, Image: o.slurmrestdImage, AgentImage: o.agentImage, UsesIPv6: usesIPv6}),
		loginSetReconciler: loginset.New(c, uncached, agents.Read, recorder, time.Now, loginset.Config{
			Namespaces: o.daemonNamespaces, Image: o.loginImage, ClusterDomain: o.nodeSet.ClusterDomain,
			AgentImage: o.agentImage}),
		accountingReconciler: accounting.New(c, uncached, agents.Read, recorder, time.Now, accounting.Config{
			Namespaces: o.daemonNamespaces, Image: o.slurmdbdImage, AgentImage: o.agentImage, UsesIPv6: usesIPv6}),
	} {
		if !o.isEnabled(name) {
			continue
		}
		if err := r.SetupWithManager(mgr, guard); err != nil {
			return err
		}
	}
	return nil
}
