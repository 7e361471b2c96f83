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

	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// table defines what kubectl get prints. Columns of priority 1 are shown with -o wide.
type table struct {
	columns []metav1.TableColumnDefinition
	row     func(now time.Time, o runtime.Object) []any
}

func newColumn(name, format string, wide int32, description string) metav1.TableColumnDefinition {
	kind := "string"
	if format == "integer" {
		kind, format = "integer", ""
	}
	return metav1.TableColumnDefinition{Name: name, Type: kind, Format: format, Priority: wide,
		Description: description}
}

const wide = 1

// convert converts an object or a list to a table.
func (t table) convert(
	_ context.Context, now time.Time, o runtime.Object, options runtime.Object,
) (*metav1.Table, error) {
	out := &metav1.Table{}
	add := func(o runtime.Object) error {
		out.Rows = append(out.Rows,
			metav1.TableRow{Cells: fillCells(t.row(now, o)), Object: runtime.RawExtension{Object: o}})
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
		out.ResourceVersion, out.Continue, out.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(),
			list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(o); err == nil {
		out.ResourceVersion = one.GetResourceVersion()
	}
	if opts, ok := options.(*metav1.TableOptions); !ok || opts == nil || !opts.NoHeaders {
		out.ColumnDefinitions = t.columns
	}
	return out, nil
}

// fillCells replaces empty cells by <none>, as kubectl does, so that scripts can count columns.
func fillCells(cells []any) []any {
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
			newColumn("Name", "name", 0, "cluster and job id"),
			newColumn("Partition", "", 0, "partitions where the job may run, or the partition where it runs"),
			newColumn("Job", "", 0, "the job's name"),
			newColumn("User", "", 0, "user of the job"),
			newColumn("State", "", 0, "base state"),
			newColumn("Time", "", 0, "run time"),
			newColumn("Nodes", "", 0, "number of allocated or requested nodes"),
			newColumn("Nodelist(Reason)", "", 0, "allocated nodes, or the reason why the job is pending"),
			newColumn("Account", "", wide, "account that is charged"),
			newColumn("QOS", "", wide, "quality of service"),
			newColumn("CPUs", "", wide, "number of allocated or requested CPUs"),
			newColumn("Limit", "", wide, "time limit"),
			newColumn("Priority", "", wide, "priority"),
			newColumn("Tasks", "", wide, "array index, or the indices not yet split off"),
			newColumn("Age", "", wide, "time since submission"),
		},
		row: func(now time.Time, o runtime.Object) []any {
			j, ok := o.(*v1alpha1.SlurmJob)
			if !ok {
				return nil
			}
			return []any{
				j.Name, strings.Join(j.Spec.Partitions, ","), j.Spec.Name, j.Spec.User, j.Status.State,
				formatElapsed(now, j), formatCount(j.Status.NodeCount),
				cmp.Or(j.Status.Nodes, "("+cmp.Or(j.Status.Reason, "None")+")"),
				j.Spec.Account, j.Spec.QOS, formatCount(j.Status.CPUs), formatMinutes(j.Spec.TimeLimitMinutes),
				formatCount(j.Status.Priority),
				cmp.Or(formatCount(j.Spec.ArrayTaskID), j.Spec.ArrayTasks), formatAge(now, &j.CreationTimestamp),
			}
		},
	}
}

func nodeTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{
			newColumn("Name", "name", 0, "cluster and node"),
			newColumn("State", "", 0, "state as sinfo shows it"),
			newColumn("Partitions", "", 0, "partitions of the node"),
			newColumn("CPUs", "", 0, "allocated CPUs and CPUs that jobs may use"),
			newColumn("Memory", "", 0, "allocated and total memory in MiB"),
			newColumn("GRES", "", 0, "generic resources"),
			newColumn("Reason", "", 0, "why the node is drained or down"),
			newColumn("GRES used", "", wide, "allocated generic resources"),
			newColumn("States", "", wide, "base state and flags"),
			newColumn("Load", "", wide, "one-minute load average"),
			newColumn("Features", "", wide, "active features"),
			newColumn("Address", "", wide, "address of the node"),
			newColumn("Version", "", wide, "version of slurmd"),
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
				n.Status.GRESUsed, strings.Join(n.Status.States, "+"), n.Status.Load,
				strings.Join(n.Status.ActiveFeatures, ","),
				n.Spec.Address, n.Status.Version,
			}
		},
	}
}

func partitionTable() table {
	return table{
		columns: []metav1.TableColumnDefinition{
			newColumn("Name", "name", 0, "cluster and partition"),
			newColumn("State", "", 0, "whether the partition accepts and starts jobs"),
			newColumn("Default", "boolean", 0, "whether jobs use the partition by default"),
			newColumn("Nodes", "integer", 0, "number of nodes"),
			newColumn("CPUs", "integer", 0, "number of CPUs"),
			newColumn("Limit", "", 0, "longest time limit"),
			newColumn("Nodelist", "", 0, "nodes of the partition"),
			newColumn("Max nodes", "", wide, "maximum number of nodes of a job"),
			newColumn("Tier", "integer", wide, "priority tier"),
			newColumn("QOS", "", wide, "quality of service"),
			newColumn("Accounts", "", wide, "accounts that may use the partition"),
			newColumn("TRES", "", wide, "trackable resources of all nodes"),
		},
		row: func(_ time.Time, o runtime.Object) []any {
			p, ok := o.(*v1alpha1.SlurmPartition)
			if !ok {
				return nil
			}
			return []any{
				p.Name, p.Status.State, formatFlag(p.Spec.Default), p.Status.TotalNodes, p.Status.TotalCPUs,
				formatMinutes(p.Spec.MaxTimeMinutes), cmp.Or(p.Spec.Nodes, p.Spec.NodeSets),
				formatLimit(p.Spec.MaxNodes),
				p.Spec.PriorityTier, p.Spec.QOS, p.Spec.AllowAccounts, p.Status.TRES,
			}
		},
	}
}

// formatFlag returns "" for a flag that is not set, because older API versions do not report it.
func formatFlag(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// formatElapsed returns the run time of a job, or "" while it is pending.
func formatElapsed(now time.Time, j *v1alpha1.SlurmJob) string {
	if j.Status.StartTime == nil || j.Status.State == "PENDING" {
		return ""
	}
	return duration.HumanDuration(convert.JobRecord(j).RunTime(slurm.At(now)))
}

func formatAge(now time.Time, since *metav1.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(since.Time)))
}

func formatCount(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func formatLimit(n *intstr.IntOrString) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// formatMinutes returns a time limit as Slurm prints it, without seconds: "1-02:30", "0:45".
func formatMinutes(n *intstr.IntOrString) string {
	if n == nil || n.Type == intstr.String {
		return formatLimit(n)
	}
	m := n.IntValue()
	if days := m / 1440; days > 0 {
		return fmt.Sprintf("%d-%02d:%02d", days, m/60%24, m%60)
	}
	return fmt.Sprintf("%d:%02d", m/60, m%60)
}
