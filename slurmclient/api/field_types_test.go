package api_test

import (
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFieldTypesAgreeAcrossVersions compares the types of every version with the previous version's types. A field of
// the same name in a type of the same name has the same type, except where Slurm changed it.
func TestFieldTypesAgreeAcrossVersions(t *testing.T) {
	var got []string
	var before map[string]string
	for _, rec := range recordedFolders() {
		fields := map[string]string{}
		for _, zero := range rec.types {
			collectFields(fields, reflect.TypeOf(zero()).Elem())
		}
		if len(fields) < 500 {
			t.Fatalf("%s has only %d fields", rec.folder, len(fields))
		}
		for name, kind := range fields {
			if was, ok := before[name]; ok && was != kind {
				got = append(got, rec.folder+" "+name+": "+was+" -> "+kind)
			}
		}
		before = fields
	}
	slices.Sort(got)
	want := []string{
		"24.11/v0.0.41 Assoc.ID: *AssocShort -> *int64",
		"24.11/v0.0.41 JobRes.Nodes: *string -> *JobResNodes",
		"24.11/v0.0.41 StatsMsgRPCType.AverageTime: *int64 -> *Uint64NoVal",
		"24.11/v0.0.41 StatsMsgRPCUser.AverageTime: *int64 -> *Uint64NoVal",
		"24.11/v0.0.42 AssocSharesObjWrap.EffectiveUsage: *float64 -> *Float64NoVal",
		"24.11/v0.0.42 AssocSharesObjWrapFairshare.Factor: *float64 -> *Float64NoVal",
		"24.11/v0.0.42 AssocSharesObjWrapFairshare.Level: *float64 -> *Float64NoVal",
		"26.05/v0.0.45 PartitionInfoCpus.TaskBinding: *int64 -> []string",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields that changed their type (-want +got):\n%s", diff)
	}
}

var packageName = regexp.MustCompile(`\bv00\d\d\.`)

// collectFields collects the types of all fields of a struct and of the structs in it.
func collectFields(fields map[string]string, typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name := typ.Name() + "." + field.Name
		if _, known := fields[name]; !known {
			fields[name] = packageName.ReplaceAllString(field.Type.String(), "")
			collectFields(fields, field.Type)
		}
	}
}
