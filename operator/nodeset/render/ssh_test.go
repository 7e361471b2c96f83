package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/sshd"
)

const withSSH = "ssh: {enabled: true, sssdConfRef: {name: s, key: k}}"

// sssdOf returns the container of SSSD.
func sssdOf(t *testing.T, spec corev1.PodSpec) corev1.Container {
	t.Helper()
	i := slices.IndexFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == sshd.ContainerSSSD })
	if i < 0 {
		t.Fatal("no container runs SSSD")
	}
	return spec.InitContainers[i]
}

func TestSSH(t *testing.T) {
	for _, tc := range []struct {
		name, spec string
		has        func(spec corev1.PodSpec, slurmd, sssd corev1.Container) bool
	}{
		{"a privileged worker adopts the newest of several jobs", withSSH, func(_ corev1.PodSpec, slurmd, _ corev1.Container) bool {
			return strings.Contains(envVar(slurmd, envSSHDPAM).Value, "pam_slurm_adopt.so nodename=$(POD_HOSTNAME)\n") &&
				slurmd.SecurityContext.Capabilities == nil
		}},
		{"one without privileges cannot", withSSH + ", securityProfile: Unprivileged",
			func(_ corev1.PodSpec, slurmd, _ corev1.Container) bool {
				return strings.Contains(envVar(slurmd, envSSHDPAM).Value, " action_unknown=allow\n") &&
					slices.Contains(slurmd.SecurityContext.Capabilities.Add, "SYS_CHROOT")
			}},
		{"the network of the Kubernetes node has no port of ours", withSSH + ", template: {spec: {hostNetwork: true}}",
			func(_ corev1.PodSpec, slurmd, _ corev1.Container) bool { return len(slurmd.Ports) == 1 }},
		{"SSSD has the image of slurmd", withSSH + ", slurmd: {image: a}",
			func(_ corev1.PodSpec, _, sssd corev1.Container) bool { return sssd.Image == "a" }},
		{"or another one", withSSH + ", slurmd: {image: a}, template: {spec: {initContainers: [{name: sssd, image: b}]}}",
			func(_ corev1.PodSpec, _, sssd corev1.Container) bool {
				return sssd.Image == "b" && len(sssd.Command) > 0
			}},
		{"slurmd does not wait for SSSD", withSSH,
			func(_ corev1.PodSpec, _, sssd corev1.Container) bool { return sssd.StartupProbe == nil }},
		{"a command of the user takes the place of the one that starts sshd", withSSH + ", slurmd: {command: [/entry]}",
			func(_ corev1.PodSpec, slurmd, _ corev1.Container) bool {
				return slices.Equal(commandOf(slurmd), []string{"/entry"})
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := templateOf(t, newInput(t, tc.spec)).Spec
			if !tc.has(spec, spec.Containers[0], sssdOf(t, spec)) {
				t.Errorf("it is not so: %+v", spec)
			}
		})
	}
}

// TestSSHChangesNothingElse: probes, hooks and arguments of slurmd stay.
func TestSSHChangesNothingElse(t *testing.T) {
	plain, ssh := slurmdOf(t, newInput(t, "")), slurmdOf(t, newInput(t, withSSH))
	if ssh.ReadinessProbe.String() != plain.ReadinessProbe.String() || ssh.Lifecycle.String() != plain.Lifecycle.String() ||
		!slices.Equal(ssh.Args, plain.Args) || ssh.Command[len(ssh.Command)-1] != plain.Command[len(plain.Command)-1] {
		t.Errorf("slurmd differs:\n%+v\n%+v", plain, ssh)
	}
}

// TestSSHDScript runs the script with other folders than the machine's: slurmd starts, whatever is missing.
func TestSSHDScript(t *testing.T) {
	for _, tc := range []struct {
		name    string
		folders []string
		want    []string
	}{
		{"with everything", []string{"etc/ssh", "etc/pam.d", "run"}, []string{"slurmd -D -N n 0\n", "sshd -D -e\n"}},
		{"without PAM", []string{"etc/ssh", "run"}, []string{"slurmd -D -N n 0\n", "its files cannot be written\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			for _, folder := range tc.folders {
				if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			programs := writeProgram(t, "slurmd", `echo "slurmd $* ${#SSHD_CONFIG}"
while [ -n "$AWAIT" ] && [ ! -e "$AWAIT" ]; do :; done`)
			sshdProgram := filepath.Join(writeProgram(t, "sshd", `echo "sshd $*"; : >"$AWAIT"; kill $PPID`), "sshd")
			script := strings.NewReplacer("/usr/sbin/sshd", sshdProgram, " /run/", " "+root+"/run/", ">/etc/", ">"+root+"/etc/").
				Replace(sshdScript)
			env := []string{"SSHD_CONFIG=config", "SSHD_PAM=pam", "SSHD_NSSWITCH=nsswitch"}
			if len(tc.folders) > 2 {
				env = append(env, "AWAIT="+filepath.Join(root, "started"))
			}
			got := runCommand(t, programs, env, "sh", "-c", script, "slurmd", "-D", "-N", "n")
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in %q", want, got)
				}
			}
			if text, err := os.ReadFile(filepath.Join(root, "etc/ssh/sshd_config")); err != nil || string(text) != "config" {
				t.Errorf("sshd_config is %q, %v", text, err)
			}
		})
	}
}
