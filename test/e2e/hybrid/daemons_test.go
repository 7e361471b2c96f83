//go:build e2e

package hybrid

import (
	"fmt"

	"github.com/slurmtide/slurmtide/test/harness/outside"
)

// asSlurm begins a command that runs as SlurmUser.
var asSlurm = []string{"setpriv", "--reuid", "slurm", "--regid", "slurm", "--clear-groups"}

// writeKeys gives the host the keys of the cluster.
func (e *env) writeKeys(h *outside.Host) {
	e.Helper()
	h.WriteFile("/etc/slurm/slurm.key", "slurm", "0600", e.slurmKey)
	h.WriteFile("/etc/slurm/jwt_hs256.key", "slurm", "0600", e.jwtKey)
	h.MustRun("install", "-d", "-o", "slurm", "/run/slurmctld", "/run/slurmdbd", "/var/lib/slurm/state")
	h.MustRun("mkdir", "-p", "/var/spool/slurmd")
}

// commonConf contains the authentication options of slurm.conf.
const commonConf = `AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
SlurmUser=slurm
`

// startSlurmctld starts a slurmctld outside, which hands out its configuration.
func (e *env) startSlurmctld(slurmdbd string) *outside.Host {
	e.Helper()
	h := e.newHost("ctl", "slurmd:"+e.values.Version, nil)
	e.writeKeys(h)
	e.ctldHost = h
	for _, pod := range []string{"login", "w-0", "w-1", "node"} { // messages sent there are lost
		h.AddName(pod, "127.0.0.1")
	}
	conf := commonConf + fmt.Sprintf(`ClusterName=hybrid
SlurmctldHost=%s(%s)
StateSaveLocation=/var/lib/slurm/state
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldParameters=enable_configless
MaxNodeCount=64
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
DefMemPerCPU=100
PartitionName=all Nodes=ALL Default=YES
`, h.Name, h.Address)
	if slurmdbd != "" {
		conf += "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=" + slurmdbd + "\n"
	}
	h.WriteFile("/etc/slurm/slurm.conf", "root", "0644", []byte(conf))
	h.WriteFile("/etc/slurm/cgroup.conf", "root", "0644", []byte("CgroupPlugin=disabled\n"))
	h.Launch(append(asSlurm, "slurmctld", "-D")...)
	e.ctld = h.Run
	e.values.Slurmctld = h.Address
	return h
}

// startSlurmdbd starts a slurmdbd and its database outside.
func (e *env) startSlurmdbd() {
	e.Helper()
	db := e.newHost("db", "services:dev", nil)
	db.Launch("sh", "-c", mariadbScript)
	h := e.newHost("dbd", "slurmdbd:"+e.values.Version, nil)
	e.writeKeys(h)
	h.WriteFile("/etc/slurm/slurmdbd.conf", "slurm", "0600", fmt.Appendf(nil, `AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
SlurmUser=slurm
DbdHost=%s
PidFile=/run/slurmdbd/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=%s
StorageUser=slurm
StoragePass="of the test"
`, h.Name, db.Address))
	// The first start makes the database and ends (docs/development/slurm.md, "Checking slurmdbd.conf").
	h.Launch("sh", "-c", "while :; do "+
		"setpriv --reuid slurm --regid slurm --clear-groups slurmdbd -D; sleep 1; done")
	e.values.Slurmdbd = h.Address
}

// startSlurmd starts a slurmd outside, which gets its configuration from slurmctld.
func (e *env) startSlurmd(confServer string, names map[string]string) *outside.Host {
	e.Helper()
	h := e.newHost("node", "slurmd:"+e.values.Version, names)
	e.writeKeys(h)
	launchSlurmd(h, confServer)
	return h
}

func launchSlurmd(h *outside.Host, confServer string) {
	h.Launch("slurmd", "-D", "-Z", "-N", h.Name, "--conf-server", confServer, "--conf", "CPUs=2 RealMemory=500")
}

// startLogin starts a host outside with sackd, where users submit jobs.
func (e *env) startLogin(confServer string, names map[string]string) *outside.Host {
	e.Helper()
	h := e.newHost("login", "login:"+e.values.Version, names)
	h.WriteFile("/etc/slurm/slurm.key", "slurm", "0600", e.slurmKey)
	h.MustRun("install", "-d", "-o", "slurm", "/run/slurm")
	launchSackd(h, confServer)
	return h
}

func launchSackd(h *outside.Host, confServer string) {
	h.Launch(append(asSlurm, "/usr/sbin/sackd", "-D", "--conf-server", confServer)...)
}

// startSlurmrestd starts a slurmrestd outside.
func (e *env) startSlurmrestd(slurmctld, slurmdbd string) *outside.Host {
	e.Helper()
	h := e.newHost("rest", "slurmd:"+e.values.Version, nil)
	e.writeKeys(h)
	h.WriteFile("/etc/slurm/slurm.conf", "root", "0644", []byte(commonConf+"ClusterName=hybrid\nSlurmctldHost="+slurmctld+
		"\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost="+slurmdbd+"\n"))
	h.Launch("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "env", "SLURM_JWT=daemon",
		"slurmrestd", "-a", "rest_auth/jwt", "-s", "slurmctld,slurmdbd", "0.0.0.0:6820")
	e.values.Slurmrestd = h.Address
	return h
}
