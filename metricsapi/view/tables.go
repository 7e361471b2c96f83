package view

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// table is what kubectl get prints of a noun. Columns of priority 1 are for -o wide.
type table struct {
	columns []metav1.TableColumnDefinition
	row     func(now time.Time, o runtime.Object) []any
}

func column(name, format string, wide int32, description string) metav1.TableColumnDefinition {
	kind := "string"
	if format == "integer" {
		kind, format = "integer", ""
	}
	return metav1.TableColumnDefinition{Name: name, Type: kind, Format: format, Priority: wide, Description: description}
}

const wide = 1

// convert makes a table of an object or a list.
func (t table) convert(_ context.Context, now time.Time, o runtime.Object, options runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	add := func(o runtime.Object) error {
		out.Rows = append(out.Rows, metav1.TableRow{Cells: filled(t.row(now, o)), Object: runtime.RawExtension{Object: o}})
		return nil
	}
	if meta.IsListType(o) {
		if err := meta.EachListItem(o, add); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	} else if err := add(o); err != nil {
		return nil, err
	}
	if list, err := meta.ListAccessor(o); err == nil {
		out.ResourceVersion, out.Continue, out.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(o); err == nil {
		out.ResourceVersion = one.GetResourceVersion()
	}
	if opts, ok := options.(*metav1.TableOptions); !ok || opts == nil || !opts.NoHeaders {
		out.ColumnDefinitions = t.columns
	}
	return out, nil
}

// filled has a word, as kubectl's own tables, where there is nothing: columns are counted.
func filled(cells []any) []any {
	for i, c := range cells {
		if c == "" {
			cells[i] = "<none>"
		}
	}
	return cells
}

func jobTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{
			column("Name", "name", 0, "cluster and job id"),
			column("Partition", "", 0, "where the job may run, or runs"),
			column("Job", "", 0, "the job's name"),
			column("User", "", 0, "whose job it is"),
			column("State", "", 0, "base state"),
			column("Time", "", 0, "how long it has run"),
			column("Nodes", "", 0, "number of nodes that it has, or asked for"),
			column("Nodelist(Reason)", "", 0, "nodes that it has, or why it waits"),
			column("Account", "", wide, "the account that is charged"),
			column("QOS", "", wide, "quality of service"),
			column("CPUs", "", wide, "number of CPUs that it has, or asked for"),
			column("Limit", "", wide, "time limit"),
			column("Priority", "", wide, "priority"),
			column("Tasks", "", wide, "array index, or those not yet split off"),
			column("Age", "", wide, "since it was submitted"),
		},
		row: func(now time.Time, o runtime.Object) []any {
			j, ok := o.(*v1alpha1.SlurmJob)
			if !ok {
				return nil
			}
			return []any{
				j.Name, strings.Join(j.Spec.Partitions, ","), j.Spec.Name, j.Spec.User, j.Status.State,
				elapsed(now, j), count(j.Status.NodeCount), cmp.Or(j.Status.Nodes, "("+cmp.Or(j.Status.Reason, "None")+")"),
				j.Spec.Account, j.Spec.QOS, count(j.Status.CPUs), minutes(j.Spec.TimeLimitMinutes), count(j.Status.Priority),
				cmp.Or(count(j.Spec.ArrayTaskID), j.Spec.ArrayTasks), age(now, &j.CreationTimestamp),
			}
		},
	}
}

func nodeTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{
			column("Name", "name", 0, "cluster and node"),
			column("State", "", 0, "the word that sinfo shows"),
			column("Partitions", "", 0, "partitions that the node is in"),
			column("CPUs", "", 0, "CPUs that jobs have, of those they may use"),
			column("Memory", "", 0, "memory that jobs have, of all, in MiB"),
			column("GRES", "", 0, "generic resources"),
			column("Reason", "", 0, "why the node is drained or down"),
			column("GRES used", "", wide, "generic resources that jobs have"),
			column("States", "", wide, "base state and flags"),
			column("Load", "", wide, "load average of a minute"),
			column("Features", "", wide, "features that the node has now"),
			column("Address", "", wide, "its address"),
			column("Version", "", wide, "its slurmd's version"),
		},
		row: func(_ time.Time, o runtime.Object) []any {
			n, ok := o.(*v1alpha1.SlurmNode)
			if !ok {
				return nil
			}
			return []any{
				n.Name, n.Status.State, strings.Join(n.Spec.Partitions, ","),
				fmt.Sprintf("%d/%d", n.Status.AllocatedCPUs, n.Status.EffectiveCPUs),
				fmt.Sprintf("%d/%d", n.Status.AllocatedMemoryMiB, n.Spec.MemoryMiB), n.Spec.GRES, n.Status.Reason,
				n.Status.GRESUsed, strings.Join(n.Status.States, "+"), n.Status.Load, strings.Join(n.Status.ActiveFeatures, ","),
				n.Spec.Address, n.Status.Version,
			}
		},
	}
}

func partitionTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{
			column("Name", "name", 0, "cluster and partition"),
			column("State", "", 0, "whether it takes and starts jobs"),
			column("Default", "boolean", 0, "whether jobs that name none come here"),
			column("Nodes", "integer", 0, "number of nodes"),
			column("CPUs", "integer", 0, "number of CPUs"),
			column("Limit", "", 0, "longest time limit"),
			column("Nodelist", "", 0, "its nodes"),
			column("Max nodes", "", wide, "most nodes of a job"),
			column("Tier", "integer", wide, "priority tier"),
			column("QOS", "", wide, "quality of service"),
			column("Accounts", "", wide, "accounts that may use it"),
			column("TRES", "", wide, "trackable resources of all nodes"),
		},
		row: func(_ time.Time, o runtime.Object) []any {
			p, ok := o.(*v1alpha1.SlurmPartition)
			if !ok {
				return nil
			}
			return []any{
				p.Name, p.Status.State, flagged(p.Spec.Default), p.Status.TotalNodes, p.Status.TotalCPUs,
				minutes(p.Spec.MaxTimeMinutes), cmp.Or(p.Spec.Nodes, p.Spec.NodeSets), amount(p.Spec.MaxNodes),
				p.Spec.PriorityTier, p.Spec.QOS, p.Spec.AllowAccounts, p.Status.TRES,
			}
		},
	}
}

// flagged is empty where a flag is not set: before API v0.0.45 nobody tells of it.
func flagged(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// elapsed is how long the job has run, empty while it waits.
func elapsed(now time.Time, j *v1alpha1.SlurmJob) string {
	start, end := j.Status.StartTime, now
	if start == nil || j.Status.State == "PENDING" {
		return ""
	}
	if e := j.Status.EndTime; e != nil && e.Time.Before(now) {
		end = e.Time
	}
	return duration.HumanDuration(max(0, end.Sub(start.Time)))
}

func age(now time.Time, since *metav1.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(since.Time)))
}

func count(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func amount(n *intstr.IntOrString) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// minutes is a time limit as Slurm prints it, without seconds: "1-02:30", "0:45".
func minutes(n *intstr.IntOrString) string {
	if n == nil || n.Type == intstr.String {
		return amount(n)
	}
	m := n.IntValue()
	if days := m / 1440; days > 0 {
		return fmt.Sprintf("%d-%02d:%02d", days, m/60%24, m%60)
	}
	return fmt.Sprintf("%d:%02d", m/60, m%60)
}
