package names

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SlurmClusterName returns Slurm's ClusterName of a Controller.
func SlurmClusterName(c *v1beta1.Controller) string {
	return cmp.Or(c.Spec.ClusterName, c.Namespace+"_"+c.Name)
}

// ControllerService returns the name of the Service of a Controller's slurmctld.
func ControllerService(controller string) string { return controller + "-controller" }

// ControllerInternalService returns the name of the headless Service that gives each of a Controller's slurmctlds its own
// name.
func ControllerInternalService(controller string) string { return controller + "-controller-internal" }

// ControllerStatefulSet returns the name of the StatefulSet of a Controller's slurmctlds.
func ControllerStatefulSet(controller string) string { return controller + "-controller" }

// ControllerPod returns the name, also the hostname, of a Controller's pod. The primary has ordinal 0.
func ControllerPod(controller string, ordinal int) string {
	return ControllerStatefulSet(controller) + "-" + strconv.Itoa(ordinal)
}

// ControllerPodService returns the name of the Service of one of several slurmctlds of a Controller.
func ControllerPodService(controller string, ordinal int) string {
	return ControllerPod(controller, ordinal)
}

// ControllerConfigMap returns the name of the ConfigMap with a Controller's configuration files.
func ControllerConfigMap(controller string) string { return controller + "-config" }

// AccountingService returns the name of the Service of an Accounting's slurmdbd.
func AccountingService(accounting string) string { return accounting + "-accounting" }

// AccountingStatefulSet returns the name of the StatefulSet of an Accounting's slurmdbd.
func AccountingStatefulSet(accounting string) string { return accounting + "-accounting" }

// AccountingPod returns the name, also the hostname, of the pod of an Accounting's slurmdbd.
func AccountingPod(accounting string) string { return AccountingStatefulSet(accounting) + "-0" }

// AccountingConfigMap returns the name of the ConfigMap with an Accounting's configuration files.
func AccountingConfigMap(accounting string) string { return accounting + "-accounting-config" }

// RestAPIService returns the name of the Service of a RestApi's slurmrestd.
func RestAPIService(restAPI string) string { return restAPI + "-restapi" }

// RestAPIDeployment returns the name of the Deployment of a RestApi's slurmrestd.
func RestAPIDeployment(restAPI string) string { return restAPI + "-restapi" }

// RestAPIConfigMap returns the name of the ConfigMap with the slurm.conf of a RestApi's slurmrestd.
func RestAPIConfigMap(restAPI string) string { return restAPI + "-restapi-config" }

// KeySetSecret returns the name of the Secret with the key set that replaces a slurm.key once it has been rotated. All
// objects that refer to the same key share it.
func KeySetSecret(secret, key string) string { return secret + "-keys-" + hashKeyName(key) }

// JWTKeysSecret returns the name of the Secret with the keys of auth/jwt that follow a key once it has been rotated.
func JWTKeysSecret(secret, key string) string { return secret + "-jwt-keys-" + hashKeyName(key) }

// hashKeyName returns a part of names of objects for a key of a Secret. A Secret may have several keys, and their names
// are no names of objects.
func hashKeyName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:3])
}

// keySecret matches the names of Secrets with keys that the operator makes: KeySetSecret, JWTKeysSecret, LoginHostKeys and
// WorkerHostKeys.
var keySecret = regexp.MustCompile(`-(keys-[0-9a-f]{6}|ssh-host-keys)$`)

// IsKeySecret reports whether a Secret of this name is, or will be, one with keys that the operator makes.
func IsKeySecret(name string) bool { return keySecret.MatchString(name) }

// LoginService returns the name of the Service of a LoginSet's login pods.
func LoginService(loginSet string) string { return loginSet }

// LoginDeployment returns the name of the Deployment of a LoginSet's login pods.
func LoginDeployment(loginSet string) string { return loginSet }

// LoginConfigMap returns the name of the ConfigMap with the files of a LoginSet's login pods.
func LoginConfigMap(loginSet string) string { return loginSet + "-ssh-config" }

// LoginHostKeys returns the name of the Secret with the host keys of a LoginSet's sshd.
func LoginHostKeys(loginSet string) string { return loginSet + "-ssh-host-keys" }

// LookupPod returns the name of the pod that looks up the release of Slurm in an image of an object's daemon.
func LookupPod(object, daemon, image string) string {
	sum := sha256.Sum256([]byte(image))
	return object + "-" + daemon + "-release-" + hex.EncodeToString(sum[:4])
}

// WorkerService returns the name of the Service of all workers of a cluster.
func WorkerService(cluster string) string { return "slurm-workers-" + cluster }

// WorkerHostKeys returns the name of the Secret with the host keys of the sshd in a NodeSet's workers.
func WorkerHostKeys(nodeSet string) string { return nodeSet + "-ssh-host-keys" }

// WorkerBudget returns the name of the disruption budget of all workers of a cluster.
func WorkerBudget(cluster string) string { return "slurm-workers-pdb-" + cluster }

// ServiceDomain returns the DNS domain of the pods of a headless Service. clusterDomain is the domain of
// Kubernetes; empty is "cluster.local".
func ServiceDomain(service, namespace, clusterDomain string) string {
	return service + "." + namespace + ".svc." + cmp.Or(clusterDomain, "cluster.local")
}

// TokenSecret returns the name of a Token's Secret: spec.secretRef's, or one made of the names of the Token and its user.
func TokenSecret(t *v1beta1.Token) string {
	if r := t.Spec.SecretRef; r != nil && r.Name != "" {
		return r.Name
	}
	return t.Name + "-jwt-" + t.Spec.Username
}

// TokenSecretKey returns the key of a Token's Secret that holds the token.
func TokenSecretKey(t *v1beta1.Token) string {
	if r := t.Spec.SecretRef; r != nil && r.Key != "" {
		return r.Key
	}
	return "SLURM_JWT"
}
