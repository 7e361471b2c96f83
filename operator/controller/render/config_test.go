package render

import "testing"

func TestWithoutSystemd(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"limits alone", "ConstrainCores=yes\n", "IgnoreSystemdOnFailure=yes\nConstrainCores=yes\n"},
		{"an empty file", "", "IgnoreSystemdOnFailure=yes\n"},
		{"a comment", "# IgnoreSystemd=yes\n", "IgnoreSystemdOnFailure=yes\n# IgnoreSystemd=yes\n"},
		{"without systemd", "ignoresystemd=yes\n", "ignoresystemd=yes\n"},
		{"systemd or nothing", "IgnoreSystemdOnFailure=no\n", "IgnoreSystemdOnFailure=no\n"},
		{"a plugin", "CgroupPlugin=cgroup/v2\n", "IgnoreSystemdOnFailure=yes\nCgroupPlugin=cgroup/v2\n"},
		{"no cgroups", "CgroupPlugin=Disabled\n", "CgroupPlugin=Disabled\n"},
		{"another file", "Include site.conf\n", "Include site.conf\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := withoutSystemd(tc.text); got != tc.want {
				t.Errorf("withoutSystemd(%q) = %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}
