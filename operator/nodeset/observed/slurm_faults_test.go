package observed

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestFaults has the reasons that slurmctld and slurmd of 24.11 and 26.05 set, with the users that they
// showed, and reasons from administrators.
func TestFaults(t *testing.T) {
	clear := &v1beta1.FaultDrains{HealthCheckReasons: []string{"check_gpu: *", "disk full"}}
	keep := &v1beta1.FaultDrains{Policy: v1beta1.FaultDrainsKeep, HealthCheckReasons: clear.HealthCheckReasons}
	for _, tc := range []struct {
		name, state, by, reason string
		faults                  *v1beta1.FaultDrains
		want                    bool
	}{
		{"a job id that slurmctld gave twice", "IDLE+DRAIN", "slurm", "Duplicate jobid", nil, true},
		{"a failed prolog", "IDLE+DRAIN", "slurm", "Prolog error", nil, true},
		{"a failed epilog", "MIXED+DRAIN", "slurm", "Epilog error", nil, true},
		{"processes that do not end", "IDLE+DRAIN", "root", "Kill task failed", nil, true},
		{"a batch job that could not end", "IDLE+DRAIN", "slurm", "batch job complete failure", nil, true},
		{"less memory than in the record", "IDLE+DRAIN+INVALID_REG", "slurm",
			"Low RealMemory (reported:24105 < 100.00% of configured:500000)", nil, true},
		{"fewer cores", "IDLE+DRAIN", "slurm", "Low socket*core*thread count", nil, true},
		{"fewer cores and CPUs", "IDLE+DRAIN+INVALID_REG", "slurm", "Low socket*core*thread count, Low CPUs", nil, true},
		{"fewer CPUs on a node that preStop had set DOWN", "DOWN+INVALID_REG", "slurm",
			"Low socket*core*thread count, Low CPUs, Low RealMemory (reported:2 < 100.00% of configured:5)", nil, true},
		{"other reserved cores", "IDLE+DRAIN+INVALID_REG", "slurm", "CoreSpec differ", nil, true},
		{"a full disk of slurmd", "IDLE+DRAIN", "root", "SlurmdSpoolDir is full", nil, true},
		{"a person who joins words", "IDLE+DRAIN", "root", "Low CPUs, ticket 7", nil, false},
		{"other GPUs", "IDLE+DRAIN", "slurm", "gres/gpu count reported lower than configured (3 < 4)", nil, true},
		{"GPUs of another type", "IDLE+DRAIN+INVALID_REG", "slurm", "gres/gpu type (h100) reported but not configured", nil, true},
		{"too few GPUs of a type", "IDLE+DRAIN", "slurm", "Low CPUs, gres/gpu:h100 count too low (1 < 2)", nil, true},
		{"a person who names a GPU", "IDLE+DRAIN", "root", "gres/gpu 3 is broken", nil, false},
		{"Node Health Check", "IDLE+DRAIN", "root", "NHC: check_fs_mount: /home not mounted", nil, true},
		{"preStop repeats the reason", "DOWN+DRAIN", "root", "Prolog error", nil, true},
		{"slurmctld has missed the slurmd since", "DOWN+DRAIN+NOT_RESPONDING", "slurm", "Epilog error : Not responding", nil, true},
		{"its machine has rebooted since", "DOWN+DRAIN", "slurm", "Epilog error : Node unexpectedly rebooted", nil, true},
		{"missed twice", "DOWN+DRAIN", "slurm", "Low CPUs, Low TmpDisk : Node unexpectedly rebooted : Not responding", nil, true},
		{"two faults, one after the other", "IDLE+DRAIN", "slurm", "Epilog error : Kill task failed", nil, true},
		{"a fault of a node that an administrator had drained", "IDLE+DRAIN", "slurm", "bad memory : Epilog error", nil, false},
		{"an administrator's node that slurmctld has missed since", "DOWN+DRAIN+NOT_RESPONDING", "slurm",
			"bad memory : Not responding", nil, false},
		{"a person who repeats the words", "IDLE+DRAIN", "alice", "Kill task failed", nil, false},
		{"a person who adds to the words", "IDLE+DRAIN", "root", "Kill task failed, see ticket 7", nil, false},
		{"an administrator as root", "IDLE+DRAIN", "root", "bad memory", nil, false},
		{"an administrator as SlurmUser", "DOWN", "slurm", "bad memory", nil, false},
		{"an unknown user", "IDLE+DRAIN", "", "Kill task failed", nil, false},
		{"no reason", "IDLE+DRAIN", "root", " ", nil, false},
		{"our own drain", "IDLE+DRAIN", "root", "slurm-operator: scale-in", nil, false},
		{"FAIL", "IDLE+FAIL+DRAIN", "slurm", "Prolog error", nil, false},
		{"FUTURE", "FUTURE+DRAIN", "slurm", "Prolog error", nil, false},
		{"in service", "IDLE", "slurm", "Prolog error", nil, false},
		{"a health check that is not listed", "IDLE+DRAIN", "root", "check_gpu: 3 of 4", nil, false},
		{"a listed health check", "IDLE+DRAIN", "root", "check_gpu: 3 of 4", clear, true},
		{"a listed health check, and slurmctld has missed the slurmd since", "DOWN+DRAIN", "slurm", "disk full : Not responding",
			clear, true},
		{"a listed health check that sets DOWN", "DOWN", "root", "disk full", clear, true},
		{"more than the listed words", "IDLE+DRAIN", "root", "disk full of /scratch", clear, false},
		{"Slurm's own reason beside a list", "IDLE+DRAIN", "slurm", "Duplicate jobid", clear, true},
		{"a NodeSet that keeps them", "IDLE+DRAIN", "slurm", "Duplicate jobid", keep, false},
		{"a NodeSet that keeps those of health checks", "IDLE+DRAIN", "root", "disk full", keep, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &slurm.Node{Name: "gpu-0", State: parseState(tc.state), Reason: tc.reason, ReasonBy: tc.by,
				ReasonAt: slurm.At(nodesettest.Noon)}
			nodeSet := &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{FaultDrains: tc.faults}}
			r := Record(n, isKnown, FaultReasons(nodeSet))
			if r.HasFault() != tc.want {
				t.Errorf("HasFault = %t, want %t: %+v", r.HasFault(), tc.want, r)
			}
			if tc.want && (r.DownByOthers || !r.FaultAt.Equal(nodesettest.Noon)) {
				t.Errorf("the record is %+v", r)
			}
		})
	}
}

func TestReboots(t *testing.T) {
	for _, tc := range []struct {
		name, state, by, reason string
		next                    slurm.NextState
		rebooting, returns      bool
	}{
		{"asked for", "MIXED+DRAIN+REBOOT_REQUESTED", "root", "kernel", slurm.NextStateResume, false, false},
		{"issued", "DOWN+DRAIN+REBOOT_ISSUED", "slurm", "kernel : reboot issued", slurm.NextStateResume, true, true},
		{"issued for a node in service", "DOWN+REBOOT_ISSUED", "slurm", "reboot requested : reboot issued", slurm.NextStateUnset, true, true},
		{"issued for a drained node", "DOWN+DRAIN+REBOOT_ISSUED", "slurm", "bad fan : reboot issued", slurm.NextStateUnset, true, false},
		{"issued for a node that is to be DOWN after it", "DOWN+REBOOT_ISSUED", "slurm", "kernel : reboot issued", slurm.NextStateDown, true, false},
		{"issued at once for a node that is to be DOWN after it", "DOWN+DRAIN+REBOOT_ISSUED", "slurm", "kernel : reboot issued",
			slurm.NextStateDown, true, false},
		{"repeated by preStop", "DOWN+DRAIN+REBOOT_ISSUED", "root", "kernel : reboot issued", slurm.NextStateResume, true, true},
		{"timed out", "DOWN+DRAIN", "slurm", "kernel : reboot issued : reboot timed out", slurm.NextStateResume, true, true},
		{"timed out, and slurmctld has missed the slurmd since", "DOWN+DRAIN", "slurm",
			"kernel : reboot issued : reboot timed out : Not responding", slurm.NextStateResume, true, true},
		{"the words of a person", "DOWN", "alice", "kernel : reboot timed out", slurm.NextStateUnset, false, false},
		{"over", "IDLE", "slurm", "kernel : reboot issued : reboot timed out", slurm.NextStateUnset, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Record(&slurm.Node{Name: "gpu-0", State: parseState(tc.state), Reason: tc.reason, ReasonBy: tc.by,
				ReasonAt: slurm.At(nodesettest.Noon), NextState: tc.next}, isKnown, nil)
			if r.Rebooting != tc.rebooting || r.HasFault() != tc.returns {
				t.Errorf("Rebooting = %t, HasFault = %t: %+v", r.Rebooting, r.HasFault(), r)
			}
		})
	}
}
