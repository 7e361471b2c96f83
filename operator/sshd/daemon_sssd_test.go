package sshd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// newDaemonPod returns the template of a daemon with the users of a directory.
func newDaemonPod() *corev1.PodTemplateSpec {
	out := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "daemon", Image: "daemon:1"}}}}
	AddDaemonSSSD(out, corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "sssd"}, Key: "our.conf"})
	UseDaemonImage(&out.Spec)
	return out
}

// TestNothingOfADirectoryStopsItsDaemon: each row would keep the pod from starting, from being ready, or from going on.
func TestNothingOfADirectoryStopsItsDaemon(t *testing.T) {
	pod := newDaemonPod()
	sssd := pod.Spec.InitContainers[0]
	volumes := map[string]corev1.Volume{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = v
	}
	secret := volumes[volumeSSSDSecret].Secret
	for name, holds := range map[string]bool{
		"the Secret may be missing":                secret.Optional != nil && *secret.Optional,
		"the sidecar is restarted":                 *sssd.RestartPolicy == corev1.ContainerRestartPolicyAlways,
		"the sidecar does not end by its memory":   len(sssd.Resources.Limits) == 0,
		"the sidecar may run as root":              !*sssd.SecurityContext.RunAsNonRoot && *sssd.SecurityContext.RunAsUser == 0,
		"the sidecar has the image of the daemon":  sssd.Image == "daemon:1",
		"no probe ends the sidecar":                sssd.LivenessProbe == nil && sssd.StartupProbe.FailureThreshold >= 24*60*60,
		"no probe of the sidecar decides on ready": sssd.ReadinessProbe == nil,
		"the daemon waits ten seconds at most": strings.Contains(daemonSSSDScript, "sleep 10 && : >"+waitedFile) &&
			strings.HasSuffix(strings.Join(sssd.StartupProbe.Exec.Command, " "), "-o -e "+waitedFile),
		"SSSD goes on when the Secret is deleted": strings.Contains(sssd.Command[3], "if [ -s "+sssdSecretDir+"/sssd.conf ] && ! cmp -s "+
			sssdSecretDir+"/sssd.conf /etc/sssd/sssd.conf; then"),
		"nsswitch.conf is in the pod itself": volumes[volumeNSSwitch].DownwardAPI != nil &&
			pod.Annotations[v1beta1.AnnotationNSSwitch] == NSSwitch,
	} {
		if !holds {
			t.Errorf("not so: %s", name)
		}
	}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		if !mount.ReadOnly || mount.Name == volumeSSSDSecret || mount.Name == volumeSSSDConf {
			t.Errorf("the daemon mounts %+v", mount)
		}
	}
}

// TestDaemonSSSDScript: an SSSD that ends is started again, for as long as the pod exists.
func TestDaemonSSSDScript(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	script := strings.NewReplacer("/etc/sssd /run /tmp /var/lib/sss", dir, "sleep 10", "sleep 0.1", waitedFile,
		filepath.Join(dir, "waited")).Replace(daemonSSSDScript)
	command := exec.Command("sh", "-c", script, "echo started >>"+count+"; exit 3")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	process.Await(t, func() error {
		text, err := os.ReadFile(count)
		if err == nil && strings.Count(string(text), "started") < 3 {
			err = os.ErrNotExist
		}
		return err
	})
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("after SIGTERM it ends with %v", err)
	}
	if !strings.Contains(stderr.String(), "SSSD has ended with status 3") {
		t.Errorf("it prints %q", stderr.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "waited")); err != nil {
		t.Error(err)
	}
}

// TestDaemonSSSDScriptPassesOnSIGTERM to SSSD.
func TestDaemonSSSDScriptPassesOnSIGTERM(t *testing.T) {
	dir := t.TempDir()
	started, ended := filepath.Join(dir, "started"), filepath.Join(dir, "ended")
	script := strings.NewReplacer("/etc/sssd /run /tmp /var/lib/sss", dir, "sleep 10", "sleep 0.1", waitedFile,
		filepath.Join(dir, "waited")).Replace(daemonSSSDScript)
	command := exec.Command("sh", "-c", script, "trap 'echo >"+ended+"; exit 0' TERM; echo >"+started+
		"; while :; do sleep 0.1 & wait $!; done")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	process.Await(t, func() error {
		_, err := os.Stat(started)
		return err
	})
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("SSSD was not told to end: %v", err)
	}
}
