package doctor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func newController(change func(*v1beta1.ControllerSpec)) v1beta1.Controller {
	c := v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "slurm"}}
	change(&c.Spec)
	return c
}

func newService(name string, kind corev1.ServiceType, change func(*corev1.Service)) corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name}}
	s.Spec.Type, s.Spec.Ports = kind, []corev1.ServicePort{{Port: 30817, NodePort: 30817}}
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	change(&s)
	return s
}

// openOutward gives the observations a slurmctld in pods behind a Service.
func openOutward(s *Observed, kind corev1.ServiceType, change func(*v1beta1.ControllerSpec, *corev1.Service)) {
	c := newController(func(*v1beta1.ControllerSpec) {})
	service := newService("slurm-controller", kind, func(*corev1.Service) {})
	change(&c.Spec, &service)
	s.Controllers, s.Services, s.Read[Services] = []v1beta1.Controller{c}, []corev1.Service{service}, true
}

func externalAt(host string) func(*v1beta1.ControllerSpec) {
	return func(s *v1beta1.ControllerSpec) {
		s.External, s.ExternalConfig = true, &v1beta1.ExternalConfig{Host: host, Port: 6817}
	}
}

func statusWith(ip string) corev1.ServiceStatus {
	return corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: ip}}}}
}

// brokenHybridCases are faults of clusters with daemons inside and outside of pods.
func brokenHybridCases() []brokenCase {
	one := func(c Code) []Code { return []Code{c} }
	at := func(host string) func(*Observed) {
		return func(s *Observed) {
			s.Read[Services] = true
			s.Controllers = []v1beta1.Controller{newController(externalAt(host))}
		}
	}
	outward := func(kind corev1.ServiceType, change func(*v1beta1.ControllerSpec, *corev1.Service)) func(*Observed) {
		return func(s *Observed) { openOutward(s, kind, change) }
	}
	pods := v1beta1.PodTemplate{Spec: v1beta1.Raw{Raw: []byte(`{"hostNetwork":true,"dnsPolicy":"Default"}`)}}
	inside := func(s *Observed) {
		s.Controllers = []v1beta1.Controller{newController(func(*v1beta1.ControllerSpec) {})}
	}
	ref := corev1.LocalObjectReference{Name: "slurm"}
	return []brokenCase{
		{"an external slurmctld at a full name", at("ctl.example.com"), nil},
		{"an external slurmctld at an address", at("fd00::1"), nil},
		{"an external slurmctld on this host", at("localhost"), one(HostUnreachable)},
		{"an external slurmctld at a loopback address", at("127.0.0.1"), one(HostUnreachable)},
		{"an external slurmctld at a name without a domain", at("ctl"), one(HostUnreachable)},
		{"a name without a domain that a Service has", func(s *Observed) {
			at("ctl")(s)
			s.Services = []corev1.Service{newService("ctl", corev1.ServiceTypeExternalName, func(*corev1.Service) {})}
		}, nil},
		{"Services that could not be read", func(s *Observed) { at("ctl")(s); s.Read[Services] = false }, nil},
		{"an external slurmdbd on this host", func(s *Observed) {
			a := v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "slurm"}}
			a.Spec.External, a.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "::1", Port: 6819}
			s.Accountings = []v1beta1.Accounting{a}
		}, one(HostUnreachable)},
		{"a load balancer with the address of slurm.conf", outward(corev1.ServiceTypeLoadBalancer,
			func(c *v1beta1.ControllerSpec, s *corev1.Service) {
				c.Address, s.Status = "192.0.2.1", statusWith("192.0.2.1")
			}), nil},
		{"a load balancer with a name", outward(corev1.ServiceTypeLoadBalancer,
			func(c *v1beta1.ControllerSpec, s *corev1.Service) {
				c.Address, s.Status = "ctl.example.com", statusWith("192.0.2.1")
			}),
			nil},
		{"a load balancer with another address", outward(corev1.ServiceTypeLoadBalancer,
			func(c *v1beta1.ControllerSpec, s *corev1.Service) {
				c.Address, s.Status = "192.0.2.1", statusWith("192.0.2.2")
			}),
			one(AddressNotServed)},
		{"a load balancer without an address", outward(corev1.ServiceTypeLoadBalancer,
			func(c *v1beta1.ControllerSpec, _ *corev1.Service) { c.Address = "192.0.2.1" }), one(AddressNotServed)},
		{"an address without a way in", outward(corev1.ServiceTypeClusterIP,
			func(c *v1beta1.ControllerSpec, _ *corev1.Service) { c.Address = "192.0.2.1" }), one(AddressNotServed)},
		{"a NodePort", outward(corev1.ServiceTypeNodePort, func(*v1beta1.ControllerSpec, *corev1.Service) {}), nil},
		{"a NodePort that is not slurmctld's port", outward(corev1.ServiceTypeNodePort,
			func(_ *v1beta1.ControllerSpec, s *corev1.Service) { s.Spec.Ports[0].Port = 6817 }), one(PortDiffers)},
		{"a NodePort that hides addresses", outward(corev1.ServiceTypeNodePort,
			func(_ *v1beta1.ControllerSpec, s *corev1.Service) { s.Spec.ExternalTrafficPolicy = "Cluster" }),
			one(SourceAddressLost)},
		{"a NodePort that hides addresses, which slurm.conf has", outward(corev1.ServiceTypeNodePort,
			func(c *v1beta1.ControllerSpec, s *corev1.Service) {
				c.ExtraConf, s.Spec.ExternalTrafficPolicy = "nodename=n1 NodeAddr=192.0.2.7", "Cluster"
			}), nil},
		{"a slurmdbd that does not see addresses", func(s *Observed) {
			s.Accountings = []v1beta1.Accounting{{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "slurm"}}}
			s.Services = []corev1.Service{newService("slurm-accounting", corev1.ServiceTypeLoadBalancer,
				func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = "Cluster" })}
		}, one(SourceAddressLost)},
		{"a Service that is not there yet", func(s *Observed) {
			s.Controllers = []v1beta1.Controller{newController(func(c *v1beta1.ControllerSpec) { c.Address = "192.0.2.1" })}
		}, nil},
		{"workers with the DNS of their host", func(s *Observed) {
			inside(s)
			s.NodeSets[0].Spec.ControllerRef, s.NodeSets[0].Spec.ClusterRef, s.NodeSets[0].Spec.Template = &ref, nil, pods
		}, one(ServiceUnresolved)},
		{"workers with the DNS of their host and slurmctld outside", func(s *Observed) {
			at("192.0.2.1")(s)
			s.NodeSets[0].Spec.ControllerRef, s.NodeSets[0].Spec.ClusterRef, s.NodeSets[0].Spec.Template = &ref, nil, pods
		}, nil},
		{"login pods and a slurmrestd with the DNS of their host", func(s *Observed) {
			inside(s)
			s.LoginSets = []v1beta1.LoginSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "login"},
				Spec: v1beta1.LoginSetSpec{ControllerRef: ref, Template: pods}}}
			s.RestAPIs = []v1beta1.RestApi{{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "rest"},
				Spec: v1beta1.RestApiSpec{ControllerRef: ref, Template: pods}}}
		}, []Code{ServiceUnresolved, ServiceUnresolved}},
		{"login pods with the default DNS", func(s *Observed) {
			inside(s)
			s.LoginSets = []v1beta1.LoginSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "login"},
				Spec: v1beta1.LoginSetSpec{ControllerRef: ref, Template: v1beta1.PodTemplate{
					Spec: v1beta1.Raw{Raw: []byte(`{"hostNetwork":true}`)}}}}}
		}, nil},
	}
}

func TestOutwardDaemonsOutsideAreNobodysService(t *testing.T) {
	observed := newHealthy()
	openOutward(observed, corev1.ServiceTypeNodePort, func(c *v1beta1.ControllerSpec, s *corev1.Service) {
		externalAt("ctl.example.com")(c)
		s.Spec.ExternalTrafficPolicy = "Cluster"
	})
	if got := observed.outwardDaemons(); len(got) != 0 {
		t.Errorf("they are %+v", got)
	}
}
