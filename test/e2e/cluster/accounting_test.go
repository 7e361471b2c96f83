//go:build e2e

package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testAccounting checks that no record of a job is lost, whatever happens to slurmdbd and its database.
func (e *env) testAccounting() {
	e.await("slurm", "sacctmgr", "-n", "show", "clusters", "format=cluster%40")
	e.awaitRecord(e.submit("--wrap=true"))
	e.testGPUs()
	e.testAccounts()
	e.testLostSlurmdbd()
	e.testLostDatabase()
	e.testChangedPassword()
	e.testBrokenAccounting()
}

// testGPUs runs a job on a GPU of the NodeSet. No setting of the Controller names the GPU, but slurmctld knows and accounts it.
func (e *env) testGPUs() {
	e.await("Gres=gpu:h100:2", "scontrol", "show", "node", "w-0")
	job := e.submit("-w", "w-0", "--gres=gpu:h100:1", "--wrap=true")
	e.awaitRecord(job)
	e.await("gres/gpu:h100=1,gres/gpu=1", "sacct", "-n", "-X", "-P", "-j", job, "-o", "alloctres")
}

// awaitRecord waits until sacct shows a job as completed.
func (e *env) awaitRecord(job string) {
	e.Helper()
	e.await("COMPLETED", "sacct", "-n", "-X", "-j", job, "-o", "state")
}

// testLostSlurmdbd deletes slurmdbd's pod while jobs are submitted.
func (e *env) testLostSlurmdbd() {
	begin := time.Now()
	e.kubectl("delete", "pod", "slurm-accounting-0", "--wait=false")
	var jobs []string
	for range 10 {
		jobs = append(jobs, e.submit("--wrap=true"))
	}
	e.kubectl("wait", "accounting/slurm", "--for=condition=Ready", "--timeout=180s")
	for _, job := range jobs {
		e.awaitRecord(job)
	}
	e.Logf("slurmdbd's pod deleted: the records of all %d jobs are there after %.1f s", len(jobs),
		time.Since(begin).Seconds())
}

// testLostDatabase kills MariaDB, whose container starts again with its data.
func (e *env) testLostDatabase() {
	before, begin := e.mariadbRestarts(), time.Now()
	_, _ = e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", "mariadb", "--", "sh", "-c",
		"kill -9 $(cat /run/mysqld/mariadbd.pid)") // the container ends with it
	job := e.submit("--wrap=true")
	process.Await(e.T, func() error {
		if e.mariadbRestarts() == before {
			return fmt.Errorf("MariaDB has not started again")
		}
		return nil
	})
	e.awaitRecord(job)
	e.Logf("MariaDB killed: the record of a job is there after %.1f s", time.Since(begin).Seconds())
}

func (e *env) mariadbRestarts() string {
	e.Helper()
	return e.kubectl("get", "pod", "mariadb", "-o", "jsonpath={.status.containerStatuses[0].restartCount}")
}

// testChangedPassword changes the password in the database and in the Secret.
func (e *env) testChangedPassword() {
	begin := time.Now()
	e.kubectl("exec", "mariadb", "--", "mariadb", "--socket=/run/mysqld/mysqld.sock", "-e",
		"ALTER USER slurm@'%' IDENTIFIED BY 'another one'")
	e.kubectl("patch", "secret", "mariadb", "--type=merge", "-p", `{"stringData":{"password":"another one"}}`)
	// Existing connections would continue with the old password.
	e.kubectl("exec", "mariadb", "--", "mariadb", "--socket=/run/mysqld/mysqld.sock", "-e", "KILL USER slurm")
	e.awaitRecord(e.submit("--wrap=true"))
	e.kubectl("wait", "accounting/slurm", "--for=condition=Ready", "--timeout=180s")
	e.Logf("the password changed: the record of a job is there after %.1f s", time.Since(begin).Seconds())
}

// testBrokenAccounting gives slurmdbd a configuration with which it would end.
func (e *env) testBrokenAccounting() {
	path := `jsonpath={.status.conditions[?(@.type=="ConfigApplied")]['status','reason','message']}`
	awaitConfig := func(want ...string) {
		e.Helper()
		process.Await(e.T, func() error {
			got := e.kubectl("get", "accounting", "slurm", "-o", path)
			for _, part := range want {
				if !strings.Contains(got, part) {
					return fmt.Errorf("ConfigApplied is %q, without %q", got, part)
				}
			}
			return nil
		})
	}
	e.kubectl("patch", "accounting", "slurm", "--type=merge", "-p", `{"spec":{"extraConf":"PurgeEventAfter=soon"}}`)
	awaitConfig("False", "Refused", "PurgeEventAfter=soon", "stays in force")
	e.awaitRecord(e.submit("--wrap=true"))
	e.kubectl("patch", "accounting", "slurm", "--type=merge", "-p", `{"spec":{"extraConf":"PurgeEventAfter=12months"}}`)
	awaitConfig("True", "Applied")
	e.await("12 months", "sacctmgr", "-n", "show", "config")
}
