package refs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestAddressesOfIPv6: people write an IPv6 address with brackets, as in a URL, or without.
func TestAddressesOfIPv6(t *testing.T) {
	for _, host := range []string{"fd00::5", "[fd00::5]"} {
		outside := &v1beta1.Controller{}
		outside.Spec.External, outside.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: host}
		inside := &v1beta1.Controller{}
		inside.Name, inside.Spec.Address = "slurm", host
		cluster := &v1beta1.Cluster{}
		cluster.Spec.Slurmctld, cluster.Spec.SlurmKeyRef = &v1beta1.SlurmctldAddress{Host: host}, &corev1.SecretKeySelector{}
		database := &v1beta1.Accounting{}
		database.Spec.External, database.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: host}
		for what, got := range map[string][2]string{
			"--conf-server":                       {ConfServers(outside), "[fd00::5]:6817"},
			"--conf-server of a Cluster":          {ClusterSlurmctld(cluster).ConfServers(), "[fd00::5]:6817"},
			"SlurmctldHost":                       {SlurmctldHosts(inside)[0], "slurm-controller-0(fd00::5)"},
			"SlurmctldHost of one outside":        {SlurmctldHosts(outside)[0], "fd00::5"},
			"AccountingStorageHost of a slurmdbd": {AccountingSlurmdbd(database).Host, "fd00::5"},
		} {
			if got[0] != got[1] {
				t.Errorf("with %s, %s is %s, not %s", host, what, got[0], got[1])
			}
		}
	}
}
