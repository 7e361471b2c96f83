package images

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/podspec"
)

// slurmImage is the required content of a Slurm image: the packages that the operator needs, its user and its entry
// point. The Dockerfile and hack/images build the image from the same list of packages.
type slurmImage struct {
	name     string
	packages []string
	// user is empty for root.
	user       string
	entrypoint string
}

// slurmImages lists the images of the stages of images/Dockerfile. All of them have Slurm's commands: prologs, preStop
// hooks, agents and users call them.
func slurmImages() []slurmImage {
	slurm := fmt.Sprintf("%[1]d:%[1]d", podspec.SlurmID)
	return []slurmImage{
		{"slurmctld", []string{"slurmctld", "slurm-client", "slurm-wlm-jwt-plugin", "sssd-ldap", "libnss-sss"}, slurm, "slurmctld -D"},
		{"slurmdbd", []string{"slurmdbd", "slurm-client", "slurm-wlm-jwt-plugin", "slurm-wlm-mysql-plugin"},
			slurm, "slurmdbd -D"},
		{"slurmrestd", []string{"slurmrestd", "slurm-client", "slurm-wlm-jwt-plugin", "libjemalloc2", "sssd-ldap", "libnss-sss"},
			"65534:65534", "slurmrestd -a rest_auth/jwt 0.0.0.0:6820"},
		{"slurmd", []string{"slurmd", "slurm-client", "openssh-server", "sssd-ldap", "libnss-sss", "libpam-sss",
			"libpam-slurm-adopt"}, "", "slurmd -D"},
		{"login", []string{"sackd", "slurm-client", "openssh-server", "sssd-ldap", "libnss-sss", "libpam-sss"}, "",
			"/usr/sbin/sshd -D -e"},
	}
}

func TestSlurmImages(t *testing.T) {
	stages := readStages(t, "images/Dockerfile")
	if len(stages) == 0 || stages[0].name != "base" ||
		!slices.Contains(stages[0].lines, "RUN slurm-user && pwconv && grpconv") {
		t.Fatalf("the first stage does not create the user slurm before the packages are installed: %q", stages)
	}
	var names []string
	for _, s := range stages[1:] {
		names = append(names, s.name)
	}
	var want []string
	for _, image := range slurmImages() {
		want = append(want, image.name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("stages (-want +got):\n%s", diff)
	}
	for i, image := range slurmImages() {
		t.Run(image.name, func(t *testing.T) { image.checkStage(t, stages[i+1]) })
	}
}

// checkStage compares the stage of an image, and its list of packages, with what the image must be.
func (image slurmImage) checkStage(t *testing.T, s stage) {
	if s.base != "base" {
		t.Errorf("the stage is based on %s", s.base)
	}
	entrypoint := `ENTRYPOINT ["slurm-entrypoint", "` + strings.ReplaceAll(image.entrypoint, " ", `", "`) + `"]`
	for _, line := range []string{entrypoint, "COPY " + image.name + "/packages /tmp/packages",
		"RUN install-packages /tmp/packages"} {
		if !slices.Contains(s.lines, line) {
			t.Errorf("the stage lacks the line %s", line)
		}
	}
	var user string
	for _, line := range s.lines {
		if name, ok := strings.CutPrefix(line, "USER "); ok {
			user = name
		}
	}
	if user != image.user {
		t.Errorf("the image runs as %q, want %q", user, image.user)
	}
	got := strings.Fields(readFile(t, "images/"+image.name+"/packages"))
	if len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("the list contains a package twice: %q", got)
	}
	for _, name := range append(image.packages, "systemd-standalone-sysusers", "adduser") {
		if !slices.Contains(got, name) {
			t.Errorf("the package %s is missing", name)
		}
	}
}

// TestTheUserOfSlurm checks that the user and the group slurm get the number that the operator gives to daemons.
func TestTheUserOfSlurm(t *testing.T) {
	script := readFile(t, "images/slurm-user")
	for _, line := range []string{fmt.Sprintf("echo 'slurm:*:%d:' >>/etc/group\n", podspec.SlurmID),
		fmt.Sprintf("echo 'slurm:*:%[1]d:%[1]d::/nonexistent:/usr/sbin/nologin' >>/etc/passwd\n", podspec.SlurmID)} {
		if !strings.Contains(script, line) {
			t.Errorf("images/slurm-user lacks the line %s", line)
		}
	}
}

// TestTheEntryPoint runs the entry point of the images with a daemon that only prints its arguments. CONF is the folder
// of slurm.conf.
func TestTheEntryPoint(t *testing.T) {
	if _, err := os.Stat("/run/munge/munge.socket.2"); err == nil {
		t.Skip("munged serves here, so that no daemon lacks slurm.key")
	}
	const (
		noConf = "CONF/slurm.conf is missing: mount the configuration there; " +
			"for a Controller it is the ConfigMap NAME-config\n"
		noKey = "CONF/slurm.key is missing: mount the Secret with the cluster's slurm.key there, mode 0400 or 0600\n"
		srv   = "CONF/slurm.conf and --conf-server HOST:6817 are missing: " +
			"slurmctld must be named by a DNS SRV record\n"
	)
	for _, tc := range []struct{ name, command, files, says string }{
		{"slurmctld without anything", "slurmctld -D", "", "slurmctld: " + noConf},
		{"slurmctld without a key", "slurmctld -D", "slurm.conf", "slurmctld: " + noKey},
		{"slurmctld with everything", "slurmctld -D", "slurm.conf slurm.key", ""},
		{"slurmctld with munge", "slurmctld -D", "slurm.conf=AuthType=auth/munge", ""},
		{"slurmctld with a file of another name", "slurmctld -D -f x", "slurm.key", ""},
		{"slurmdbd without anything", "slurmdbd -D", "", "slurmdbd: CONF/slurmdbd.conf is missing: " +
			"mount it there, owned by SlurmUser, mode 0600\n"},
		{"slurmdbd without a key", "slurmdbd -D", "slurmdbd.conf", "slurmdbd: " + noKey},
		{"slurmdbd with everything", "slurmdbd -D", "slurmdbd.conf slurm.key", ""},
		{"slurmrestd without anything", "slurmrestd -a rest_auth/jwt", "", "slurmrestd: " + srv},
		{"slurmrestd with everything", "slurmrestd -a rest_auth/jwt", "slurm.conf", ""},
		{"slurmd without anything", "slurmd -D", "", "slurmd: " + srv + "slurmd: " + noKey},
		{"slurmd without a key", "slurmd -D --conf-server=a:6817", "", "slurmd: " + noKey},
		{"slurmd that finds slurmctld by DNS", "slurmd -D", "slurm.key", "slurmd: " + srv},
		{"slurmd with everything", "slurmd -D --conf-server a:6817", "slurm.key", ""},
		{"sackd without a key", "sackd -D --conf-server a:6817", "", "sackd: " + noKey},
		{"another program", "sinfo --version", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for file := range strings.FieldsSeq(tc.files) {
				name, text, _ := strings.Cut(file, "=")
				writeFile(t, filepath.Join(dir, name), text+"\n", 0o600)
			}
			says, printed := runEntryPoint(t, dir, strings.Fields(tc.command))
			if diff := cmp.Diff(strings.ReplaceAll(tc.says, "CONF", dir), says); diff != "" {
				t.Errorf("it says (-want +got):\n%s", diff)
			}
			want := "run with" + strings.TrimPrefix(tc.command, strings.Fields(tc.command)[0]) + "\n"
			if strings.Contains(tc.says, "is missing") {
				want = ""
			}
			if printed != want {
				t.Errorf("the daemon printed %q, want %q", printed, want)
			}
		})
	}
}

// runEntryPoint runs a command through the entry point. A refusal must end with the status of a configuration error.
func runEntryPoint(t *testing.T, conf string, command []string) (says, printed string) {
	t.Helper()
	bin := t.TempDir()
	writeFile(t, filepath.Join(bin, command[0]), "#!/bin/sh\necho run with \"$@\"\n", 0o700)
	cmd := exec.Command(filepath.Join(root, "images", "slurm-entrypoint"), command...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SLURM_CONF="+filepath.Join(conf, "slurm.conf"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if isRefusal := errors.As(err, &exit) && exit.ExitCode() == 78; err != nil && !isRefusal {
		t.Fatalf("%v: %s", err, &stderr)
	}
	return stderr.String(), stdout.String()
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
