package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// commandOf returns the command that ownCgroupScript runs in a container, or the container's command without the script.
func commandOf(c corev1.Container) []string {
	if before := []string{"sh", "-c", ownCgroupScript, "slurmd"}; len(c.Command) > len(before) &&
		slices.Equal(c.Command[:len(before)], before) {
		return c.Command[len(before):]
	}
	return c.Command
}

func TestShowOwnCgroup(t *testing.T) {
	privileged := &corev1.SecurityContext{Privileged: new(true)}
	slurmd := []string{"slurmd"}
	wrapped := []string{"sh", "-c", ownCgroupScript, "slurmd", "slurmd"}
	for _, tc := range []struct {
		name     string
		share    *bool
		security *corev1.SecurityContext
		command  []string
		want     []string
	}{
		{"a worker as by default", new(true), privileged, slurmd, wrapped},
		{"another program", new(true), privileged, []string{"/opt/slurm/sbin/slurmd"},
			[]string{"sh", "-c", ownCgroupScript, "slurmd", "/opt/slurm/sbin/slurmd"}},
		{"the program of the image", new(true), privileged, nil, nil},
		{"processes of its own", new(false), privileged, slurmd, slurmd},
		{"the processes of the host", nil, privileged, slurmd, slurmd},
		{"without privileges", new(true), &corev1.SecurityContext{Privileged: new(false)}, slurmd, slurmd},
		{"without a word of privileges", new(true), nil, slurmd, slurmd},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := corev1.PodSpec{ShareProcessNamespace: tc.share, Containers: []corev1.Container{
				{Name: ContainerSlurmd, Command: tc.command, SecurityContext: tc.security},
				{Name: "other", Command: slurmd, SecurityContext: privileged}}}
			showOwnCgroup(&pod)
			if diff := cmp.Diff(tc.want, pod.Containers[0].Command); diff != "" {
				t.Errorf("command of slurmd (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slurmd, pod.Containers[1].Command); diff != "" {
				t.Errorf("command of another container (-want +got):\n%s", diff)
			}
		})
	}
}
