package view

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// A change of a record is an event if and only if its object shows it, and then changes the fingerprint.
func TestChangesAreWhatObjectsShow(t *testing.T) {
	// The scheduler evaluates jobs all the time, and the association may tell who the user of a job is.
	checkChanges(t, jobResource(), newJob(7, slurm.JobRunning, onNodes("n1")), "LastSchedEval", "AssociationID")
	checkChanges(t, jobResource(), newJob(7, slurm.JobPending), "LastSchedEval", "AssociationID", "Nodes")
	checkChanges(t, nodeResource(), newNode("n1"))
	checkChanges(t, partitionResource(), newPartition("p"))
	if a, b := newNode("n1"), newNode("n1"); nodeResource().fingerprint(a) != nodeResource().fingerprint(b) {
		t.Error("equal nodes have different fingerprints")
	}
	split := func(names ...string) *slurm.Node { return &slurm.Node{Features: names} }
	if nodeResource().fingerprint(split("ab", "c")) == nodeResource().fingerprint(split("a", "bc")) {
		t.Error("lists of different texts have one fingerprint")
	}
}

// checkChanges changes each field of a record, but for those that differ on purpose.
func checkChanges[T any](t *testing.T, n *resource[T], before *T, except ...string) {
	t.Helper()
	object := func(r *T) string {
		text, err := json.Marshal(n.newObject(placement{ref: clusterRef("a", "red")}, r))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	count := 0
	for name, after := range changedCopies(before) {
		shown, same := object(before) != object(after), n.same(before, after)
		if equal := n.fingerprint(before) == n.fingerprint(after); equal != same {
			t.Errorf("%s with another %s is the same: %t, and has the same fingerprint: %t", n.kind, name, same, equal)
		}
		if shown == same && !slices.Contains(except, name) {
			t.Errorf("%s shows another %s: %t, and is the same: %t", n.kind, name, shown, same)
		}
		count++
	}
	if count < 10 {
		t.Errorf("only %d fields of %s were changed", count, n.kind)
	}
}

// changedCopies yields the name of each field of a record, with a copy in which it differs.
func changedCopies[T any](record *T) iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		for f := range reflect.TypeFor[T]().Fields() {
			switch f.Type {
			case reflect.TypeFor[slurm.SharedOwner]():
				for k := range reflect.TypeFor[slurm.JobOwner]().Fields() {
					c := *record
					any(&c).(*slurm.Job).EditOwner(func(o *slurm.JobOwner) { changeField(reflect.ValueOf(o).Elem().FieldByIndex(k.Index)) })
					yield(k.Name, &c)
				}
			case reflect.TypeFor[slurm.SharedDetails]():
				for k := range reflect.TypeFor[slurm.JobDetails]().Fields() {
					c := *record
					any(&c).(*slurm.Job).EditDetails(func(d *slurm.JobDetails) { changeField(reflect.ValueOf(d).Elem().FieldByIndex(k.Index)) })
					yield(k.Name, &c)
				}
			case reflect.TypeFor[[0]func()]():
			default:
				c := *record
				changeField(reflect.ValueOf(&c).Elem().FieldByIndex(f.Index))
				yield(f.Name, &c)
			}
		}
	}
}

func changeField(v reflect.Value) {
	switch v.Addr().Interface().(type) {
	case *slurm.Number:
		v.Set(reflect.ValueOf(slurm.Num(77)))
		return
	case *slurm.Float:
		v.Set(reflect.ValueOf(slurm.Flt(0.77)))
		return
	case *slurm.JobState:
		v.Set(reflect.ValueOf(slurm.JobState{Base: slurm.JobFailed}))
		return
	case *slurm.NodeState:
		v.Set(reflect.ValueOf(slurm.ParseNodeState("DOWN")))
		return
	case *slurm.Time:
		v.Set(reflect.ValueOf(slurm.At(noon().Add(-1))))
		return
	case *[]string:
		v.Set(reflect.ValueOf([]string{"other"}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("other=7")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Struct:
		changeField(v.Field(0))
	default:
		v.SetUint(v.Uint() + 1)
	}
}

func BenchmarkFingerprint(b *testing.B) {
	n, j := jobResource(), newJob(7, slurm.JobRunning, onNodes("n[0-1]"))
	b.ReportAllocs()
	for b.Loop() {
		n.fingerprint(j)
	}
}
