package render

import "testing"

func TestWithoutSystemd(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"limits alone", "ConstrainCores=yes\n", "IgnoreSystemd=yes\nConstrainCores=yes\n"},
		{"an empty file", "", "IgnoreSystemd=yes\n"},
		{"a comment", "# IgnoreSystemd=yes\n", "IgnoreSystemd=yes\n# IgnoreSystemd=yes\n"},
		{"without systemd", "ignoresystemd=yes\n", "ignoresystemd=yes\n"},
		{"systemd if there is one", "IgnoreSystemdOnFailure=yes\n", "IgnoreSystemd=yes\nIgnoreSystemdOnFailure=yes\n"},
		{"with systemd", "IgnoreSystemd=no\n", "IgnoreSystemd=no\n"},
		{"a plugin", "CgroupPlugin=cgroup/v2\n", "IgnoreSystemd=yes\nCgroupPlugin=cgroup/v2\n"},
		{"no cgroups", "CgroupPlugin=Disabled\n", "CgroupPlugin=Disabled\n"},
		{"cgroups without systemd", "CgroupPlugin=cgroup/v1\n", "CgroupPlugin=cgroup/v1\n"},
		{"another file", "Include site.conf\n", "Include site.conf\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := withoutSystemd(tc.text); got != tc.want {
				t.Errorf("withoutSystemd(%q) = %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}
