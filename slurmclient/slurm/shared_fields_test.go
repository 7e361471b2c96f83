package slurm

import (
	"reflect"
	"testing"
)

// setAny gives a field a value other than its zero value.
func setAny(t *testing.T, field reflect.Value) {
	t.Helper()
	switch v := field.Addr().Interface().(type) {
	case *string:
		*v = "text"
	case *uint32:
		*v = 7
	case *bool:
		*v = true
	case *Number:
		*v = Num(7)
	case *Time:
		*v = 7
	default:
		t.Fatalf("no value for a %s", field.Type())
	}
}

// checkSharedField sets one shared field of a copy of a job by edit, which gets the field by its index.
func checkSharedField(t *testing.T, name string, edit func(*Job)) {
	t.Helper()
	original := Job{ID: 1, Name: "a"}
	original.EditOwner(func(o *JobOwner) { o.GroupName = "staff" })
	original.EditDetails(func(d *JobDetails) { d.Network = "sn" })
	read := func(j *Job) any { return reflect.ValueOf(j).MethodByName(name).Call(nil)[0].Interface() }
	before := read(&original)
	changed, again := original, original
	edit(&changed)
	edit(&again)
	if read(&changed) == before {
		t.Errorf("%s() is %v after the field changed", name, before)
	}
	if got := read(&original); got != before {
		t.Errorf("%s() of the original is %v after a change of the copy, was %v", name, got, before)
	}
	if original.Same(&changed) || changed.Same(&original) {
		t.Errorf("Same does not see that %s differs", name)
	}
	if !again.Same(&changed) || again.SharedOwner == changed.SharedOwner && again.SharedDetails == changed.SharedDetails {
		t.Errorf("two jobs with equal values of %s in different places are not the same", name)
	}
	again.ID = 2
	if again.Same(&changed) {
		t.Errorf("with another %s, Same does not see that the id differs", name)
	}
	if zero := reflect.ValueOf(&Job{}).MethodByName(name).Call(nil)[0]; !zero.IsZero() {
		t.Errorf("%s() of a zero job is %v", name, zero)
	}
}

func TestChangingASharedFieldOfOneJobChangesNoOther(t *testing.T) {
	for i := range reflect.TypeFor[JobOwner]().NumField() {
		checkSharedField(t, reflect.TypeFor[JobOwner]().Field(i).Name, func(j *Job) {
			j.EditOwner(func(o *JobOwner) { setAny(t, reflect.ValueOf(o).Elem().Field(i)) })
		})
	}
	for i := range reflect.TypeFor[JobDetails]().NumField() {
		checkSharedField(t, reflect.TypeFor[JobDetails]().Field(i).Name, func(j *Job) {
			j.EditDetails(func(d *JobDetails) { setAny(t, reflect.ValueOf(d).Elem().Field(i)) })
		})
	}
}

// TestEveryFieldOfAJobIsCompared changes each field that a job does not share.
func TestEveryFieldOfAJobIsCompared(t *testing.T) {
	typ := reflect.TypeFor[Job]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous || f.Name == "_" {
			continue
		}
		var j, k Job
		switch v := reflect.ValueOf(&j).Elem().Field(i).Addr().Interface().(type) {
		case *JobState:
			v.Flags = JobCompleting
		case *int32:
			*v = -1
		default:
			setAny(t, reflect.ValueOf(&j).Elem().Field(i))
		}
		if j.Same(&k) {
			t.Errorf("Same does not see that %s differs", f.Name)
		}
	}
}

func TestSharedFieldsAreCopies(t *testing.T) {
	owner, details := JobOwner{UserName: "alice"}, JobDetails{Features: "gpu"}
	j := Job{SharedOwner: ShareOwner(owner), SharedDetails: ShareDetails(details)}
	owner.UserName, details.Features = "bob", "cpu"
	got, kept := j.Owner(), (*JobDetails)(nil)
	got.UserName = "bob"
	j.EditDetails(func(d *JobDetails) { kept = d })
	kept.Features = "cpu"
	if j.UserName() != "alice" || j.Features() != "gpu" {
		t.Errorf("the job of alice with the feature gpu became one of %s with %s", j.UserName(), j.Features())
	}
}

// TestAJobIsSmall guards the memory of a cache: 320 bytes is a size class of Go's allocator, and the next is 352.
func TestAJobIsSmall(t *testing.T) {
	if size := reflect.TypeFor[Job]().Size(); size > 320 {
		t.Errorf("a Job has %d bytes, want at most 320", size)
	}
}

func TestTextBytesCountsEveryText(t *testing.T) {
	fields := reflect.TypeFor[JobDetails]()
	for i := range fields.NumField() {
		var d JobDetails
		if field := reflect.ValueOf(&d).Elem().Field(i); field.Kind() == reflect.String {
			field.SetString("text")
			if got := d.TextBytes(); got != 4 {
				t.Errorf("TextBytes() = %d with 4 bytes in %s", got, fields.Field(i).Name)
			}
		}
	}
}
