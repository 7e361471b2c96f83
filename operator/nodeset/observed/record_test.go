package observed

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func isKnown(string) bool { return true }

func parseState(words string) slurm.NodeState {
	return slurm.ParseNodeState(strings.Split(words, "+")...)
}

// TestNothingButIdleDownAndFutureHasNoWork holds every base state with every flag.
func TestNothingButIdleDownAndFutureHasNoWork(t *testing.T) {
	quiet := []slurm.NodeBase{slurm.NodeIdle, slurm.NodeDown, slurm.NodeFuture}
	for _, base := range append(slurm.NodeBases(), 200) {
		for flag := slurm.NodeFlags(0); flag <= slurm.NodeOther; flag = max(1, flag<<1) {
			n := &slurm.Node{Name: "n", State: slurm.NodeState{Base: base, Flags: flag}}
			got := Record(n, isKnown, nil)
			want := plan.Record{
				Name: "n", Future: base == slurm.NodeFuture, Busy: !slices.Contains(quiet, base) ||
					flag == slurm.NodeCompleting,
				Dynamic: flag == slurm.NodeDynamicNorm || flag == slurm.NodeDynamicFuture,
				Down:    base == slurm.NodeDown || flag == slurm.NodeNotResponding, Drain: flag == slurm.NodeDrain,
				DownByOthers:  flag == slurm.NodeFail && base != slurm.NodeFuture,
				NotResponding: base != slurm.NodeDown && flag == slurm.NodeNotResponding,
			}
			want.InvalidRegistration = base == slurm.NodeFuture && flag == slurm.NodeInvalidReg
			if base == slurm.NodeDown && flag == slurm.NodeRebootIssued {
				want.Rebooting, want.Fault = true, "reboot: "
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", n.State, diff)
			}
		}
	}
}

func TestRecords(t *testing.T) {
	ours := `{"namespace":"slurm","podName":"gpu-0","node":"kube-0","nodeSetName":"gpu","nodeSetUID":"uid-gpu"}`
	state := func(words string) func(*slurm.Node) {
		return func(n *slurm.Node) { n.State = parseState(words) }
	}
	comment := func(text string) func(*slurm.Node) { return func(n *slurm.Node) { n.Comment = text } }
	reason := func(text string) func(*slurm.Node) { return func(n *slurm.Node) { n.Reason = text } }
	both := func(a, b func(*slurm.Node)) func(*slurm.Node) { return func(n *slurm.Node) { a(n); b(n) } }
	for _, tc := range []struct {
		name   string
		change func(*slurm.Node)
		want   plan.Record
	}{
		{"an idle slurmNode is nothing special", state("IDLE"), plan.Record{}},
		{"a drain that is being taken back is none", state("IDLE+DRAIN+UNDRAIN"), plan.Record{}},
		{"a draining slurmNode has work", state("ALLOCATED+DRAIN"), plan.Record{Busy: true, Drain: true}},
		{"one that does not respond is down, and its work stays", state("MIXED+NOT_RESPONDING"),
			plan.Record{Busy: true, Down: true, NotResponding: true}},
		{"one that is down as well is not just silent", state("DOWN+NOT_RESPONDING"), plan.Record{Down: true}},
		{"one that completes has work", state("IDLE+COMPLETING+DYNAMIC_NORM"), plan.Record{Busy: true, Dynamic: true}},
		{"a state of a later Slurm may have work", state("HIBERNATING"), plan.Record{Busy: true}},
		{"a reason of ours", reason("slurm-operator: scale-in"), plan.Record{OurReason: true}},
		{"a reason of ours must begin with our prefix", reason("see slurm-operator: scale-in"), plan.Record{}},
		{"a reason of others", reason("bad disk"), plan.Record{}},
		{"one that somebody set DOWN is held", both(state("DOWN"), reason("bad disk")),
			plan.Record{Down: true, DownByOthers: true}},
		{"one that a person set DOWN with the words of slurmctld is held, too",
			both(state("DOWN"), reason("Not responding to IPMI, see ticket 7")), plan.Record{Down: true, DownByOthers: true}},
		{"one that went down with its pod is not",
			both(state("DOWN"), reason("slurm-operator: the pod is being stopped")),
			plan.Record{Down: true, OurReason: true}},
		{"nor one that ceased to respond", both(state("DOWN"), reason("Not responding [slurm@2026-11-21T12:00:00]")),
			plan.Record{Down: true}},
		{"nor one that ceased to respond after a reboot",
			both(state("DOWN"), reason("Node unexpectedly rebooted : Not responding")), plan.Record{Down: true}},
		{"nor one whose reason was blanked", both(state("DOWN"), reason(" ")), plan.Record{Down: true}},
		{"one that somebody set FAIL is held, whatever its reason",
			both(state("IDLE+FAIL"), reason("slurm-operator: scale-in")),
			plan.Record{DownByOthers: true, OurReason: true}},
		{"a comment of ours", comment(ours), plan.Record{OwnerUID: "uid-gpu", Pod: "gpu-0", KubeNode: "kube-0"}},
		{"a comment of ours whose Kubernetes node is gone", comment(strings.Replace(ours, "kube-0", "kube-9", 1)),
			plan.Record{OwnerUID: "uid-gpu", Pod: "gpu-0", KubeNode: "kube-9", KubeNodeGone: true}},
		{"a comment of ours without a Kubernetes node", comment(strings.Replace(ours, "kube-0", "", 1)),
			plan.Record{OwnerUID: "uid-gpu", Pod: "gpu-0"}},
		{"a comment of another NodeSet", comment(strings.Replace(ours, "uid-gpu", "uid-cpu", 1)),
			plan.Record{OwnerUID: "uid-cpu", Pod: "gpu-0", KubeNode: "kube-0"}},
		{"JSON of others", comment(`{"rack": 7}`), plan.Record{ForeignComment: true}},
		{"a comment that lacks the UID", comment(`{"nodeSetName":"gpu"}`), plan.Record{ForeignComment: true}},
		{"garbage", comment(`{"nodeSetUID":"uid-gpu`), plan.Record{ForeignComment: true}},
		{"a number is no comment", comment(`7`), plan.Record{ForeignComment: true}},
		{"idle since its last work", func(n *slurm.Node) { n.LastBusy = slurm.At(nodesettest.Noon) },
			plan.Record{IdleSince: nodesettest.Noon}},
		{"never busy is not known", func(n *slurm.Node) { n.LastBusy = 0 }, plan.Record{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &slurm.Node{Name: "gpu-0", State: slurm.ParseNodeState("IDLE")}
			tc.change(n)
			tc.want.Name = "gpu-0"
			got := Record(n, func(name string) bool { return name == "kube-0" }, slurmFaults())
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
