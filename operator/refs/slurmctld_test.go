package refs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestSlurmctld(t *testing.T) {
	key := newKeySelector("keys", "slurm.key")
	controller := func(spec v1beta1.ControllerSpec) Slurmctld {
		return ControllerSlurmctld(&v1beta1.Controller{ObjectMeta: objectMeta("team", "blue"), Spec: spec})
	}
	cluster := func(spec v1beta1.ClusterSpec) Slurmctld {
		return ClusterSlurmctld(&v1beta1.Cluster{ObjectMeta: objectMeta("team", "red"), Spec: spec})
	}
	for _, tc := range []struct {
		name      string
		got, want Slurmctld
	}{
		{"in Kubernetes", controller(v1beta1.ControllerSpec{SlurmKeyRef: key}),
			Slurmctld{Address: Address{"blue-controller.team", 6817}, Key: *key}},
		{"outside", controller(v1beta1.ControllerSpec{SlurmKeyRef: key, External: true,
			ExternalConfig: &v1beta1.ExternalConfig{Host: "ctl.example.com"}}),
			Slurmctld{Address: Address{"ctl.example.com", 6817}, Key: *key}},
		{"outside on another port", controller(v1beta1.ControllerSpec{SlurmKeyRef: key, External: true,
			ExternalConfig: &v1beta1.ExternalConfig{Host: "ctl.example.com", Port: 7000}}),
			Slurmctld{Address: Address{"ctl.example.com", 7000}, Key: *key}},
		{"with an address for the outside, which the workers need for slurm.conf alone",
			controller(v1beta1.ControllerSpec{SlurmKeyRef: key, Address: "192.0.2.1"}),
			Slurmctld{Address: Address{"blue-controller.team", 6817}, Key: *key}},
		{"with a backup", controller(v1beta1.ControllerSpec{SlurmKeyRef: key, HA: &v1beta1.ControllerHA{Enabled: true}}),
			Slurmctld{Address: Address{"blue-controller.team", 6817}, Key: *key,
				Each: []Address{{"blue-controller-0.team", 6817}, {"blue-controller-1.team", 6817}}}},
		{"a Controller without key", controller(v1beta1.ControllerSpec{}),
			Slurmctld{Problem: "Controller blue has no slurmKeyRef, which workers need"}},
		{"a Cluster", cluster(v1beta1.ClusterSpec{SlurmKeyRef: key,
			Slurmctld: &v1beta1.SlurmctldAddress{Host: "10.0.0.1"}}),
			Slurmctld{Address: Address{"10.0.0.1", 6817}, Key: *key}},
		{"a Cluster without slurmctld", cluster(v1beta1.ClusterSpec{SlurmKeyRef: key}),
			Slurmctld{Problem: "Cluster red has no slurmctld, which workers join"}},
		{"a Cluster without key", cluster(v1beta1.ClusterSpec{Slurmctld: &v1beta1.SlurmctldAddress{Host: "10.0.0.1"}}),
			Slurmctld{Problem: "Cluster red has no slurmKeyRef, which workers need"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := (Address{"fd00::1", 6817}).String(); got != "[fd00::1]:6817" {
		t.Errorf("an IPv6 address is %s", got)
	}
}

func TestSeveralSlurmctldsAreEachNamed(t *testing.T) {
	c := &v1beta1.Controller{ObjectMeta: objectMeta("team", "blue")}
	c.Spec.SlurmKeyRef = newKeySelector("keys", "slurm.key")
	for _, tc := range []struct {
		name             string
		ha               *v1beta1.ControllerHA
		conf, slurmConfs string
	}{
		{"one", nil, "blue-controller.team:6817", "blue-controller-0(blue-controller.team)"},
		{"a primary and a backup", &v1beta1.ControllerHA{Enabled: true},
			"blue-controller-0.team:6817,blue-controller-1.team:6817",
			"blue-controller-0(blue-controller-0.team) blue-controller-1(blue-controller-1.team)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.Spec.HA = tc.ha
			if got := ConfServers(c); got != tc.conf {
				t.Errorf("--conf-server is %s, not %s", got, tc.conf)
			}
			if got := strings.Join(SlurmctldHosts(c), " "); got != tc.slurmConfs {
				t.Errorf("SlurmctldHost is %s, not %s", got, tc.slurmConfs)
			}
		})
	}
}

func TestAddressOfSlurmctld(t *testing.T) {
	for _, tc := range []struct {
		name       string
		spec       v1beta1.ControllerSpec
		host, addr string
	}{
		{"the Service", v1beta1.ControllerSpec{}, "blue-controller-0(blue-controller.team)", "blue-controller.team"},
		{"an address for the outside", v1beta1.ControllerSpec{Address: "192.0.2.1"}, "blue-controller-0(192.0.2.1)",
			"192.0.2.1"},
		{"outside, which needs no other address", v1beta1.ControllerSpec{External: true, Address: "192.0.2.1",
			ExternalConfig: &v1beta1.ExternalConfig{Host: "ctl.example.com"}}, "ctl.example.com", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &v1beta1.Controller{ObjectMeta: objectMeta("team", "blue"), Spec: tc.spec}
			if host := strings.Join(SlurmctldHosts(c), " "); host != tc.host || SlurmctldAddr(c) != tc.addr {
				t.Errorf("SlurmctldHost is %s and SlurmctldAddr %q", host, SlurmctldAddr(c))
			}
		})
	}
}

func TestSlurmUserAndConfServers(t *testing.T) {
	raw := func(text string) v1beta1.Raw { return v1beta1.Raw{Raw: []byte(text)} }
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.ControllerSpec)
		user   int64
		conf   string
	}{
		{"the defaults", func(*v1beta1.ControllerSpec) {}, 401, "blue-controller.team:6817"},
		{"the pod's user", func(s *v1beta1.ControllerSpec) {
			s.Template.Spec = raw(`{"securityContext":{"runAsUser":64030}}`)
		}, 64030, "blue-controller.team:6817"},
		{"the container's user and another port", func(s *v1beta1.ControllerSpec) {
			s.Slurmctld, s.Service.Port = raw(`{"securityContext":{"runAsUser":5}}`), 7000
		}, 5, "blue-controller.team:7000"},
		{"two slurmctlds", func(s *v1beta1.ControllerSpec) { s.HA = &v1beta1.ControllerHA{Enabled: true, Backups: 1} }, 401,
			"blue-controller-0.team:6817,blue-controller-1.team:6817"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &v1beta1.Controller{ObjectMeta: objectMeta("team", "blue"),
				Spec: v1beta1.ControllerSpec{SlurmKeyRef: newKeySelector("keys", "slurm.key")}}
			tc.change(&c.Spec)
			user, err := SlurmUser(c)
			if conf := ConfServers(c); err != nil || user != tc.user || conf != tc.conf {
				t.Errorf("got %d, %s, %v", user, conf, err)
			}
		})
	}
}
