package charts

// right is a permission that a chart's roles grant its program.
type right struct {
	chart, resource, verbs string
	// user is the file whose code needs the right, and code a fragment of that code.
	user, code string
	reason     string
}

// programRights returns all rights of the programs, each with the code that needs it and the
// reason. A new right needs an entry here. docs/reference/rights.md is generated from it.
func programRights() []right {
	const operator, metrics = "slurm-operator", "slurm-metrics"
	const slinky = ".slinky.slurm.net"
	return []right{
		{operator, "nodesets" + slinky, "list,watch", "operator/nodeset/setup.go", "For(&v1beta1.NodeSet{}", "follows NodeSets"},
		{operator, "nodesets" + slinky, "get", "operator/nodeset/ownership.go", "r.uncached.Get(", "reads a NodeSet from the API server before it adopts workers"},
		{operator, "nodesets" + slinky, "patch", "operator/nodeset/finalizer.go", "r.client.Patch(", "sets and removes the finalizer that drains before deletion"},
		{operator, "nodesets/status" + slinky, "patch", "operator/nodeset/status_patch.go", "Status().Patch(", "writes status"},
		{operator, "nodesets/scale" + slinky, "update", "operator/wakeup/apply.go", `SubResource("scale").Update(`, "wakes NodeSets from zero"},
		{operator, "nodesets/finalizers" + slinky, "update", "operator/nodeset/render/labels.go", "NewControllerRef", "sets owner references that block the deletion of a NodeSet (OwnerReferencesPermissionEnforcement)"},
		{operator, "tokens/finalizers" + slinky, "update", "operator/token/plan.go", "NewControllerRef", "sets owner references that block the deletion of a Token (OwnerReferencesPermissionEnforcement)"},
		{operator, "clusters" + slinky, "list,watch", "operator/live/setup.go", "For(&v1beta1.Cluster{}", "finds slurmrestd"},
		{operator, "controllers" + slinky, "list,watch", "operator/live/setup.go", "For(&v1beta1.Controller{}", "finds slurmrestd"},
		{operator, "restapis" + slinky, "list,watch", "operator/live/setup.go", "Watches(&v1beta1.RestApi{}", "finds slurmrestd"},
		{operator, "accountings" + slinky, "list,watch", "operator/unreconciled/reconciler.go", "&v1beta1.Accounting{}", "reports that nothing reconciles them yet"},
		{operator, "loginsets" + slinky, "list,watch", "operator/unreconciled/reconciler.go", "&v1beta1.LoginSet{}", "reports that nothing reconciles them yet"},
		{operator, "accountings/status" + slinky, "patch", "operator/unreconciled/reconciler.go", "Status().Patch(", "reports that nothing reconciles them yet"},
		{operator, "controllers/status" + slinky, "patch", "operator/unreconciled/reconciler.go", "Status().Patch(", "reports that nothing reconciles them yet"},
		{operator, "loginsets/status" + slinky, "patch", "operator/unreconciled/reconciler.go", "Status().Patch(", "reports that nothing reconciles them yet"},
		{operator, "restapis/status" + slinky, "patch", "operator/unreconciled/reconciler.go", "Status().Patch(", "reports that nothing reconciles them yet"},
		{operator, "tokens" + slinky, "list,watch", "operator/token/setup.go", "For(&v1beta1.Token{}", "follows Tokens"},
		{operator, "clusters/status" + slinky, "patch", "operator/cluster/reconciler.go", "Status().Patch(", "writes status"},
		{operator, "tokens/status" + slinky, "patch", "operator/token/reconciler.go", "Status().Patch(", "writes status"},
		{operator, "namespaces", "get", "operator/nodeset/ownership.go", "r.uncached.Get(ctx, types.NamespacedName{Name: s.nodeSet.Namespace}", "reads the UID of a NodeSet's namespace, which owns its workers"},
		{operator, "pods", "list,watch", "operator/nodeset/setup.go", "Watches(&corev1.Pod{}", "follows workers"},
		{operator, "pods", "get", "operator/nodeset/children.go", "r.uncached.Get(", "checks who owns a pod whose name is taken"},
		{operator, "pods", "create", "operator/nodeset/children.go", "r.client.Create(ctx, pod", "creates workers"},
		{operator, "pods", "patch", "operator/nodeset/apply.go", "r.client.Patch(", "records on workers why they drain, and protects them from eviction"},
		{operator, "pods", "delete", "operator/nodeset/apply.go", "r.client.Delete(ctx, pod", "deletes drained workers"},
		{operator, "pods/status", "patch", "operator/nodeset/pod_conditions.go", "Status().Patch(", "reports Slurm's states as pod conditions"},
		{operator, "pods/exec", "get,create", "operator/live/scontrol_exec.go", `SubResource("exec")`, "runs scontrol in slurmctld's pods if slurmrestd does not serve v0.0.45; only in rbac.execNamespaces"},
		{operator, "persistentvolumeclaims", "list,watch", "operator/nodeset/claim_retention.go", "PersistentVolumeClaimList", "follows claims of workers"},
		{operator, "persistentvolumeclaims", "create", "operator/nodeset/children.go", "r.client.Create(ctx, claim", "creates claims of workers"},
		{operator, "persistentvolumeclaims", "patch", "operator/nodeset/claim_retention.go", "OwnerReferences", "sets the owners of claims according to whenDeleted"},
		{operator, "persistentvolumeclaims", "delete", "operator/nodeset/claim_retention.go", "r.client.Delete(ctx, claim", "deletes claims according to persistentVolumeClaimRetentionPolicy"},
		{operator, "services", "list,watch,create", "operator/nodeset/children.go", "&corev1.Service{}", "creates the workers' Service"},
		{operator, "poddisruptionbudgets.policy", "list,watch,create", "operator/nodeset/children.go", "&policyv1.PodDisruptionBudget{}", "creates the budget that protects busy workers"},
		{operator, "poddisruptionbudgets.policy", "patch", "operator/nodeset/children.go", "PodDisruptionBudget{}", "corrects a budget that lets busy workers be evicted"},
		{operator, "controllerrevisions.apps", "list,watch", "operator/nodeset/setup.go", "Owns(&appsv1.ControllerRevision{})", "follows revisions"},
		{operator, "controllerrevisions.apps", "create", "operator/nodeset/revisions.go", "r.client.Create(", "records revisions"},
		{operator, "controllerrevisions.apps", "patch", "operator/nodeset/revisions.go", "r.client.Patch(", "records the ordinals of a revision"},
		{operator, "controllerrevisions.apps", "delete", "operator/nodeset/revisions.go", "r.client.Delete(", "prunes revisions"},
		{operator, "horizontalpodautoscalers.autoscaling", "list,watch", "operator/wakeup/setup.go", "HorizontalPodAutoscaler{}", "reads the maximum and whether the HPA is inactive"},
		{operator, "nodesets" + slinky + "/slurm_nodeset_required_nodes.custom.metrics.k8s.io", "get", "operator/wakeup/custom_metrics.go", "slurm_nodeset_required_nodes", "reads the demand of NodeSets at zero"},
		{operator, "events.events.k8s.io", "create,patch", "cmd/slurm-operator/manager.go", "GetEventRecorder", "records events"},
		{operator, "secrets", "get", "operator/api/access/secret_reader.go", "Secrets(r.Namespace).Get(", "reads tokens, keys and certificates that objects reference, and its own certificate; only in rbac.secretNamespaces, or by name"},
		{operator, "configmaps", "get", "operator/api/access/secret_reader.go", "ConfigMaps(r.Namespace).Get(", "reads CA bundles that Clusters reference; only in rbac.secretNamespaces"},
		{operator, "secrets", "create,patch,delete", "operator/token/reconciler.go", "r.client.Create(", "manages the Secrets of Tokens; only in the namespaces listed in rbac.secretNamespaces. A program that may create and read Secrets of a namespace can act as any of its ServiceAccounts"},
		{operator, "secrets", "update", "operator/api/certs/secret_store.go", "secrets.Update(", "stores its certificate in one Secret, by name"},
		{operator, "nodes", "list,watch", "operator/nodeset/setup.go", "Watches(&corev1.Node{}", "follows cordons, topology and features"},
		{operator, "nodes", "patch", "operator/nodeset/cordon.go", "r.client.Patch(", "cordons Kubernetes nodes; only with rbac.cordonKubeNodes"},
		{operator, "tokenreviews.authentication.k8s.io", "create", "cmd/slurm-operator/manager.go", "WithAuthenticationAndAuthorization", "authenticates scrapers; only with metrics.secure"},
		{operator, "subjectaccessreviews.authorization.k8s.io", "create", "cmd/slurm-operator/manager.go", "WithAuthenticationAndAuthorization", "authorizes scrapers; only with metrics.secure"},
		{operator, "validatingwebhookconfigurations.admissionregistration.k8s.io", "get,update", "operator/admission/announcer.go", "a.Client.Update(", "publishes the CA of its webhooks, by name"},
		{operator, "customresourcedefinitions.apiextensions.k8s.io", "get,update", "operator/admission/announcer.go", "a.Client.Update(", "enables v1alpha1 in two definitions, by name"},
		{operator, "leases.coordination.k8s.io", "get,create,update", "cmd/slurm-operator/manager.go", "LeaderElection:", "elects a leader, in its namespace"},
		{operator, "events", "create,patch", "cmd/slurm-operator/manager.go", "LeaderElection:", "records leader election events, in its namespace"},

		{metrics, "nodesets" + slinky, "list,watch", "metricsapi/clusters/watch.go", "nodesets", "finds pools of nodes"},
		{metrics, "controllers" + slinky, "list,watch", "metricsapi/clusters/watch.go", "controllers", "finds clusters"},
		{metrics, "clusters" + slinky, "list,watch", "metricsapi/clusters/watch.go", "clusters", "finds clusters"},
		{metrics, "restapis" + slinky, "list,watch", "metricsapi/clusters/watch.go", "restapis", "finds slurmrestd"},
		{metrics, "horizontalpodautoscalers.autoscaling", "list,watch", "metricsapi/clusters/watch.go", "horizontalpodautoscalers", "reads the maximum of NodeSets"},
		{metrics, "namespaces", "list,watch", "metricsapi/clusters/watch.go", `Resource: "namespaces"`, "serves metrics of namespaces"},
		{metrics, "secrets", "get", "operator/api/access/secret_reader.go", "Secrets(r.Namespace).Get(", "reads tokens, keys and certificates that objects reference, and its own certificate; only in rbac.secretNamespaces, or by name"},
		{metrics, "configmaps", "get", "operator/api/access/secret_reader.go", "ConfigMaps(r.Namespace).Get(", "reads CA bundles that Clusters reference; only in rbac.secretNamespaces"},
		{metrics, "secrets", "update", "operator/api/certs/secret_store.go", "secrets.Update(", "stores its certificate in one Secret, by name"},
		{metrics, "apiservices.apiregistration.k8s.io", "get,patch", "operator/api/certs/apiservice_announcer.go", "services.Patch(", "publishes the CA of its certificate, by name"},
	}
}
