//go:build e2e

package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testAccounts gives slurmdbd accounts in a ConfigMap: first in dry-run mode, then to apply, then broken ones, then
// without one of them. Accounts from other sources stay until prune is true.
func (e *env) testAccounts() {
	e.Helper()
	cluster := e.clusterName()
	file := func(lines ...string) string {
		return strings.Join(append([]string{"QOS - 'eager':Priority=7:MaxWall='0-01:00:00'", "Cluster - '" + cluster + "'",
			"Parent - 'root'", "Account - 'physics':Fairshare=10:QOS='normal,eager'", "Parent - 'physics'"}, lines...), "\n")
	}
	const submitter = "User - 'slurm':DefaultAccount='root'"
	slurmdbd := e.slurmdbdContainer()
	e.slurm("sacctmgr", "-i", "add", "account", "other", "cluster="+cluster)

	e.applyAccounts(file(submitter))
	e.patchAccounts(`{"configMapRef":{"name":"accounts"},"mode":"DryRun"}`)
	e.awaitAccounts("DryRun", "adds QOS eager")
	e.awaitMissing("eager", "sacctmgr", "-nP", "show", "qos", "format=name")

	begin := time.Now()
	e.patchAccounts(`{"mode":"Apply"}`)
	e.awaitAccounts("True", "Applied", "physics")
	e.Logf("accounts applied after %.1f s", time.Since(begin).Seconds())
	e.await("eager|7|01:00:00", "sacctmgr", "-nP", "show", "qos", "format=name,priority,maxwall")
	e.await("physics||10", "sacctmgr", "-nP", "show", "assoc", "where", "cluster="+cluster, "format=account,user,share")
	e.awaitState(e.submit("-A", "physics", "-q", "eager", "--wrap=true"), "COMPLETED")

	begin = time.Now()
	e.applyAccounts(file(submitter, "User - 'alice':Fairshares=1"))
	e.awaitAccounts("False", "Refused", "a.cfg: line 7", "Fairshares=1")
	e.Logf("a broken file is refused after %.1f s", time.Since(begin).Seconds())
	e.await("physics", "sacctmgr", "-nP", "show", "assoc", "where", "cluster="+cluster, "format=account")
	e.await("other", "sacctmgr", "-nP", "show", "assoc", "where", "cluster="+cluster, "format=account")

	e.applyAccounts(strings.ReplaceAll(file(submitter, "User - 'alice'"), "Fairshare=10", "Fairshare=20"))
	e.awaitAccounts("True", "10 -> 20", "alice")
	e.patchAccounts(`{"prune":true}`)
	e.awaitAccounts("True", "removes account other")
	e.awaitMissing("other", "sacctmgr", "-nP", "show", "assoc", "where", "cluster="+cluster, "format=account")
	e.await("alice", "sacctmgr", "-nP", "show", "assoc", "where", "cluster="+cluster, "format=user")
	e.awaitState(e.submit("-A", "physics", "--wrap=true"), "COMPLETED")

	if now := e.slurmdbdContainer(); now != slurmdbd {
		e.Errorf("slurmdbd was started again because of accounts: %s, then %s", slurmdbd, now)
	}
	e.testAccountsAgain(file(submitter, "User - 'alice'"))
	e.kubectl("patch", "accounting", "slurm", "--type=merge", "-p", `{"spec":{"accounts":null}}`)
	process.Await(e.T, func() error {
		got := e.kubectl("get", "accounting", "slurm", "-o", "jsonpath={.status}")
		if strings.Contains(got, v1beta1.ConditionAccountsApplied) {
			return fmt.Errorf("the status is %s", got)
		}
		return nil
	})
}

// testAccountsAgain replaces slurmdbd's pod, whose new agent applies the same accounts once more without a change.
func (e *env) testAccountsAgain(text string) {
	e.Helper()
	e.applyAccounts(text)
	e.awaitAccounts("True", "20 -> 10")
	e.kubectl("delete", "pod", "slurm-accounting-0")
	process.Await(e.T, func() error {
		got := e.accountsApplied()
		if !strings.HasPrefix(got, "True") || strings.Contains(got, "20 -> 10") || strings.Contains(got, "adds") {
			return fmt.Errorf("AccountsApplied is %q", got)
		}
		return nil
	})
}

// slurmdbdContainer returns the id of slurmdbd's container.
func (e *env) slurmdbdContainer() string {
	e.Helper()
	return e.kubectl("get", "pod", "slurm-accounting-0", "-o", "jsonpath={.status.containerStatuses[0].containerID}")
}

// clusterName returns the name of the cluster in Slurm.
func (e *env) clusterName() string {
	e.Helper()
	for line := range strings.Lines(e.slurm("scontrol", "show", "config")) {
		if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "ClusterName" {
			return strings.TrimSpace(value)
		}
	}
	e.Fatal("scontrol does not say the name of the cluster")
	return ""
}

// applyAccounts writes the ConfigMap.
func (e *env) applyAccounts(text string) {
	e.Helper()
	object, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]string{"name": "accounts", "namespace": e.namespace},
		"data":     map[string]string{"a.cfg": text}})
	must(e.T, err)
	must(e.T, e.kube.Apply(e.Context(), string(object)))
}

// patchAccounts changes spec.accounts.
func (e *env) patchAccounts(accounts string) {
	e.Helper()
	e.kubectl("patch", "accounting", "slurm", "--type=merge", "-p", `{"spec":{"accounts":`+accounts+`}}`)
}

// accountsApplied returns status, reason and message of the condition AccountsApplied.
func (e *env) accountsApplied() string {
	e.Helper()
	return e.kubectl("get", "accounting", "slurm", "-o", fmt.Sprintf(
		`jsonpath={.status.conditions[?(@.type=="%s")]['status','reason','message']}`, v1beta1.ConditionAccountsApplied))
}

// awaitAccounts waits until the condition AccountsApplied contains all parts.
func (e *env) awaitAccounts(parts ...string) {
	e.Helper()
	process.Await(e.T, func() error {
		got := e.accountsApplied()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				return fmt.Errorf("AccountsApplied is %q, without %q", got, part)
			}
		}
		return nil
	})
}

// awaitMissing waits until the output of a command in slurmctld's container does not contain a text.
func (e *env) awaitMissing(text string, args ...string) {
	e.Helper()
	process.Await(e.T, func() error {
		if out := e.slurm(args...); strings.Contains(out, text) {
			return fmt.Errorf("%s says %q, with %q", strings.Join(args, " "), out, text)
		}
		return nil
	})
}
