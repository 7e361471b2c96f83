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
