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
		{"the program of Debian", "/usr/sbin/slurmd-wlm", "-N foo", `-N "foo"`},
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

// The kubelet replaces variables in every argument, and slurmd reads the result.
func TestCheckSlurmdNameWithVariables(t *testing.T) {
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	env := []corev1.EnvVar{
		{Name: "POD_HOSTNAME", ValueFrom: field("metadata.labels['name']")},
		{Name: "OPTIONS", Value: "-Nfoo"}, {Name: "FLAG", Value: "-N"}, {Name: "LETTER", Value: "N"}, {Name: "CONF", Value: "--conf"},
		{Name: "CONF_NAME", Value: "--conf=NodeName=foo"}, {Name: "SERVER", Value: "a:1"}, {Name: "PROGRAM", Value: "/usr/sbin/slurmd"},
		{Name: "COPY", Value: "$(POD_HOSTNAME)"}, {Name: "KUBE_NODE", ValueFrom: field("spec.nodeName")},
		{Name: "NOTE", ValueFrom: field("metadata.annotations['note']")},
		{Name: "MEMORY", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}},
		{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}},
		{Name: "ABOUT", Value: "Comment=$(SECRET)"},
	}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"a whole argument", []string{"-D", "$(OPTIONS)"}, `-N "foo"`},
		{"the option", []string{"-D", "$(FLAG)", "foo"}, `-N "foo"`},
		{"the option, with the name of the worker", []string{"$(FLAG)", "$(POD_HOSTNAME)"}, ""},
		{"a letter of the options", []string{"-D$(LETTER)foo"}, `-N "foo"`},
		{"--conf with its value", []string{"$(CONF_NAME)"}, "--conf"},
		{"--conf before its value", []string{"$(CONF)", "NodeName=foo"}, "--conf"},
		{"a copy of the name, which may be set before the name", []string{"-N", "$(COPY)"}, "-N"},
		{"a name that is no reference", []string{"-N", "$$(POD_HOSTNAME)"}, "-N"},
		{"a name that looks like that of the worker", []string{"-N", "\x03"}, "-N"},
		{"an unknown argument", []string{"$(SECRET)"}, "comes from elsewhere"},
		{"an unknown letter", []string{"-D$(SECRET)"}, "comes from elsewhere"},
		{"an unknown long option", []string{"--$(KUBE_NODE)", "x"}, "comes from elsewhere"},
		{"an unknown name", []string{"-N", "$(SECRET)"}, "-N"},
		{"an unknown option of --conf", []string{"--conf", "CPUs=4 $(SECRET)"}, "comes from elsewhere"},
		{"an unknown value in a variable of --conf", []string{"--conf", "$(ABOUT)"}, "comes from elsewhere"},
		{"an annotation of the pod in --conf", []string{"--conf", "Comment=$(NOTE)"}, "comes from elsewhere"},
		{"a field of the pod as an option's name", []string{"--conf", "$(KUBE_NODE) = foo"}, "--conf"},
		{"a field of the pod in an option's name", []string{"--conf", "CPUs=4 $(KUBE_NODE)NodeName=foo"}, "--conf"},
		{"an option after a field that may be empty", []string{"$(KUBE_NODE)-Nfoo"}, `-N "foo"`},
		{"values that cannot name the node", []string{"--conf", `RealMemory=$(MEMORY) Comment="on $(KUBE_NODE)"`}, ""},
		{"unknown values of other options", []string{"--conf-server", "$(SECRET)", "-L", "$(SECRET)", "-L$(NOTE)", "--extra=$(SECRET)"}, ""},
		{"an unknown word that is no option", []string{"-D", "x$(SECRET)", "$(POD_HOSTNAME)", "$(KUBE_NODE)"}, ""},
		{"a value that looks like an option, and then one", []string{"--instance-id", "-L", "-Nfoo"}, `-N "foo"`},
		{"what follows the options", []string{"--", "-Nfoo"}, ""},
		{"a future node", []string{"-D", "-F"}, "-F"},
		{"a future node of a feature", []string{"-DFgpu"}, "-F"},
		{"single quotes, which Slurm does not know", []string{"--conf", "Comment='a NodeName=foo b'"}, "--conf"},
		{"a quote that does not end", []string{"--conf", "Comment=\"a NodeName=foo"}, "--conf"},
		{"a vertical tab", []string{"--conf", "CPUs=4\vNodeName=foo"}, "--conf"},
		{"a form feed", []string{"--conf", "CPUs=4\fNodeName=foo"}, "--conf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckSlurmdName(corev1.Container{Command: []string{"$(PROGRAM)"}, Args: tc.args, Env: env})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want one with %q", err, tc.want)
			}
		})
	}
}

// With envFrom, a variable that the container does not list may have any value.
func TestCheckSlurmdNameWithEnvFrom(t *testing.T) {
	for args, refused := range map[string]bool{"-D $(ANY)": true, "--conf $(ANY)": true, "-N $(POD_HOSTNAME) -L $(ANY)": false} {
		c := corev1.Container{Command: []string{"slurmd"}, Args: strings.Fields(args), EnvFrom: []corev1.EnvFromSource{{}}}
		if err := CheckSlurmdName(c); (err != nil) != refused {
			t.Errorf("the error for %q is %v", args, err)
		}
	}
}
