package names

import "github.com/slurmtide/slurmtide/operator/api/v1beta1"

// ControllerService returns the name of the Service of a Controller's slurmctld.
func ControllerService(controller string) string { return controller + "-controller" }

// RestAPIService returns the name of the Service of a RestApi's slurmrestd.
func RestAPIService(restAPI string) string { return restAPI + "-restapi" }

// WorkerService returns the name of the Service of all workers of a cluster.
func WorkerService(cluster string) string { return "slurm-workers-" + cluster }

// WorkerBudget returns the name of the disruption budget of all workers of a cluster.
func WorkerBudget(cluster string) string { return "slurm-workers-pdb-" + cluster }

// TokenSecret returns the name of a Token's Secret: that of spec.secretRef, or one made of the names
// of the Token and its user.
func TokenSecret(t *v1beta1.Token) string {
	if r := t.Spec.SecretRef; r != nil && r.Name != "" {
		return r.Name
	}
	return t.Name + "-jwt-" + t.Spec.Username
}
