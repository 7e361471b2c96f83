package configagent

import (
	"strings"
	"testing"
)

func TestCheckScripts(t *testing.T) {
	files := Files{}
	for name, text := range map[string]string{"good.sh": "#!/bin/sh\n", "program": "\x7fELF\r\n", "windows.sh": "#!/bin/sh\r\n",
		"mixed.sh": "#!/bin/sh\nexit 0\r\n", "plain.sh": "echo\n", "empty.sh": "", "more.conf": "Epilog=plain.sh\n",
		"bom.sh": "\xef\xbb\xbf#!/bin/sh\n"} {
		files[name] = File{[]byte(text), 0o555}
	}
	for _, tc := range []struct{ conf, want string }{
		{"Prolog=good.sh\nEpilog=/etc/slurm/program\nHealthCheckProgram=good.sh -x", ""},
		{"Prolog=/opt/plain.sh\nTaskProlog=missing.sh", ""},
		{"\nProlog=windows.sh", "slurm.conf, line 2: Prolog=windows.sh: windows.sh has the line ends of Windows"},
		{"Epilog=mixed.sh", "mixed.sh has the line ends of Windows"},
		{"PrologSlurmctld=plain.sh", "plain.sh does not begin with #!"},
		{"RebootProgram=/etc/slurm/empty.sh", "empty.sh does not begin with #!"},
		{"TaskProlog=bom.sh", "bom.sh does not begin with #!"},
		{"Include more.conf", "Epilog=plain.sh: plain.sh does not begin with #!"},
		{"Prolog=good.sh,plain.sh", "plain.sh does not begin"},
		{"Prolog=*in*.sh", "plain.sh does not begin"},
		{"HealthCheckProgram=plain.sh -x", "plain.sh does not begin"},
	} {
		files["slurm.conf"] = File{[]byte(tc.conf), 0o555}
		err := checkScripts(files)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("of %q the error is %v, want %q", tc.conf, err, tc.want)
		}
	}
}
