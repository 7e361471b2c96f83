package slurmconf

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Partition is a partition of slurm.conf.
type Partition struct {
	Name string
	// State is UP, DOWN, DRAIN or INACTIVE.
	State string
	// options are the options of the partition and of the preceding DEFAULT lines, by their names in lower case.
	options map[string]string
}

// Value returns the value of an option of the partition, such as Nodes, which a preceding PartitionName=DEFAULT line may have
// set. It is empty if neither sets it.
func (p Partition) Value(option string) string { return p.options[strings.ToLower(option)] }

// Partitions returns the partitions of a slurm.conf, in its order, without included files: see PartitionsOf.
func Partitions(text string) []Partition { return PartitionsOf(ParseSettings(text)) }

// PartitionsOf returns the partitions of settings, in their order. PartitionName=DEFAULT lines hold for the
// partitions after them, each option until another such line sets it.
func PartitionsOf(settings []Setting) []Partition {
	var out []Partition
	for _, r := range resolveRecords(settings) {
		if r.kind != "partitionname" || strings.EqualFold(r.name, defaultRecord) {
			continue
		}
		out = append(out, Partition{r.name, partitionState(r.options["state"]), r.options})
	}
	return out
}

// partitionState returns the state that slurmctld reads from a value of State. slurmctld compares only the beginning, such as
// DRAIN in "drained", although scontrol refuses that. An unknown state is returned unchanged.
func partitionState(value string) string {
	value = strings.ToUpper(strings.Trim(value, `"`))
	for _, state := range []string{"DOWN", "UP", "DRAIN", "INACTIVE"} {
		if strings.HasPrefix(value, state) {
			return state
		}
	}
	return cmp.Or(value, "UP")
}

// defaultRecord is the name, in any case, of records whose options hold for those after it.
const defaultRecord = "DEFAULT"

// record is a line with its own name, such as a partition's.
type record struct {
	// kind is the first option, in lower case, and name its value.
	kind, name string
	// options are the other options by their names in lower case, including the options of the preceding DEFAULT records.
	options map[string]string
}

// resolveRecords returns the records among settings. A DEFAULT record has the options of all DEFAULT records of its kind up
// to it.
func resolveRecords(settings []Setting) []record {
	var out []record
	defaults := map[string]map[string]string{}
	for _, s := range settings {
		kind := strings.ToLower(s.Name)
		if !recordNames[kind] || s.IsInclude() {
			continue
		}
		r := record{kind, s.Value, maps.Clone(defaults[kind])}
		if r.options == nil {
			r.options = map[string]string{}
		}
		for i, field := range s.Fields() {
			if i > 0 {
				r.options[strings.ToLower(field.Name)] = field.Value
			}
		}
		if strings.EqualFold(s.Value, defaultRecord) {
			defaults[kind] = r.options
		}
		out = append(out, r)
	}
	return out
}

// text returns the options of a record in a fixed order.
func (r record) text() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.options)) {
		out.WriteString(name + "=" + r.options[name] + "\n")
	}
	return out.String()
}
