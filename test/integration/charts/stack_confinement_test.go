//go:build e2e

package charts

import (
	"strings"
	"testing"
)

// TestTaskCgroupNeedsCgroups: slurmd ends with task/cgroup where cgroup.conf switches cgroups off.
func TestTaskCgroupNeedsCgroups(t *testing.T) {
	const off = `slurm.configFiles.cgroup\.conf=CgroupPlugin=disabled`
	const refusal = "set slurm.controller.extraConfMap.TaskPlugin=task/none"
	for _, tc := range []struct {
		name   string
		values []string
		want   string
	}{
		{"the default", nil, ""},
		{"no cgroups", []string{off}, refusal},
		{"no cgroups, in other letters", []string{`slurm.configFiles.cgroup\.conf=ConstrainCores=no` + "\n" + ` cgroupplugin = "Disabled"`}, refusal},
		{"no cgroups, and no task/cgroup", []string{off, "slurm.controller.extraConfMap.TaskPlugin=task/none"}, ""},
		{"no cgroups, and other options", []string{off, "slurm.controller.extraConf=TaskPlugin=task/none"}, ""},
		{"no cgroups, and an option in other letters", []string{off, "slurm.controller.extraConfMap.taskplugin=task/cgroup"}, refusal},
		{"no cgroups, and a slurmctld outside", []string{off, "slurm.controller.external=true", "slurm.controller.externalConfig.host=ctl"}, ""},
		{"workers that may not use cgroups", []string{"slurm.nodesetDefaults.securityProfile=Unprivileged"}, refusal},
		{"one NodeSet that may not use cgroups", []string{"slurm.nodesets.cpu.securityProfile=Unprivileged"}, refusal},
		{"workers that may not use cgroups, and no task/cgroup", []string{"slurm.nodesetDefaults.securityProfile=Unprivileged",
			"slurm.controller.extraConfMap.TaskPlugin=task/none"}, ""},
		{"a privileged NodeSet beside these defaults", []string{"slurm.nodesetDefaults.securityProfile=Unprivileged",
			"slurm.nodesets.cpu.securityProfile=Privileged"}, ""},
		{"another cluster's cgroups", []string{off, "install.cluster=false"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var args []string
			for _, value := range tc.values {
				args = append(args, setValues(value)...)
			}
			_, err := renderChart(t, "slurm-stack", args...)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the error does not contain %q: %v", tc.want, err)
			}
		})
	}
}
