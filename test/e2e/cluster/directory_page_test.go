//go:build e2e

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/sshd"
	"github.com/slurmtide/slurmtide/test/harness/page"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// directoryStandIns is all in which the test differs from docs/directory.md.
var directoryStandIns = []page.StandIn{withNodeValues,
	{Text: "ssh ", With: "kubectl exec --namespace ldap client -- ssh -o StrictHostKeyChecking=accept-new -o PubkeyAuthentication=no ",
		Why: "this machine is not in the network of pods"},
	{Text: "login.example.com", With: "slurm-login-main.slurm", Why: "the Service has no name in a DNS of its own"}}

// TestDirectoryPage runs docs/directory.md on a Kubernetes cluster with only an LDAP server. It runs with -long.
func TestDirectoryPage(t *testing.T) {
	s := startBareStackOn(t, realkube.Config{})
	ldap := s.startLDAP()
	p := page.Open(t, s.kube, "docs/directory.md", directoryStandIns...)
	p.Edit(t, "docs/examples/directory/sssd.conf", "ldap.example.com", "ldap.ldap")
	ca := ldap.kubectl("get", "secret", "ldap-tls", "-o", `go-template={{index .data "ca.crt" | base64decode}}`)
	must(t, os.WriteFile(filepath.Join(p.Folder, "ca.crt"), []byte(ca), 0o600))

	p.Next(t, "create secret")
	p.Next(t, "helm upgrade --install")
	out := p.Next(t, "getent passwd alice")
	requireLine(t, out, `^alice:[^:]*:3001:3001:`)
	requireLine(t, out, `^uid=3001\(alice\) .*\b3100\(hpc\)`)
	p.Next(t, "add account lab")
	requireLine(t, p.Next(t, "sleep 600"), `^slurm\.1\s+cpu\s+wrap\s+alice\s+RUNNING\s`)

	requireLine(t, p.Next(t, "alice@login.example.com sbatch --mem=100 --output=/dev/null --partition=hpc"), `^Submitted batch job 2$`)
	requireLine(t, p.NextFails(t, "bob@login.example.com"), `User's group not permitted to use this partition$`)
	s.awaitState("2", "COMPLETED")

	requireLine(t, p.Next(t, "create reservation"), `^Submitted batch job \d+$`)
	out = p.Next(t, "GroupUpdateTime=60")
	requireLine(t, out, `^GroupUpdateTime +=.60 sec`)
	s.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
	requireLine(t, out, `\bUsers=alice\b`)
	requireLine(t, p.NextFails(t, "bob@login.example.com"), `Access denied to requested reservation$`)
	s.testReservationWithoutDirectory(ldap)
	p.Next(t, "delete reservation=course")

	out = p.Next(t, "--qos=capped")
	requireLine(t, out, `\balice\s+PENDING\s+\S+\s+1\s+\(QOSMaxJobsPerUserLimit\)$`)
	requireLine(t, out, `"value":"2"`)
	if replicas := s.kubectl("get", "nodeset", "slurm-worker-cpu", "-o", "jsonpath={.status.replicas}"); replicas != "2" {
		t.Errorf("there are %s workers, want 2", replicas)
	}
	if jobs := strings.Count(out, "Submitted batch job"); jobs != 4 {
		t.Errorf("%d jobs were submitted, want 4:\n%s", jobs, out)
	}
	p.End(t)
}

// startLDAP starts an LDAP server and an ssh client in a namespace of their own, which it returns.
func (s stackEnv) startLDAP() *env {
	s.Helper()
	e := *s.env
	e.namespace = "ldap"
	_, err := s.kube.Kubectl(s.Context(), "create", "namespace", e.namespace)
	must(s.T, err)
	e.applyFiles(versions[0], "ldap.yaml")
	e.kubectl("wait", "pod/ldap", "pod/client", "--for=condition=Ready", "--timeout=120s")
	return &e
}

// testReservationWithoutDirectory: a change waits while SSSD in slurmctld's pod has neither a server nor a cache, and is applied when the
// server is back. The reservation keeps its user.
func (s stackEnv) testReservationWithoutDirectory(ldap *env) {
	s.Helper()
	serve := func(app string) {
		ldap.kubectl("patch", "service", "ldap", "--type=merge", "-p", `{"spec":{"selector":{"app":"`+app+`"}}}`)
	}
	serve("nobody")
	s.kubectl("exec", s.ctld, "-c", sshd.ContainerSSSD, "--", "sh", "-c",
		"kill $(cat /run/sssd.pid); sleep 2; rm -f /var/lib/sss/db/*.ldb /var/lib/sss/mc/*")
	s.runHelm("upgrade", "slurm", filepath.Join(charts, "slurm-stack"), "--reuse-values", "--set",
		"slurm.controller.extraConfMap.MailDomain=example.com")
	begin := time.Now()
	s.awaitCondition(v1beta1.ConditionConfigApplied, "False UsersUnknown")
	s.Logf("the change waits after %.1f s: %s", time.Since(begin).Seconds(), s.condition(v1beta1.ConditionConfigApplied))
	serve("ldap")
	begin = time.Now()
	s.await("example.com", "scontrol", "show", "config")
	s.Logf("it is applied %.1f s after the server is back", time.Since(begin).Seconds())
	s.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
	s.await("Users=alice", "scontrol", "show", "reservation", "course")
}
