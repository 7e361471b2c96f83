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
	// options are those of the partition and of the DEFAULT lines before it, by their names in lower case.
	options map[string]string
}

// Value returns the value of an option of the partition, such as Nodes, which a PartitionName=DEFAULT line before it
// may have set. It is empty if neither sets it.
func (p Partition) Value(option string) string { return p.options[strings.ToLower(option)] }

// Partitions returns the partitions of a slurm.conf, in its order. Of included files it knows nothing: see
// PartitionsOf.
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

// partitionState returns the state that slurmctld reads from a value of State. It reads the beginning alone, such as DRAIN in
// "drained", while scontrol refuses that. One that it does not know is returned as it is.
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

// record is a line with a name of its own, such as that of a partition.
type record struct {
	// kind is the first option, in lower case, and name its value.
	kind, name string
	// options are the others by their names in lower case, with those of the DEFAULT records before it.
	options map[string]string
}

// resolveRecords returns the records among settings. The options of a DEFAULT record are those of all DEFAULT
// records of its kind up to it.
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

// text returns the options of a record in an order of their own.
func (r record) text() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.options)) {
		out.WriteString(name + "=" + r.options[name] + "\n")
	}
	return out.String()
}
