package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Code names a kind of finding.
type Code string

// The kinds of findings.
const (
	// APIServiceMissing: nothing serves an API that the autoscaling or the plugin needs.
	APIServiceMissing Code = "APIServiceMissing"
	// APIServiceUnavailable: it is registered, and the API server does not reach it.
	APIServiceUnavailable Code = "APIServiceUnavailable"
	// MetricsOfAnother: custom metrics are served, but not by slurm-metrics-adapter.
	MetricsOfAnother Code = "MetricsOfAnother"
	// StaleSnapshot: the adapter has no numbers that are young enough.
	StaleSnapshot Code = "StaleSnapshot"
	// MissingRight: the user may not read what the plugin shows.
	MissingRight Code = "MissingRight"
	// SecretMissing: the Secret that a Cluster names, or its key, is not there.
	SecretMissing Code = "SecretMissing"
	// TokenExpired and TokenExpiring: the token in it is no longer good, or not for long.
	TokenExpired  Code = "TokenExpired"
	TokenExpiring Code = "TokenExpiring"
	// TokenUnreadable: it is no token.
	TokenUnreadable Code = "TokenUnreadable"
	// ClusterMissing: a NodeSet names a Controller or Cluster that is not there.
	ClusterMissing Code = "ClusterMissing"
	// ClusterNotReady and NodeSetNotReady: the operator says so.
	ClusterNotReady Code = "ClusterNotReady"
	NodeSetNotReady Code = "NodeSetNotReady"
	// OperatorNotRunning: nobody looks after the NodeSets.
	OperatorNotRunning Code = "OperatorNotRunning"
	// AsleepAtZero: the NodeSet is at zero, its HPA sleeps, and nobody wakes it.
	AsleepAtZero Code = "AsleepAtZero"
	// PausedAtZero: jobs wait for a NodeSet that somebody took to zero by hand.
	PausedAtZero Code = "PausedAtZero"
	// ToleranceMissing: the HPA leaves out changes of less than a tenth.
	ToleranceMissing Code = "ToleranceMissing"
	// CannotLeaveZero: no policy of the HPA adds anything to zero.
	CannotLeaveZero Code = "CannotLeaveZero"
	// ValueTarget: the HPA multiplies with the number of ready workers.
	ValueTarget Code = "ValueTarget"
	// TargetMissing: the HPA scales a NodeSet that is not there.
	TargetMissing Code = "TargetMissing"
	// AutoscalerFails: the HPA says that it cannot scale.
	AutoscalerFails Code = "AutoscalerFails"
	// SeveralAutoscalers: several HPAs scale one NodeSet.
	SeveralAutoscalers Code = "SeveralAutoscalers"
	// AmbiguousMetric: the metric of an HPA counts more than what its NodeSet could serve.
	AmbiguousMetric Code = "AmbiguousMetric"
	// SharedWorkers: two NodeSets take the same pods or Slurm nodes for theirs.
	SharedWorkers Code = "SharedWorkers"
	// ProbeListsSteps: a probe or hook of a NodeSet, or of workers that run, has a command
	// by which jobs fail.
	ProbeListsSteps Code = "ProbeListsSteps"
)

// Object is what a finding is about.
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
	// Cure is what to do, in one line; Command the command that does it, empty where
	// one must be thought of.
	Cure    string `json:"cure"`
	Command string `json:"command,omitempty"`
}

// Report is what came of an examination.
type Report struct {
	Findings []Finding `json:"findings"`
	// NotChecked is what could not be read, and so may be at fault.
	NotChecked []string `json:"notChecked,omitempty"`
	// Ignored counts the findings that the user did not want to hear of.
	Ignored int `json:"ignored,omitempty"`
}

// Examine tests what was observed. Findings whose code is in ignore are only counted.
func Examine(seen Observed, ignore []Code) Report {
	out := Report{Findings: []Finding{}, NotChecked: slices.Clone(seen.NotRead)}
	for _, check := range checks() {
		for _, f := range check(&seen) {
			if slices.Contains(ignore, f.Code) {
				out.Ignored++
				continue
			}
			out.Findings = append(out.Findings, f)
		}
	}
	slices.SortStableFunc(out.Findings, func(a, b Finding) int {
		return cmp.Or(rank(a.Code)-rank(b.Code), strings.Compare(a.Object.String(), b.Object.String()), strings.Compare(a.Problem, b.Problem))
	})
	out.Findings = slices.CompactFunc(out.Findings, func(a, b Finding) bool { return a == b })
	slices.Sort(out.NotChecked)
	out.NotChecked = slices.Compact(out.NotChecked)
	return out
}

// Codes are all kinds of findings, what others follow from first.
func Codes() []Code {
	return []Code{
		MissingRight, APIServiceMissing, APIServiceUnavailable, MetricsOfAnother, SecretMissing, TokenExpired, TokenUnreadable,
		TokenExpiring, ClusterMissing, ClusterNotReady, StaleSnapshot, OperatorNotRunning, NodeSetNotReady, ProbeListsSteps,
		SeveralAutoscalers, SharedWorkers, AmbiguousMetric, ValueTarget, CannotLeaveZero, ToleranceMissing,
		TargetMissing, AsleepAtZero, PausedAtZero, AutoscalerFails,
	}
}

func rank(c Code) int { return slices.Index(Codes(), c) }

// checks are the tests, each for one or some codes.
func checks() []func(*Observed) []Finding {
	return []func(*Observed) []Finding{
		rights, apiServices, foreignMetrics, stale,
		tokens, clusters, references, ready, operator, probes, workerProbes,
		severalAutoscalers, shared, ambiguous, valueTargets, leavesZero, tolerance,
		targets, asleepAtZero, failing,
	}
}

func found(code Code, on Object, problem string, args ...any) Finding {
	return Finding{Code: code, Object: on, Problem: fmt.Sprintf(problem, args...)}
}

// cure adds what to do.
func (f Finding) cure(format string, args ...any) Finding {
	f.Cure = fmt.Sprintf(format, args...)
	return f
}

// run adds the command that cures it.
func (f Finding) run(format string, args ...any) Finding {
	f.Command = fmt.Sprintf(format, args...)
	return f
}
