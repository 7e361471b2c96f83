//go:build e2e

package cluster

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestStackOfIPFamilies installs the stack where pods and Services have addresses of IPv6, alone or after those of IPv4, with each release of
// Slurm. A job of a user of the directory runs on a worker that its HPA creates, which ends again. It runs with -long.
func TestStackOfIPFamilies(t *testing.T) {
	for _, family := range []string{"ipv6", "dual"} {
		for _, version := range versions {
			t.Run(family+"/"+version, func(t *testing.T) {
				s := startStackOn(t, version, realkube.Config{IPFamily: family})
				s.runStack("install", valuesOfRelease(version)...)
				s.awaitReady()
				s.testJobFromZero()
				address := s.kubectl("get", "service", "slurm-controller", "-o", "jsonpath={.spec.clusterIPs}")
				if isIPv6 := strings.Contains(address, "::"); isIPv6 != (family == "ipv6") {
					t.Errorf("the Service of slurmctld has the addresses %s", address)
				}
				s.runHelm("uninstall", "slurm", "--wait", "--timeout", "3m")
			})
		}
	}
}
