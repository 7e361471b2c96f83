package podspec

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestCheckSlurmdName(t *testing.T) {
	for _, tc := range []struct{ name, command, args, want string }{
		{"the default", "slurmd", "-D -Z -N $(POD_HOSTNAME) --conf-server a:1 --conf $(SLURMD_CONF) -L /var/log/N", ""},
		{"a second name", "slurmd", "-D -Z -N $(POD_HOSTNAME) -N foo", `-N "foo"`},
		{"a name without a space", "slurmd", "-Nfoo", `-N "foo"`},
		{"a name among other options", "slurmd", "-DZNfoo", `-N "foo"`},
		{"a name from another variable", "slurmd", "-N $(NAME)", `-N "$(NAME)"`},
		{"the variable without a space", "slurmd", "-DN$(POD_HOSTNAME)", ""},
		{"a value that looks like an option", "slurmd", "-L -Nfoo", ""},
		{"a value without a space", "slurmd", "-L/N/foo", ""},
		{"an option without its value", "slurmd", "-N", `-N ""`},
		{"a name in --conf", "slurmd", "--conf nodename=foo", "--conf"},
		{"a name in --conf=", "slurmd", "--conf=NodeName=foo", "--conf"},
		{"a name in a variable of --conf", "slurmd", "--conf $(ME)", "--conf"},
		{"a name in a variable that another one has", "slurmd", "--conf=$(INDIRECT)", "--conf"},
		{"a name that is no reference", "slurmd", "--conf $$(ME)", ""},
		{"no name in --conf", "slurmd", "--conf CPUs=4", ""},
		{"an option of another program", "numactl -N 0 /usr/sbin/slurmd -D", "-N $(POD_HOSTNAME)", ""},
		{"a name after another program", "numactl -N 0 /usr/sbin/slurmd -D", "-N foo", `-N "foo"`},
		{"a program that is not known", "/entrypoint", "-N 4", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckSlurmdName(corev1.Container{Command: strings.Fields(tc.command), Args: strings.Fields(tc.args),
				Env: []corev1.EnvVar{{Name: "ME", Value: "NodeName=big"}, {Name: "INDIRECT", Value: "CPUs=4 $(ME)"}}})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want one with %q", err, tc.want)
			}
		})
	}
}
