package oracle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// formatTableRow formats the input of demand, and the requirement that each pool should have had, as a row of demand's
// table tests.
func formatTableRow(name string, s *slurmclient.Snapshot, pools []demand.Pool, want []uint64) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%q: {\n\tnouns: []any{\n", name)
	for _, p := range pools {
		fmt.Fprintf(&out, "\t\t%s,\n", goLiteral(reflect.ValueOf(p)))
	}
	for _, p := range s.Partitions.Value {
		if p.Name == idlePartition {
			continue
		}
		fmt.Fprintf(&out, "\t\t%s,\n", goLiteral(reflect.ValueOf(p)))
	}
	for _, n := range s.Nodes.Value {
		if slices.Equal(n.Partitions, []string{idlePartition}) {
			continue
		}
		fmt.Fprintf(&out, "\t\t%s,\n", goLiteral(reflect.ValueOf(n)))
	}
	for _, j := range s.Jobs.Value {
		if j.Name != idleJob && (j.State.Base == slurm.JobPending || j.State.Base == slurm.JobRunning) {
			fmt.Fprintf(&out, "\t\t%s,\n", goLiteral(reflect.ValueOf(j)))
		}
	}
	fmt.Fprintf(&out, "\t},\n\twant: %#v,\n},", want)
	return out.String()
}

// ignoredFields are fields that demand does not read.
var ignoredFields = map[string]bool{
	"GroupName": true, "AccrueTime": true,
	"SubmitTime": true, "Requeue": true, "TRES": true, "Default": true, "JobFactor": true,
	"PriorityTier": true, "PreemptMode": true, "Architecture": true, "OS": true, "Version": true, "BootTime": true,
	"Address": true, "Hostname": true, "Port": true, "ReasonBy": true, "ReasonAt": true, "ActiveFeatures": true,
}

// goLiteral formats a value as Go source, without zero and ignored fields.
func goLiteral(v reflect.Value) string {
	if n, ok := v.Interface().(slurm.Number); ok {
		return numberLiteral(n)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return "&" + goLiteral(v.Elem())
	case reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			if n, ok := v.Field(i).Interface().(slurm.Number); ok && !n.IsInfinite() && n.Or(0) == 0 {
				continue // 0 and unset mean the same for demand
			}
			if !v.Field(i).IsZero() && !ignoredFields[field.Name] {
				fields = append(fields, field.Name+": "+goLiteral(v.Field(i)))
			}
		}
		// Package demand exports the types of its model under its own name.
		return strings.Replace(v.Type().String(), "model.", "demand.", 1) + "{" + strings.Join(fields, ", ") + "}"
	case reflect.Bool, reflect.String, reflect.Slice, reflect.Map:
		return fmt.Sprintf("%#v", v.Interface())
	}
	return fmt.Sprintf("%d", v.Interface())
}

func numberLiteral(n slurm.Number) string {
	if n.IsInfinite() {
		return "slurm.Infinite()"
	}
	return fmt.Sprintf("slurm.Num(%d)", n.Or(0))
}
