package oracle

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// tableRow writes what demand read, and what it should have required of each pool, as a
// row of demand's table tests.
func tableRow(name string, s *slurmclient.Snapshot, pools []demand.Pool, want []uint64) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%q: {\n\tnouns: []any{\n", name)
	for _, p := range pools {
		fmt.Fprintf(&out, "\t\t%s,\n", literal(reflect.ValueOf(p)))
	}
	for _, p := range s.Partitions.Value {
		fmt.Fprintf(&out, "\t\t%s,\n", literal(reflect.ValueOf(p)))
	}
	for _, n := range s.Nodes.Value {
		fmt.Fprintf(&out, "\t\t%s,\n", literal(reflect.ValueOf(n)))
	}
	for _, j := range s.Jobs.Value {
		if j.Name != idleJob && j.State.Base == slurm.JobPending {
			fmt.Fprintf(&out, "\t\t%s,\n", literal(reflect.ValueOf(j)))
		}
	}
	fmt.Fprintf(&out, "\t},\n\twant: %#v,\n},", want)
	return out.String()
}

// literal writes a value as Go source, without the fields that are zero.
func literal(v reflect.Value) string {
	if n, ok := v.Interface().(slurm.Number); ok {
		return numberLiteral(n)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return "&" + literal(v.Elem())
	case reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			if !v.Field(i).IsZero() && v.Type().Field(i).IsExported() {
				fields = append(fields, v.Type().Field(i).Name+": "+literal(v.Field(i)))
			}
		}
		return v.Type().String() + "{" + strings.Join(fields, ", ") + "}"
	case reflect.Bool, reflect.String, reflect.Slice, reflect.Map:
		return fmt.Sprintf("%#v", v.Interface())
	}
	return fmt.Sprintf("%d", v.Interface())
}

func numberLiteral(n slurm.Number) string {
	switch {
	case n.IsInfinite():
		return "slurm.Infinite()"
	case n.IsUnset():
		return "slurm.Unset()"
	}
	return fmt.Sprintf("slurm.Num(%d)", n.Or(0))
}
