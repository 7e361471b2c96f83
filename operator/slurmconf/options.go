// Package slurmconf reads and writes Slurm's configuration: slurm.conf and slurmdbd.conf, and
// key=value lines such as the options of a NodeName line (slurm.conf(5)), slurmd's --conf and the
// options of "scontrol create".
//
// It is pure: no client, file, context or clock.
package slurmconf

import (
	"slices"
	"strconv"
	"strings"
)

// Option is one option of a line.
type Option struct {
	// Name is empty for a word that is not an option; Slurm reports it.
	Name string
	// Value is as written, so it may be in quotes.
	Value string
}

// String returns the option as it is written in a line.
func (o Option) String() string {
	if o.Name == "" {
		return o.Value
	}
	return o.Name + "=" + o.Value
}

// Options are the options of a line in the order of their first occurrence. A repeated option has
// its last value, except that the lists Feature and Gres are joined. Names are compared without
// regard to case, and Features and Procs are other names of Feature and CPUs. An option without a
// value is left out, because Slurm would take the next option for its value.
//
// The zero value has no options and is ready to use.
type Options struct{ list []Option }

// String returns the line.
func (o Options) String() string {
	words := make([]string, len(o.list))
	for i, x := range o.list {
		words[i] = x.String()
	}
	return strings.Join(words, " ")
}

// Canonical returns the options in a form that is equal for lines with the same effect: sorted, under one name each, and
// without quotes.
func (o Options) Canonical() string {
	words := make([]string, len(o.list))
	for i, x := range o.list {
		words[i] = canonicalName(x.Name) + "=" + trimQuotes(x.Value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// canonicalName returns the name that identifies an option in comparisons.
func canonicalName(name string) string {
	switch name = strings.ToLower(name); name {
	case "features":
		return "feature"
	case "procs":
		return "cpus"
	}
	return name
}

func (o Options) find(name string) int {
	return slices.IndexFunc(o.list,
		func(x Option) bool { return x.Name != "" && canonicalName(x.Name) == canonicalName(name) })
}

// HasAny reports whether at least one of the options is present.
func (o Options) HasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return o.find(name) >= 0 })
}

// Value returns the value of an option without its quotes, or "" if the option is absent.
func (o Options) Value(name string) string {
	if i := o.find(name); i >= 0 {
		return trimQuotes(o.list[i].Value)
	}
	return ""
}

// Number returns the value of an option as a whole number (ParseNumber), and reports whether it is a number.
func (o Options) Number(name string) (uint64, bool) { return ParseNumber(o.Value(name)) }

// List returns the items of an option that is a list.
func (o Options) List(name string) []string { return SplitList(o.Value(name)) }

// Remove removes the named options.
func (o *Options) Remove(names ...string) {
	for _, name := range names {
		if i := o.find(name); i >= 0 {
			o.list = slices.Delete(o.list, i, i+1)
		}
	}
}

// Prepend puts an option first, in place of one of that name.
func (o *Options) Prepend(x Option) {
	o.Remove(x.Name)
	o.list = slices.Insert(o.list, 0, x)
}

// Add adds an option at the end. An option of that name keeps its place and gets the new value; to
// the lists Feature and Gres the new items are added.
func (o *Options) Add(x Option) {
	i := o.find(x.Name)
	switch {
	case x.Name == "" || i < 0:
		o.list = append(o.list, x)
	case canonicalName(x.Name) == "feature", canonicalName(x.Name) == "gres":
		o.list[i].Value = strings.Join(MergeLists(SplitList(o.list[i].Value), SplitList(x.Value)), ",")
	default:
		o.list[i].Value = x.Value
	}
}

// AddNumber adds a number that is known (not 0), unless the option or one of the others is present.
func (o *Options) AddNumber(name string, number uint64, others ...string) {
	if number > 0 && !o.HasAny(name) && !o.HasAny(others...) {
		o.list = append(o.list, Option{name, strconv.FormatUint(number, 10)})
	}
}

// SplitList returns the items of a list, which may be in quotes.
func SplitList(list string) []string {
	var out []string
	for item := range strings.SplitSeq(trimQuotes(list), ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// MergeLists appends to a the items of b that a lacks.
func MergeLists(a, b []string) []string {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

func trimQuotes(text string) string { return strings.Trim(text, `"'`) }
