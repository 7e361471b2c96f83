package refs

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// Address is the address of a daemon. Its JSON is part of the hash of workers' revisions.
type Address struct {
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// String returns "host:port", an IPv6 address in brackets.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))) }

// Slurmctld says how workers join a cluster: where its slurmctld is, and the key that all daemons share.
type Slurmctld struct {
	Address Address
	Key     corev1.SecretKeySelector
	// Problem says what is missing. The other fields are meaningless then.
	Problem string
}

// ControllerSlurmctld returns the slurmctld of a Controller, inside or outside Kubernetes.
func ControllerSlurmctld(c *v1beta1.Controller) Slurmctld {
	if c.Spec.SlurmKeyRef == nil {
		return Slurmctld{Problem: fmt.Sprintf("Controller %s has no slurmKeyRef, which workers need", c.Name)}
	}
	at := Address{Host: names.ControllerService(c.Name) + "." + c.Namespace,
		Port: cmp.Or(int32(c.Spec.Service.Port), names.SlurmctldPort)}
	if c.Spec.External && c.Spec.ExternalConfig != nil {
		at = Address{Host: c.Spec.ExternalConfig.Host,
			Port: cmp.Or(int32(c.Spec.ExternalConfig.Port), names.SlurmctldPort)}
	}
	return Slurmctld{Address: at, Key: *c.Spec.SlurmKeyRef}
}

// SlurmctldHosts returns the values of SlurmctldHost for the slurmctlds of a Controller, the primary
// first: the name of each host with its address in parentheses.
//
// Each job step resolves every host and waits ten seconds for one that does not exist
// (docs/development/slurm.md, "Two slurmctlds"). A single slurmctld has the address of its Service, which
// always exists. Behind that of several there are the backups too, which refuse what they are asked, so
// each of them has its own.
func SlurmctldHosts(c *v1beta1.Controller) []string {
	address := ControllerSlurmctld(c).Address
	if c.Spec.External {
		return []string{address.Host}
	}
	replicas := ControllerReplicas(c)
	if replicas == 1 {
		return []string{fmt.Sprintf("%s(%s)", names.ControllerPod(c.Name, 0), address.Host)}
	}
	var out []string
	for i := range replicas {
		out = append(out, fmt.Sprintf("%s(%s)", names.ControllerPod(c.Name, i), controllerPodHost(c, i)))
	}
	return out
}

// ControllerReplicas returns how many slurmctlds a Controller has.
func ControllerReplicas(c *v1beta1.Controller) int {
	if ha := c.Spec.HA; ha != nil && ha.Enabled {
		return 1 + int(max(ha.Backups, 1))
	}
	return 1
}

// DefaultSlurmUser is the number of the user and the group slurm, unless the Controller's pods say another
// one. It must be the same in every image of a cluster: slurmd and sackd refuse the requests of a slurmctld whose
// SlurmUser has another number.
const DefaultSlurmUser = 401

// SlurmUser returns the number of SlurmUser in the pods of a Controller: that of its slurmctld.
func SlurmUser(c *v1beta1.Controller) (int64, error) {
	container, err := c.Spec.Slurmctld.Container()
	if err != nil {
		return 0, v1beta1.InField("spec.slurmctld", err)
	}
	if s := container.SecurityContext; s != nil && s.RunAsUser != nil {
		return *s.RunAsUser, nil
	}
	pod, err := c.Spec.Template.Spec.PodSpec()
	if err != nil {
		return 0, v1beta1.InField("spec.template.spec", err)
	}
	if s := pod.SecurityContext; s != nil && s.RunAsUser != nil {
		return *s.RunAsUser, nil
	}
	return DefaultSlurmUser, nil
}

// ConfServers returns the value of --conf-server, at which daemons without a configuration find the
// slurmctlds of a Controller: all have one port.
func ConfServers(c *v1beta1.Controller) string {
	address := ControllerSlurmctld(c).Address
	replicas := ControllerReplicas(c)
	if c.Spec.External || replicas == 1 {
		return address.String()
	}
	var out []string
	for i := range replicas {
		out = append(out, Address{Host: controllerPodHost(c, i), Port: address.Port}.String())
	}
	return strings.Join(out, ",")
}

// controllerPodHost returns the DNS name of one of a Controller's pods.
func controllerPodHost(c *v1beta1.Controller, ordinal int) string {
	return fmt.Sprintf("%s.%s.%s", names.ControllerPod(c.Name, ordinal), names.ControllerInternalService(c.Name),
		c.Namespace)
}

// ClusterSlurmctld returns the slurmctld of a Cluster.
func ClusterSlurmctld(c *v1beta1.Cluster) Slurmctld {
	switch {
	case c.Spec.Slurmctld == nil:
		return Slurmctld{Problem: fmt.Sprintf("Cluster %s has no slurmctld, which workers join", c.Name)}
	case c.Spec.SlurmKeyRef == nil:
		return Slurmctld{Problem: fmt.Sprintf("Cluster %s has no slurmKeyRef, which workers need", c.Name)}
	}
	return Slurmctld{Key: *c.Spec.SlurmKeyRef, Address: Address{Host: c.Spec.Slurmctld.Host,
		Port: cmp.Or(c.Spec.Slurmctld.Port, names.SlurmctldPort)}}
}
