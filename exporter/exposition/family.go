package exposition

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Kind is the type of a metric, as in the exposition.
type Kind string

// The kinds of metrics.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Family is one metric. Its samples share a name and label names.
type Family struct {
	Name   string
	Kind   Kind
	Help   string
	Labels []string
	Values func(v *tally.View, out *Samples)
}

// Samples collects the lines of one family.
type Samples struct {
	buf []byte
	// beforeLabels[i] is the text before the value of label i; beforeValue is the text before
	// the sample's value.
	beforeLabels []string
	beforeValue  string
	count        int
}

func newSamples(f Family, fixed ConstLabels) *Samples {
	s := &Samples{beforeValue: f.Name + " "}
	if fixed.text != "" {
		s.beforeValue = f.Name + "{" + strings.TrimSuffix(fixed.text, ",") + "} "
	}
	for i, l := range f.Labels {
		l = fixed.rename(l)
		if i == 0 {
			s.beforeLabels = append(s.beforeLabels, f.Name+"{"+fixed.text+l+`="`)
			continue
		}
		s.beforeLabels = append(s.beforeLabels, `",`+l+`="`)
	}
	if len(f.Labels) > 0 {
		s.beforeValue = `"} `
	}
	return s
}

// Add appends one sample, with a value for each label of the family.
func (s *Samples) Add(value float64, labels ...string) {
	for i, before := range s.beforeLabels {
		s.buf = append(s.buf, before...)
		s.buf = appendLabel(s.buf, labels[i])
	}
	s.buf = append(s.buf, s.beforeValue...)
	s.buf = appendValue(s.buf, value)
	s.buf = append(s.buf, '\n')
	s.count++
}

// AddCount appends a count.
func (s *Samples) AddCount(value uint64, labels ...string) { s.Add(float64(value), labels...) }

// AddFlag appends 1 or 0.
func (s *Samples) AddFlag(on bool, labels ...string) {
	if on {
		s.Add(1, labels...)
		return
	}
	s.Add(0, labels...)
}

// AddNumber appends n times unit, +Inf if n is infinite, or no sample if n is absent or unset.
func (s *Samples) AddNumber(n slurm.Number, unit float64, labels ...string) {
	if v, ok := n.Value(); ok {
		s.Add(float64(v)*unit, labels...)
	} else if n.IsInfinite() {
		s.Add(math.Inf(1), labels...)
	}
}

// AddFloat appends f, +Inf if f is infinite, or no sample if f is absent or unset.
func (s *Samples) AddFloat(f slurm.Float, labels ...string) {
	if v, ok := f.Value(); ok {
		s.Add(v, labels...)
	} else if f.IsInfinite() {
		s.Add(math.Inf(1), labels...)
	}
}

// AddTime appends a Unix time, +Inf for never, or no sample if t is not set.
func (s *Samples) AddTime(t slurm.Time, labels ...string) {
	switch {
	case t == slurm.Never:
		s.Add(math.Inf(1), labels...)
	case t.IsSet():
		s.Add(float64(t), labels...)
	}
}

// appendLabel escapes a label value as the text format requires. It replaces bytes that are not
// UTF-8, because one such byte makes Prometheus reject the whole scrape.
func appendLabel(buf []byte, v string) []byte {
	if !strings.ContainsAny(v, "\\\"\n") && (isASCII(v) || utf8.ValidString(v)) {
		return append(buf, v...)
	}
	for _, r := range v {
		switch r {
		case '\\':
			buf = append(buf, `\\`...)
		case '"':
			buf = append(buf, `\"`...)
		case '\n':
			buf = append(buf, `\n`...)
		default:
			buf = utf8.AppendRune(buf, r)
		}
	}
	return buf
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func appendValue(buf []byte, v float64) []byte {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.AppendInt(buf, int64(v), 10)
	case math.IsInf(v, 1):
		return append(buf, "+Inf"...)
	case math.IsInf(v, -1):
		return append(buf, "-Inf"...)
	}
	return strconv.AppendFloat(buf, v, 'g', -1, 64)
}

// formatHeads returns the HELP and TYPE lines in the text format and in OpenMetrics, which
// names counters without _total.
func (f Family) formatHeads() (text, open string) {
	head := func(name string) string {
		help := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.Help)
		return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + string(f.Kind) + "\n"
	}
	name := f.Name
	if f.Kind == Counter {
		name = strings.TrimSuffix(name, "_total")
	}
	return head(f.Name), head(name)
}

// LabelSpelling returns a word of Slurm in lower case, as label values are spelled.
func LabelSpelling(s string) string { return strings.ToLower(s) }

// OneIf returns 1 if on is true, and 0 otherwise.
func OneIf(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
