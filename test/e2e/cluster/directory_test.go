//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/sshd"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestDirectory gives slurmctld and slurmrestd the users of an LDAP server while a job of one of these users runs. It runs with -long, on
// each release. e2e/slurm/config tests the guard of reservations without -long.
func TestDirectory(t *testing.T) {
	kube := startLong(t, "cluster.yaml")
	must(t, kube.LoadImages(t.Context(), "slurm-exporter"))
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			e := startSlurm(t, kube, version, "cluster.yaml", "ldap.yaml", "login.yaml")
			e.awaitLogin()
			e.enforceLimits()
			job := e.submitAs("alice", "-w", "w-0", "--wrap", "'sleep 3600'")
			e.awaitState(job, "RUNNING")
			e.logWithoutDirectory(job)
			e.addDirectory()
			e.awaitState(job, "RUNNING")
			for _, test := range []struct {
				name string
				run  func(job string)
			}{
				{"names", e.testNames},
				{"exporter", e.testExporter},
				{"groups", e.testGroups},
				{"reservation", e.testReservation},
				{"demand by user", e.testDemandByUser},
				{"without a directory", func(job string) { e.testWithoutDirectory(job, version) }},
			} {
				t.Run(test.name, func(t *testing.T) {
					outer := e.T
					e.T = t
					defer func() { e.T = outer }()
					test.run(job)
				})
			}
		})
	}
}

// sshAs runs a command in a login pod as a user and returns its output.
func (e *env) sshAs(ctx context.Context, user string, command ...string) (string, error) {
	out, err := e.kube.Kubectl(ctx, e.execInClient(slices.Concat([]string{"ssh"}, sshOptions[:len(sshOptions)-1],
		[]string{user, e.login}, command)...)...)
	return strings.TrimSpace(out), err
}

// submitAs submits a job in a login pod as a user and returns the job's id. slurmctld may need some seconds to know the user.
func (e *env) submitAs(user string, args ...string) string {
	e.Helper()
	var job string
	process.Await(e.T, func() error {
		out, err := e.sshAs(e.Context(), user, append([]string{"sbatch", "--parsable", "-o", "/dev/null", "-D", "/"}, args...)...)
		job = out[strings.LastIndex(out, "\n")+1:]
		return err
	})
	return job
}

// enforceLimits makes slurmctld refuse jobs without an association. It gives the test's users an association, and a QOS in which each of
// them may run one job. Two partitions admit only groups of the directory.
func (e *env) enforceLimits() {
	e.Helper()
	for _, args := range [][]string{{"add", "qos", "capped", "MaxJobsPerUser=1"}, {"add", "account", "lab"},
		{"add", "user", "slurm,alice,bob", "account=lab", "defaultaccount=lab"},
		{"modify", "user", "where", "name=slurm,alice,bob", "set", "qos=normal,capped"}} {
		e.slurm(append([]string{"sacctmgr", "-i"}, args...)...)
	}
	e.extraConf += "AccountingStorageEnforce=associations,limits,qos,safe\nEnforcePartLimits=ALL\n" +
		"PartitionName=hpc Nodes=ALL AllowGroups=hpc\nPartitionName=primary Nodes=ALL AllowGroups=alice\n"
	e.setExtraConf("")
	e.await("AccountingStorageEnforce = associations,limits,qos,safe", "scontrol", "show", "config")
	e.awaitCondition("ConfigApplied", "True Applied")
}

// logWithoutDirectory logs how slurmctld and slurmrestd show a user whose name they do not know.
func (e *env) logWithoutDirectory(job string) {
	e.Helper()
	text, err := e.restdClient()(e.Context(), "/slurm/v0.0.42/job/"+job)
	e.Logf("without a directory: user_name of a job is %q (%v)", userName.FindStringSubmatch(text), err)
	out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--", "scontrol", "create",
		"reservation", "reservationname=before", "users=alice", "starttime=now", "duration=1", "nodes=w-0", "flags=ignore_jobs")
	e.Logf("without a directory: a reservation: %q (%v)", out, err)
	for _, partition := range []string{"hpc", "primary"} {
		out, err = e.sshAs(e.Context(), "alice", "sbatch", "-p", partition, "-o", "/dev/null", "-D", "/", "--wrap", "true")
		e.Logf("without a directory: a job in the partition %s: %q (%v)", partition, out, err)
	}
	out, err = e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--", "scontrol", "token",
		"username=alice", "lifespan=600")
	if token := strings.TrimPrefix(strings.TrimSpace(out), "SLURM_JWT="); err == nil {
		_, err = e.restdClientAt(fmt.Sprintf("%s:%d", names.RestAPIService("slurm"), names.SlurmrestdPort), func() string { return token })(
			e.Context(), "/slurm/v0.0.42/job/"+job)
	}
	e.Logf("without a directory: a token of alice: %v", err)
}

// userName finds the name in an answer about one job.
var userName = regexp.MustCompile(`"user_name":\s*"([^"]*)"`)

// addDirectory gives the Controller the Secret with sssd.conf, and waits until the pods with SSSD are ready.
func (e *env) addDirectory() {
	e.Helper()
	begin := time.Now()
	e.kubectl("patch", "controller", "slurm", "--type=merge", "-p", `{"spec":{"sssdConfRef":{"name":"sssd","key":"sssd.conf"}}}`)
	e.awaitSidecar("pod/" + e.ctld)
	e.kubectl("wait", "pod/"+e.ctld, "--for=condition=Ready", "--timeout=180s")
	e.Logf("from the new field until slurmctld's pod with SSSD is ready: %.1f s", time.Since(begin).Seconds())
	deployment := "deployment/" + names.RestAPIDeployment("slurm")
	process.Await(e.T, func() error { return e.findSidecar(deployment, "{.spec.template.spec.initContainers[*].name}") })
	e.kubectl("rollout", "status", deployment, "--timeout=180s")
	e.kubectl("wait", "controller/slurm", "restapi/slurm", "--for=condition=Ready", "--timeout=60s")
	e.Logf("until slurmrestd's are: %.1f s", time.Since(begin).Seconds())
}

// awaitSidecar waits until a pod has the container of SSSD.
func (e *env) awaitSidecar(pod string) {
	e.Helper()
	process.Await(e.T, func() error { return e.findSidecar(pod, "{.spec.initContainers[*].name}") })
}

// findSidecar returns an error unless the container of SSSD is among the names at a path of an object.
func (e *env) findSidecar(object, path string) error {
	out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "get", object, "-o", "jsonpath="+path)
	if err == nil && !slices.Contains(strings.Fields(out), sshd.ContainerSSSD) {
		err = fmt.Errorf("the init containers of %s are %q", object, out)
	}
	return err
}

// testNames: slurmrestd and `kubectl get slurmjobs` show the name of a job's user, and slurmctld knows the name of a token's user.
func (e *env) testNames(job string) {
	ask := e.restdClient()
	process.Await(e.T, func() error {
		text, err := ask(e.Context(), "/slurm/v0.0.42/job/"+job)
		if got := userName.FindStringSubmatch(text); err == nil && (got == nil || got[1] != "alice") {
			err = fmt.Errorf("slurmrestd says %q", got)
		}
		return err
	})
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "get", "slurmjobs", "-o", "wide")
		if err == nil && !regexp.MustCompile(`(?m)^\S*`+job+`\b.*\balice\b`).MatchString(out) {
			err = fmt.Errorf("kubectl get slurmjobs prints:\n%s", out)
		}
		return err
	})
	token := strings.TrimPrefix(e.slurm("scontrol", "token", "username=alice", "lifespan=600"), "SLURM_JWT=")
	asAlice := e.restdClientAt(fmt.Sprintf("%s:%d", names.RestAPIService("slurm"), names.SlurmrestdPort), func() string { return token })
	if text, err := asAlice(e.Context(), "/slurm/v0.0.42/job/"+job); err != nil || !strings.Contains(text, "RUNNING") {
		e.Errorf("with a token of alice, slurmrestd says %v:\n%s", err, text)
	}
	text, err := asAlice(e.Context(), "/slurmdb/v0.0.42/jobs/")
	e.Logf("with a token of alice, slurmdbd, which does not know the directory, says %v: %.400s", err, text)
}

// testExporter: the series by user have the name.
func (e *env) testExporter(string) {
	_, err := e.kube.Helm(e.Context(), "install", "slurm-exporter", filepath.Join(charts, "slurm-exporter"), "--namespace", e.namespace, "--set",
		fmt.Sprintf("slurm.url=http://%s:%d,slurm.jwtKey.existingSecret=slurm-jwt,slurm.jwtKey.key=jwt.key,slurm.pollInterval=2s,collectors.users=true,"+
			"networkPolicy.enabled=false,image.repository=localhost/slurm-exporter,image.tag=dev,image.pullPolicy=Never",
			names.RestAPIService("slurm"), names.SlurmrestdPort))
	must(e.T, err)
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), "get", "--raw", "/api/v1/namespaces/"+e.namespace+"/services/slurm-exporter:9341/proxy/metrics")
		if err == nil && !regexp.MustCompile(`(?m)^slurm_user_jobs\{[^}]*user="alice"[^}]*\} 1$`).MatchString(out) {
			series := regexp.MustCompile(`(?m)^slurm_user_jobs.*$`).FindAllString(out, -1)
			err = fmt.Errorf("the series are %q", series)
		}
		return err
	})
}

// testGroups: only members of a group of the directory may use a partition with AllowGroups. Without EnforcePartLimits the
// jobs of others wait.
func (e *env) testGroups(string) {
	e.awaitState(e.submitAs("alice", "-p", "hpc", "--wrap", "true"), "COMPLETED")
	_, err := e.sshAs(e.Context(), "bob", "sbatch", "-p", "hpc", "-o", "/dev/null", "-D", "/", "--wrap", "true")
	if err == nil || !strings.Contains(err.Error(), "group not permitted to use this partition") {
		e.Errorf("bob, who is in another group, gets %v", err)
	}
	out, err := e.sshAs(e.Context(), "alice", "sbatch", "-p", "primary", "-o", "/dev/null", "-D", "/", "--wrap", "true")
	e.Logf("a user whose primary group is allowed, and of which no user is a member: %q, %v", out, err)
}

// testReservation: a reservation names a user of the directory.
func (e *env) testReservation(string) {
	e.slurm("scontrol", "create", "reservation", "reservationname=course", "users=alice", "starttime=now", "duration=10", "nodes=w-0",
		"flags=ignore_jobs")
	e.await("Users=alice", "scontrol", "show", "reservation", "course")
	e.awaitState(e.submitAs("alice", "--reservation=course", "--wrap", "true"), "COMPLETED")
	_, err := e.sshAs(e.Context(), "bob", "sbatch", "--reservation=course", "-o", "/dev/null", "-D", "/", "--wrap", "true")
	if err == nil || !strings.Contains(err.Error(), "denied") {
		e.Errorf("bob, whom the reservation does not name, gets %v", err)
	}
	e.slurm("scontrol", "delete", "reservation=course")
}

// testDemandByUser: each user may run one job in a QOS. Jobs of two users then need two workers, and several jobs of one user need one.
func (e *env) testDemandByUser(string) {
	var jobs []string
	for range 3 {
		jobs = append(jobs, e.submitAs("alice", "-q", "capped", "-C", "burst", "--wrap", "'sleep 600'"))
	}
	e.awaitRequired("1")
	jobs = append(jobs, e.submitAs("bob", "-q", "capped", "-C", "burst", "--wrap", "'sleep 600'"))
	e.awaitRequired("2")
	e.slurm(append([]string{"scancel"}, jobs...)...)
}

// awaitRequired waits until the NodeSet burst requires a number of nodes.
func (e *env) awaitRequired(want string) {
	e.Helper()
	path := "/apis/custom.metrics.k8s.io/v1beta2/namespaces/" + e.namespace + "/nodesets.slinky.slurm.net/burst/slurm_nodeset_required_nodes"
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), "get", "--raw", path)
		var list struct{ Items []struct{ Value string } }
		if err == nil {
			err = json.Unmarshal([]byte(out), &list)
		}
		if err == nil && (len(list.Items) != 1 || list.Items[0].Value != want) {
			err = fmt.Errorf("the NodeSet requires %+v, not %s; the queue:\n%s", list.Items, want, e.slurm("squeue", "-h", "-o", "%i %u %q %t %r"))
		}
		return err
	})
}

// testWithoutDirectory: slurmctld starts without an LDAP server, and with an sssd.conf that SSSD does not read. A corrected
// one starts SSSD again, and nothing else.
func (e *env) testWithoutDirectory(job, version string) {
	e.kubectl("delete", "pod", "ldap")
	e.replaceSlurmctld("without LDAP")
	e.awaitState(job, "RUNNING")
	e.awaitState(e.submit("--wrap", "true"), "COMPLETED")
	e.patchSSSDConf("this is no sssd.conf")
	e.replaceSlurmctld("with a broken sssd.conf")
	e.awaitState(job, "RUNNING")
	e.awaitState(e.submit("--wrap", "true"), "COMPLETED")
	e.kubectl("wait", "controller/slurm", "--for=condition=Ready", "--timeout=60s")
	before := e.kubectl("get", "pod", e.ctld, "-o", "jsonpath={.metadata.uid} {.status.containerStatuses[*].restartCount} "+
		"{.status.initContainerStatuses[*].restartCount}")
	if strings.ContainsAny(before[strings.Index(before, " "):], "123456789") {
		e.Errorf("containers of slurmctld's pod started again: %s", before)
	}
	begin := time.Now()
	e.applyFiles(version, "ldap.yaml")
	e.await("alice", "getent", "passwd", "alice")
	e.Logf("a corrected Secret is in force after %.1f s", time.Since(begin).Seconds())
	after := e.kubectl("get", "pod", e.ctld, "-o", "jsonpath={.metadata.uid} {.status.containerStatuses[*].restartCount} "+
		"{.status.initContainerStatuses[*].restartCount}")
	if after != before {
		e.Errorf("slurmctld's pod was %s, and is %s", before, after)
	}
	e.slurm("scancel", job)
}

// replaceSlurmctld deletes slurmctld's pod and waits until another one is ready.
func (e *env) replaceSlurmctld(how string) {
	e.Helper()
	old := e.kubectl("get", "pod", e.ctld, "-o", "jsonpath={.metadata.uid}")
	begin := time.Now()
	e.kubectl("delete", "pod", e.ctld, "--wait=false")
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "get", "pod", e.ctld, "-o",
			`jsonpath={.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && (strings.HasPrefix(out, old) || !strings.HasSuffix(strings.TrimSpace(out), "True")) {
			err = errors.New("the pod is " + out)
		}
		return err
	})
	e.Logf("slurmctld's pod replaced %s: ready after %.1f s", how, time.Since(begin).Seconds())
}

// patchSSSDConf changes sssd.conf. The kubelet takes a minute to update it in running pods.
func (e *env) patchSSSDConf(text string) {
	e.Helper()
	patch, err := json.Marshal(map[string]any{"stringData": map[string]string{"sssd.conf": text}})
	must(e.T, err)
	e.kubectl("patch", "secret", "sssd", "--type=merge", "-p", string(patch))
}
