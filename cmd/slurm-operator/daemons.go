package main

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/accounting"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/controller"
	"github.com/slurmtide/slurmtide/operator/loginset"
	"github.com/slurmtide/slurmtide/operator/restapi"
	"github.com/slurmtide/slurmtide/operator/rotation"
)

// setupper is a reconciler that registers itself with the manager.
type setupper interface {
	SetupWithManager(mgr ctrl.Manager) error
}

// addDaemonReconcilers adds the enabled reconcilers of the kinds that stand for daemons of Slurm.
func addDaemonReconcilers(mgr ctrl.Manager, o *options) error {
	c, uncached, recorder := mgr.GetClient(), mgr.GetAPIReader(), newRecorder(mgr)
	agents := configagent.NewStatusReader(agentTimeout)
	if o.isEnabled(controllerReconciler) {
		keys := rotation.New(c, uncached, agents.Read, recorder, time.Now, o.daemonNamespaces)
		if err := keys.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	for name, r := range map[string]setupper{
		controllerReconciler: controller.New(c, uncached, agents.Read, recorder, time.Now, controller.Config{
			Namespaces: o.daemonNamespaces, Image: o.slurmctldImage, AgentImage: o.agentImage,
			ClusterDomain: o.nodeSet.ClusterDomain}),
		restAPIReconciler: restapi.New(c, uncached, recorder, time.Now, restapi.Config{
			Namespaces: o.daemonNamespaces, Image: o.slurmrestdImage, AgentImage: o.agentImage}),
		loginSetReconciler: loginset.New(c, uncached, agents.Read, recorder, time.Now, loginset.Config{
			Namespaces: o.daemonNamespaces, Image: o.loginImage, ClusterDomain: o.nodeSet.ClusterDomain,
			AgentImage: o.agentImage}),
		accountingReconciler: accounting.New(c, uncached, agents.Read, recorder, time.Now, accounting.Config{
			Namespaces: o.daemonNamespaces, Image: o.slurmdbdImage, AgentImage: o.agentImage}),
	} {
		if !o.isEnabled(name) {
			continue
		}
		if err := r.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
