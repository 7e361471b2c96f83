package doctor

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// stepCommand matches commands that make slurmd connect to the socket of every step.
var stepCommand = regexp.MustCompile(`\bscontrol\b[^;|&\n]*\b(sho?w?\s+slurmd|listpids)\b|\bsstat\b`)

// hook is a command of a container that the kubelet runs.
type hook struct {
	container, field string
	// path is the path of the hook in the NodeSet, for a JSON patch.
	path string
	exec *corev1.ExecAction
}

// listsSteps returns the part of the command that lists steps, empty if there is none.
func (h hook) listsSteps() string {
	return strings.TrimSpace(stepCommand.FindString(strings.Join(h.exec.Command, " ")))
}

// harmOfListing describes the effect of a command that lists steps.
const harmOfListing = "which makes slurmd connect to every step: a job that has just begun may lose its script and " +
	"fail with exit code 2"

// checkProbes finds probes and hooks of NodeSets that list steps. slurmd then connects to each
// step, takes a batch step that does not listen yet for a stray one, and deletes its script.
func checkProbes(observed *Observed) []Finding {
	var out []Finding
	for i := range observed.NodeSets {
		n := &observed.NodeSets[i]
		for _, h := range hooksOf(n) {
			command := h.listsSteps()
			if command == "" {
				continue
			}
			out = append(out, newFinding(ProbeListsSteps, nodeSetObject(n), "%s of container %s runs %q, %s", h.field,
				h.container, command, harmOfListing).
				withCure("%s", cureOfHook(h)).
				withCommand("kubectl -n %s patch nodesets.slinky.slurm.net %s --type=json -p %s", n.Namespace, n.Name,
					quoteShell(fmt.Sprintf(`[{"op":"remove","path":%q}]`, h.path))))
		}
	}
	return out
}

func cureOfHook(h hook) string {
	if strings.HasSuffix(h.field, "Probe") {
		return "remove the probe, so that slurm-operator sets its own, or use tcpSocket with slurmd's port, 6818"
	}
	return "remove the command from the hook: slurm-operator drains workers before it stops them"
}

// hooksOf lists the commands of a NodeSet's containers. It skips invalid containers, which the
// operator reports.
func hooksOf(n *v1beta1.NodeSet) []hook {
	var out []hook
	if slurmd, err := n.Spec.Slurmd.Container(); err == nil {
		slurmd.Name = "slurmd"
		out = append(out, hooksOfContainer(slurmd, "/spec/slurmd")...)
	}
	spec, err := n.Spec.Template.Spec.PodSpec()
	if err != nil {
		return out
	}
	for i, c := range spec.InitContainers {
		out = append(out, hooksOfContainer(c, fmt.Sprintf("/spec/template/spec/initContainers/%d", i))...)
	}
	for i, c := range spec.Containers {
		out = append(out, hooksOfContainer(c, fmt.Sprintf("/spec/template/spec/containers/%d", i))...)
	}
	return out
}

func hooksOfContainer(c corev1.Container, path string) []hook {
	var out []hook
	add := func(field string, exec *corev1.ExecAction) {
		if exec != nil {
			out = append(out, hook{c.Name, strings.ReplaceAll(field, "/", "."), path + "/" + field, exec})
		}
	}
	for _, p := range []struct {
		field string
		probe *corev1.Probe
	}{{"startupProbe", c.StartupProbe}, {"readinessProbe", c.ReadinessProbe}, {"livenessProbe", c.LivenessProbe}} {
		if p.probe != nil {
			add(p.field, p.probe.Exec)
		}
	}
	if l := c.Lifecycle; l != nil {
		for _, h := range []struct {
			field   string
			handler *corev1.LifecycleHandler
		}{{"lifecycle/postStart", l.PostStart}, {"lifecycle/preStop", l.PreStop}} {
			if h.handler != nil {
				add(h.field, h.handler.Exec)
			}
		}
	}
	return out
}
