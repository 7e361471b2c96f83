package realkube

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Config configures a cluster. The zero value is a stock control plane without nodes.
type Config struct {
	// Kubelet adds a node: containerd, kubelet, kube-proxy and CoreDNS, so that pods run, and a default
	// StorageClass.
	// [MissingNodeRequirement] reports whether a node can run.
	Kubelet bool
	// IPFamily is the family of the addresses of pods and Services with Kubelet: "ipv4" (the default), "ipv6", or "dual".
	IPFamily string
	// Machines adds that many nodes with Kubelet, machine-1 and so on, at most 4. They are virtual machines with cgroup v2 and
	// the label node.kubernetes.io/instance-type=machine and the taint machine:NoSchedule; without virtualization by the processor they are ten times slower.
	Machines int
	// Name is the cluster's name in messages. Empty means "dev".
	Name string
	// APIServerArgs, ControllerManagerArgs and SchedulerArgs are additional
	// arguments at the end of the command lines, as --flag=value; a later flag overrides an
	// earlier one.
	APIServerArgs         []string
	ControllerManagerArgs []string
	SchedulerArgs         []string
	// FeatureGates are set in every program, for example HPAScaleToZero.
	FeatureGates map[string]bool
}

// flags returns the arguments of hack/kube/up.
func (c Config) flags() []string {
	var flags []string
	add := func(name string, values ...string) {
		for _, value := range values {
			flags = append(flags, name, value)
		}
	}
	if c.Name != "" {
		add("--name", c.Name)
	}
	if c.Kubelet {
		flags = append(flags, "--kubelet")
	}
	if c.IPFamily != "" {
		add("--ip-family", c.IPFamily)
	}
	if c.Machines > 0 {
		add("--machines", strconv.Itoa(c.Machines))
	}
	add("--apiserver-arg", c.APIServerArgs...)
	add("--controller-manager-arg", c.ControllerManagerArgs...)
	add("--scheduler-arg", c.SchedulerArgs...)
	for _, gate := range slices.Sorted(maps.Keys(c.FeatureGates)) {
		add("--feature-gate", fmt.Sprintf("%s=%t", gate, c.FeatureGates[gate]))
	}
	return flags
}
