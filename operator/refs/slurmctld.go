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
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// Address is the address of a daemon. Its JSON is part of the hash of workers' revisions.
type Address struct {
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// String returns "host:port", an IPv6 address in brackets.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))) }

// removeBrackets returns a host without the brackets of an IPv6 address in URLs. Slurm accepts no brackets in slurm.conf, and
// String adds its own.
func removeBrackets(host string) string {
	inner, ok := strings.CutPrefix(host, "[")
	if inner, closed := strings.CutSuffix(inner, "]"); ok && closed {
		return inner
	}
	return host
}

// Slurmctld has what workers need to join a cluster: the addresses of its slurmctlds, and the key that all daemons share.
type Slurmctld struct {
	Address Address
	// Each has the address of each slurmctld, the primary first, if several exist. It is empty for a single one.
	Each []Address
	Key  corev1.SecretKeySelector
	// Problem names what is missing. The other fields are meaningless then.
	Problem string
}

// ControllerSlurmctld returns the slurmctld of a Controller, inside or outside Kubernetes.
func ControllerSlurmctld(c *v1beta1.Controller) Slurmctld {
	if c.Spec.SlurmKeyRef == nil {
		return Slurmctld{Problem: fmt.Sprintf("Controller %s has no slurmKeyRef, which workers need", c.Name)}
	}
	out := LocateSlurmctld(c)
	out.Key = *c.Spec.SlurmKeyRef
	return out
}

// LocateSlurmctld returns the slurmctld of a Controller without its key, because clients with their own token do not need the
// key.
func LocateSlurmctld(c *v1beta1.Controller) Slurmctld {
	if c.Spec.External && c.Spec.ExternalConfig != nil {
		return Slurmctld{Address: Address{Host: removeBrackets(c.Spec.ExternalConfig.Host),
			Port: cmp.Or(int32(c.Spec.ExternalConfig.Port), names.SlurmctldPort)}}
	}
	out := Slurmctld{Address: Address{Host: names.ControllerService(c.Name) + "." + c.Namespace,
		Port: cmp.Or(int32(c.Spec.Service.Port), names.SlurmctldPort)}}
	if replicas := ControllerReplicas(c); replicas > 1 {
		for i := range replicas {
			out.Each = append(out.Each, Address{names.ControllerPodService(c.Name, i) + "." + c.Namespace, out.Address.Port})
		}
	}
	return out
}

// SlurmctldHosts returns the values of SlurmctldHost for the slurmctlds of a Controller, the primary
// first: the name of each host with its address in parentheses.
//
// Each job step resolves every host and waits ten seconds for a missing one (docs/development/slurm.md, "Two slurmctlds"). So
// the address is a Service, which also exists while the pod does not. The Service of all also leads to the backups, which
// refuse requests, so each of several slurmctlds has its own Service. spec.address replaces the name of a single Service.
func SlurmctldHosts(c *v1beta1.Controller) []string {
	slurmctld := LocateSlurmctld(c)
	if c.Spec.External {
		return []string{slurmctld.Address.Host}
	}
	if len(slurmctld.Each) == 0 {
		return []string{fmt.Sprintf("%s(%s)", names.ControllerPod(c.Name, 0), SlurmctldAddr(c))}
	}
	var out []string
	for i, address := range slurmctld.Each {
		out = append(out, fmt.Sprintf("%s(%s)", names.ControllerPod(c.Name, i), address.Host))
	}
	return out
}

// SlurmctldAddr returns the value of SlurmctldAddr for a Controller with one slurmctld in Kubernetes, and an empty string for
// any other. Hosts outside also find slurmctld there, unless it is the name of its Service.
func SlurmctldAddr(c *v1beta1.Controller) string {
	if c.Spec.External || ControllerReplicas(c) > 1 {
		return ""
	}
	return cmp.Or(removeBrackets(c.Spec.Address), LocateSlurmctld(c).Address.Host)
}

// ConfServers returns the value of --conf-server for the slurmctlds of a Controller.
func ConfServers(c *v1beta1.Controller) string { return LocateSlurmctld(c).ConfServers() }

// ConfServers returns the value of --conf-server, where daemons without a configuration request one. It names each of several
// slurmctlds, because a backup hands out none while another one is active.
func (s Slurmctld) ConfServers() string {
	if len(s.Each) == 0 {
		return s.Address.String()
	}
	var out []string
	for _, address := range s.Each {
		out = append(out, address.String())
	}
	return strings.Join(out, ",")
}

// ControllerReplicas returns the number of a Controller's slurmctlds.
func ControllerReplicas(c *v1beta1.Controller) int {
	if ha := c.Spec.HA; ha != nil && ha.Enabled {
		return 1 + int(max(ha.Backups, 1))
	}
	return 1
}

// SlurmUser returns the uid of SlurmUser in the pods of a Controller: slurmctld's.
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
	return podspec.SlurmID, nil
}

// ClusterSlurmctld returns the slurmctld of a Cluster.
func ClusterSlurmctld(c *v1beta1.Cluster) Slurmctld {
	switch {
	case c.Spec.Slurmctld == nil:
		return Slurmctld{Problem: fmt.Sprintf("Cluster %s has no slurmctld, which workers join", c.Name)}
	case c.Spec.SlurmKeyRef == nil:
		return Slurmctld{Problem: fmt.Sprintf("Cluster %s has no slurmKeyRef, which workers need", c.Name)}
	}
	return Slurmctld{Key: *c.Spec.SlurmKeyRef, Address: Address{Host: removeBrackets(c.Spec.Slurmctld.Host),
		Port: cmp.Or(c.Spec.Slurmctld.Port, names.SlurmctldPort)}}
}
