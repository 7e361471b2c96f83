package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Code identifies a kind of finding.
type Code string

// The kinds of findings.
const (
	// APIServiceMissing: nothing serves an API that autoscaling or the plugin needs.
	APIServiceMissing Code = "APIServiceMissing"
	// APIServiceUnavailable: the API is registered, but the API server cannot reach it.
	APIServiceUnavailable Code = "APIServiceUnavailable"
	// MetricsOfAnother: another program than slurm-metrics-adapter serves custom metrics.
	MetricsOfAnother Code = "MetricsOfAnother"
	// StaleSnapshot: the adapter's data is too old.
	StaleSnapshot Code = "StaleSnapshot"
	// MissingRight: the user may not read what the plugin shows.
	MissingRight Code = "MissingRight"
	// SecretMissing: the Secret that a Cluster refers to, or its key, does not exist.
	SecretMissing Code = "SecretMissing"
	// TokenExpired and TokenExpiring: the token has expired or expires soon.
	TokenExpired  Code = "TokenExpired"
	TokenExpiring Code = "TokenExpiring"
	// TokenUnreadable: the Secret contains no token.
	TokenUnreadable Code = "TokenUnreadable"
	// ClusterMissing: a NodeSet refers to a Controller or Cluster that does not exist.
	ClusterMissing Code = "ClusterMissing"
	// ClusterNotReady and NodeSetNotReady: the operator reports that the object is not ready.
	ClusterNotReady Code = "ClusterNotReady"
	NodeSetNotReady Code = "NodeSetNotReady"
	// HostUnreachable: pods cannot reach an external daemon at its address.
	HostUnreachable Code = "HostUnreachable"
	// AddressNotServed: nobody serves the address at which hosts outside look for a daemon.
	AddressNotServed Code = "AddressNotServed"
	// PortDiffers: hosts outside look for a daemon at another port than its Service has there.
	PortDiffers Code = "PortDiffers"
	// SourceAddressLost: a Service hides the address of the host that connects to a daemon.
	SourceAddressLost Code = "SourceAddressLost"
	// ServiceUnresolved: pods do not resolve the name of a Service.
	ServiceUnresolved Code = "ServiceUnresolved"
	// OperatorNotRunning: no operator reconciles the NodeSets.
	OperatorNotRunning Code = "OperatorNotRunning"
	// NamespaceNotManaged: an operator runs, and none works in the namespace of the object.
	NamespaceNotManaged Code = "NamespaceNotManaged"
	// TwoOperators: ours and another operator have both written the object within an hour.
	TwoOperators Code = "TwoOperators"
	// HeldByAnotherOperator: another operator works on the object, so ours leaves it alone.
	HeldByAnotherOperator Code = "HeldByAnotherOperator"
	// AsleepAtZero: the NodeSet is at zero, its HPA is inactive, and nothing wakes it.
	AsleepAtZero Code = "AsleepAtZero"
	// PausedAtZero: jobs wait for a NodeSet that was manually scaled to zero.
	PausedAtZero Code = "PausedAtZero"
	// ToleranceMissing: the HPA ignores changes of less than 10 %.
	ToleranceMissing Code = "ToleranceMissing"
	// CannotLeaveZero: no policy of the HPA adds workers at zero.
	CannotLeaveZero Code = "CannotLeaveZero"
	// ValueTarget: the HPA multiplies the metric by the number of ready workers.
	ValueTarget Code = "ValueTarget"
	// TargetMissing: the HPA scales a NodeSet that does not exist.
	TargetMissing Code = "TargetMissing"
	// AutoscalerFails: the HPA reports that it cannot scale.
	AutoscalerFails Code = "AutoscalerFails"
	// SeveralAutoscalers: several HPAs scale one NodeSet.
	SeveralAutoscalers Code = "SeveralAutoscalers"
	// AmbiguousMetric: the metric of an HPA counts more than its NodeSet can serve.
	AmbiguousMetric Code = "AmbiguousMetric"
	// SharedWorkers: two NodeSets select the same pods or own the same Slurm nodes.
	SharedWorkers Code = "SharedWorkers"
	// ProbeListsSteps: a probe or hook of a NodeSet, or of running workers, runs a command that
	// makes jobs fail.
	ProbeListsSteps Code = "ProbeListsSteps"
)

// Object is the subject of a finding.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Finding is one fault.
type Finding struct {
	Code    Code   `json:"code"`
	Object  Object `json:"object"`
	Problem string `json:"problem"`
	// Cure is the advice in one line. Command is a command that implements it, empty if there is none.
	Cure    string `json:"cure"`
	Command string `json:"command,omitempty"`
}

// Report is the result of all checks.
type Report struct {
	Findings []Finding `json:"findings"`
	// NotChecked describes what could not be read and may therefore be faulty.
	NotChecked []string `json:"notChecked,omitempty"`
	// Ignored counts the findings of ignored codes.
	Ignored int `json:"ignored,omitempty"`
}

// Examine runs all checks. Findings with a code in ignore are only counted.
func Examine(observed Observed, ignore []Code) Report {
	out := Report{Findings: []Finding{}, NotChecked: slices.Clone(observed.NotRead)}
	for _, check := range allChecks() {
		for _, f := range check(&observed) {
			if slices.Contains(ignore, f.Code) {
				out.Ignored++
				continue
			}
			out.Findings = append(out.Findings, f)
		}
	}
	slices.SortStableFunc(out.Findings, func(a, b Finding) int {
		return cmp.Or(codeRank(a.Code)-codeRank(b.Code), strings.Compare(a.Object.String(), b.Object.String()),
			strings.Compare(a.Problem, b.Problem))
	})
	out.Findings = slices.CompactFunc(out.Findings, func(a, b Finding) bool { return a == b })
	slices.Sort(out.NotChecked)
	out.NotChecked = slices.Compact(out.NotChecked)
	return out
}

// Codes returns all codes, with causes before their consequences.
func Codes() []Code {
	return []Code{
		MissingRight, APIServiceMissing, APIServiceUnavailable, MetricsOfAnother, SecretMissing, TokenExpired,
		TokenUnreadable,
		TokenExpiring, ClusterMissing, HostUnreachable, AddressNotServed, PortDiffers, SourceAddressLost, ServiceUnresolved,
		TwoOperators, HeldByAnotherOperator, ClusterNotReady, StaleSnapshot, OperatorNotRunning, NamespaceNotManaged,
		NodeSetNotReady,
		ProbeListsSteps,
		SeveralAutoscalers, SharedWorkers, AmbiguousMetric, ValueTarget, CannotLeaveZero, ToleranceMissing,
		TargetMissing, AsleepAtZero, PausedAtZero, AutoscalerFails,
	}
}

func codeRank(c Code) int { return slices.Index(Codes(), c) }

// allChecks returns the checks. Each one finds one or several codes.
func allChecks() []func(*Observed) []Finding {
	return []func(*Observed) []Finding{
		checkRights, checkAPIServices, checkForeignMetrics, checkSnapshots,
		checkTokens, checkClusters, checkReferences, checkExternalHosts, checkOutwardAddresses, checkSourceAddresses,
		checkHostNetworkDNS, checkHolders, checkNodeSets, checkOperator, checkNamespaces, checkProbes, checkWorkerProbes,
		checkSeveralAutoscalers, checkSharedWorkers, checkAmbiguousMetrics, checkValueTargets, checkLeavesZero,
		checkTolerance,
		checkTargets, checkAsleepAtZero, checkFailing,
	}
}

func newFinding(code Code, on Object, problem string, args ...any) Finding {
	return Finding{Code: code, Object: on, Problem: fmt.Sprintf(problem, args...)}
}

// withCure sets the cure.
func (f Finding) withCure(format string, args ...any) Finding {
	f.Cure = fmt.Sprintf(format, args...)
	return f
}

// withCommand sets the command of the cure.
func (f Finding) withCommand(format string, args ...any) Finding {
	f.Command = fmt.Sprintf(format, args...)
	return f
}
