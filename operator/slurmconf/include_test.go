package slurmconf

import (
	"strings"
	"testing"
)

// TestIncludes: an included file must be known, and must not set options that extraConf must not set.
func TestIncludes(t *testing.T) {
	files := map[string]string{"ok.conf": "MailDomain=x\n", "port.conf": "\nslurmctld\\Port+=1\n",
		"nested.conf": "Include port.conf", "list.conf": "SlurmctldParameters=x", "loop.conf": "include loop.conf"}
	for _, tc := range []struct{ name, extra, want string }{
		{"a file of the user", "Include ok.conf", ""},
		{"its path", "Include /etc/slurm/../slurm/ok.conf", ""},
		{"a reserved option in it", "Include port.conf", "port.conf, line 2 must not set slurmctldPort"},
		{"one in a file that it includes", "Include nested.conf", "port.conf, line 2 must not set slurmctldPort"},
		{"a list of the operator in it", "Include list.conf", "list.conf, line 1 must not set SlurmctldParameters"},
		{"a key", "Include slurm.key", "must not include slurm.key"},
		{"a key by its path", "Inc\\\nlude\t./slurm.key x", "must not include ./slurm.key"},
		{"a file elsewhere", "Include /opt/site.conf", "must not include /opt/site.conf"},
		{"a file with a pattern of its name", "Include %c.conf", "must not include %c.conf"},
		{"a file that includes itself", "Include loop.conf", "loop.conf is included twice"},
		{"the same file twice", "Include ok.conf\nInclude ok.conf", "ok.conf is included twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := newSlurmConf(func(c *SlurmConf) { c.Extra, c.ExtraFiles = tc.extra, files }).Render()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Render(%q) = %v, want %q", tc.extra, err, tc.want)
			}
		})
	}
	if _, err := (SlurmdbdConf{Host: "d", Port: 1, StorageHost: "s", StoragePort: 1, Database: "d",
		Extra: "Include slurm.key"}).Render(); err == nil {
		t.Error("slurmdbd.conf includes a key")
	}
}

// TestHiddenReservedOptions: an option is found however Slurm lets it be written.
func TestHiddenReservedOptions(t *testing.T) {
	for _, extra := range []string{"StateSaveLocation+=/x", "StateSaveLocation -=/x", "State\\\nSaveLocation=/x",
		"MailDomain=a\nState\\ \t\nSaveLocation=/x", "State\\SaveLocation=/x", "StateSaveLocation\\=/x"} {
		_, err := newSlurmConf(func(c *SlurmConf) { c.Extra = extra }).Render()
		if err == nil || !strings.Contains(err.Error(), "must not set StateSaveLocation") {
			t.Errorf("Render(%q) = %v, want a refusal", extra, err)
		}
	}
	text, err := newSlurmConf(func(c *SlurmConf) { c.Extra = "SlurmctldParameters+=x" }).Render()
	if err != nil || !strings.Contains(text, "SlurmctldParameters=enable_configless,x\n") {
		t.Errorf("the list of both is lost: %v\n%s", err, text)
	}
}

func TestResolveIncludes(t *testing.T) {
	files := map[string]string{"a.conf": "TreeWidth=1 # narrow\nInclude b.conf\n", "b.conf": "SlurmctldAddr=10.0.0.1\n"}
	const want = "ClusterName=c\nTreeWidth=1\nSlurmctldAddr=10.0.0.1\nInclude /opt/x.conf\n"
	if got := ResolveIncludes(files, "ClusterName=\\\nc\n\nInclude a.conf\nInclude /opt/x.conf\n"); got != want {
		t.Errorf("the lines are %q, want %q", got, want)
	}
}
