//go:build e2e

package cluster

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestStackOfIPFamilies installs the stack where pods and Services have IPv6 addresses, alone or after IPv4 addresses, with each release of
// Slurm. A job of a directory user runs on a worker that its HPA creates and later removes. It runs with -long.
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
