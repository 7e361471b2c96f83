package doctor

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// checkExternalHosts finds external daemons at addresses that cannot be reached from pods.
func checkExternalHosts(observed *Observed) []Finding {
	var out []Finding
	check := func(on Object, external bool, at *v1beta1.ExternalConfig) {
		if !external || at == nil {
			return
		}
		problem := ""
		switch {
		case isLoopback(at.Host):
			problem = "is the pod that connects to it"
		case observed.Read[Services] && !strings.ContainsAny(at.Host, ".:") &&
			observed.findService(on.Namespace, at.Host) == nil:
			problem = "is a name without a domain, and no Service in the namespace has it"
		default:
			return
		}
		out = append(out, newFinding(HostUnreachable, on, "spec.externalConfig.host %s %s", at.Host, problem).
			withCure("set spec.externalConfig.host to an IP address or a full name that pods resolve"))
	}
	for i := range observed.Controllers {
		c := &observed.Controllers[i]
		check(Object{v1beta1.KindController, c.Namespace, c.Name}, c.Spec.External, c.Spec.ExternalConfig)
	}
	for i := range observed.Accountings {
		a := &observed.Accountings[i]
		check(Object{v1beta1.KindAccounting, a.Namespace, a.Name}, a.Spec.External, a.Spec.ExternalConfig)
	}
	return out
}

// isLoopback reports whether a host is the machine that connects to it.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && (address.IsLoopback() || address.IsUnspecified()) || strings.EqualFold(host, "localhost")
}

// findService returns a Service, or nil if there is none.
func (observed *Observed) findService(namespace, name string) *corev1.Service {
	i := slices.IndexFunc(observed.Services,
		func(s corev1.Service) bool { return s.Namespace == namespace && s.Name == name })
	if i < 0 {
		return nil
	}
	return &observed.Services[i]
}

// outwardDaemon is a daemon in pods that hosts outside may use.
type outwardDaemon struct {
	on Object
	// program is its name, address is spec.address, and service its Service.
	program, address string
	service          *corev1.Service
	// hasNodes says that slurm.conf gives the addresses of nodes.
	hasNodes bool
}

// outwardDaemons returns the daemons that a Service of type NodePort or LoadBalancer, or spec.address, opens to
// hosts outside. Daemons whose Services are not there yet are left out.
func (observed *Observed) outwardDaemons() []outwardDaemon {
	var out []outwardDaemon
	add := func(d outwardDaemon) {
		if d.service != nil && (d.address != "" || isOutward(d.service)) {
			out = append(out, d)
		}
	}
	for i := range observed.Controllers {
		c := &observed.Controllers[i]
		hasNodes := slices.ContainsFunc(slurmconf.ParseSettings(c.Spec.ExtraConf), func(s slurmconf.Setting) bool {
			return strings.EqualFold(s.Name, "NodeName") && strings.Contains(strings.ToLower(s.Text), "nodeaddr=")
		})
		if !c.Spec.External {
			add(outwardDaemon{Object{v1beta1.KindController, c.Namespace, c.Name}, "slurmctld", c.Spec.Address,
				observed.findService(c.Namespace, names.ControllerService(c.Name)), hasNodes})
		}
	}
	for i := range observed.Accountings {
		a := &observed.Accountings[i]
		if !a.Spec.External {
			add(outwardDaemon{Object{v1beta1.KindAccounting, a.Namespace, a.Name}, "slurmdbd", a.Spec.Address,
				observed.findService(a.Namespace, names.AccountingService(a.Name)), false})
		}
	}
	return out
}

func isOutward(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// checkSourceAddresses finds Services that hide the address of the host that connects.
func checkSourceAddresses(observed *Observed) []Finding {
	var out []Finding
	for _, d := range observed.outwardDaemons() {
		if !isOutward(d.service) || d.hasNodes ||
			d.service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
			continue
		}
		effect := "slurmctld takes the address of a Kubernetes node for that of a dynamic node outside"
		cure := "set spec.service.spec.externalTrafficPolicy to Local"
		if d.program == "slurmdbd" {
			effect = "slurmdbd takes the address of a Kubernetes node for that of a slurmctld outside"
		} else {
			cure += ", or name each node outside with its NodeAddr in spec.extraConf"
		}
		out = append(out, newFinding(SourceAddressLost, d.on, "its Service %s has externalTrafficPolicy Cluster: %s, "+
			"and cannot connect to it", d.service.Name, effect).withCure("%s", cure))
	}
	return out
}

// checkOutwardAddresses finds daemons that hosts outside look for at a wrong address or port.
func checkOutwardAddresses(observed *Observed) []Finding {
	var out []Finding
	for _, d := range observed.outwardDaemons() {
		s := d.service
		for _, p := range s.Spec.Ports {
			if s.Spec.Type == corev1.ServiceTypeNodePort && p.NodePort != p.Port {
				out = append(out, newFinding(PortDiffers, d.on, "slurm.conf has port %d of its Service %s, and hosts "+
					"outside reach it at port %d of the Kubernetes nodes", p.Port, s.Name, p.NodePort).
					withCure("set spec.service.port and spec.service.nodePort to the same number"))
			}
		}
		if d.address == "" {
			continue
		}
		problem := ""
		_, err := netip.ParseAddr(d.address)
		switch given := addressesOf(s); {
		case s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(given) == 0:
			problem = "no load balancer has given an address to its Service " + s.Name
		case s.Spec.Type == corev1.ServiceTypeLoadBalancer && err == nil && !slices.Contains(given, d.address):
			problem = fmt.Sprintf("its Service %s has the address %s", s.Name, strings.Join(given, ", "))
		case !isOutward(s) && len(s.Spec.ExternalIPs) == 0:
			problem = fmt.Sprintf("its Service %s has the type %s, which nothing outside reaches", s.Name,
				cmp.Or(s.Spec.Type, corev1.ServiceTypeClusterIP))
		default:
			continue
		}
		out = append(out, newFinding(AddressNotServed, d.on, "slurm.conf has spec.address %s, but %s", d.address, problem).
			withCure("make spec.address the one at which spec.service is reached from inside and outside").
			withCommand("kubectl -n %s get service %s", d.on.Namespace, s.Name))
	}
	return out
}

// addressesOf returns the addresses that a load balancer has given to a Service.
func addressesOf(s *corev1.Service) []string {
	var out []string
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if at := cmp.Or(ingress.IP, ingress.Hostname); at != "" {
			out = append(out, at)
		}
	}
	return out
}

// checkHostNetworkDNS finds pods with the network of their Kubernetes node that do not resolve the name of
// slurmctld's Service.
func checkHostNetworkDNS(observed *Observed) []Finding {
	var out []Finding
	check := func(on Object, controller string, template v1beta1.PodTemplate) {
		pod, err := template.Spec.PodSpec()
		inside := slices.ContainsFunc(observed.Controllers, func(c v1beta1.Controller) bool {
			return c.Namespace == on.Namespace && c.Name == controller && !c.Spec.External
		})
		ofHost := pod.DNSPolicy == corev1.DNSDefault || pod.DNSPolicy == corev1.DNSClusterFirst
		if err != nil || !pod.HostNetwork || !inside || !ofHost {
			return
		}
		out = append(out, newFinding(ServiceUnresolved, on, "with hostNetwork and dnsPolicy %s its pods do not resolve "+
			"the Service of Controller %s", pod.DNSPolicy, controller).
			withCure("remove dnsPolicy from spec.template.spec, or set it to ClusterFirstWithHostNet"))
	}
	for i := range observed.NodeSets {
		n := &observed.NodeSets[i]
		if n.Spec.ControllerRef != nil {
			check(nodeSetObject(n), n.Spec.ControllerRef.Name, n.Spec.Template)
		}
	}
	for i := range observed.LoginSets {
		l := &observed.LoginSets[i]
		check(Object{v1beta1.KindLoginSet, l.Namespace, l.Name}, l.Spec.ControllerRef.Name, l.Spec.Template)
	}
	for i := range observed.RestAPIs {
		r := &observed.RestAPIs[i]
		check(Object{v1beta1.KindRestApi, r.Namespace, r.Name}, r.Spec.ControllerRef.Name, r.Spec.Template)
	}
	return out
}
