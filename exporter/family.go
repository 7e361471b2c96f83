package exporter

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// metricKind is the type of a metric, as in the exposition.
type metricKind string

const (
	gauge   metricKind = "gauge"
	counter metricKind = "counter"
)

// family is one metric. Its samples share a name and label names.
type family struct {
	name   string
	kind   metricKind
	help   string
	labels []string
	values func(v *snapshotView, out *samples)
}

// samples collects the lines of one family.
type samples struct {
	buf []byte
	// beforeLabels[i] is the text before the value of label i; beforeValue is the text before
	// the sample's value.
	beforeLabels []string
	beforeValue  string
	count        int
}

func newSamples(f family, fixed constLabels) *samples {
	s := &samples{beforeValue: f.name + " "}
	if fixed.text != "" {
		s.beforeValue = f.name + "{" + strings.TrimSuffix(fixed.text, ",") + "} "
	}
	for i, l := range f.labels {
		l = fixed.rename(l)
		if i == 0 {
			s.beforeLabels = append(s.beforeLabels, f.name+"{"+fixed.text+l+`="`)
			continue
		}
		s.beforeLabels = append(s.beforeLabels, `",`+l+`="`)
	}
	if len(f.labels) > 0 {
		s.beforeValue = `"} `
	}
	return s
}

// add appends one sample, with a value for each label of the family.
func (s *samples) add(value float64, labels ...string) {
	for i, before := range s.beforeLabels {
		s.buf = append(s.buf, before...)
		s.buf = appendLabel(s.buf, labels[i])
	}
	s.buf = append(s.buf, s.beforeValue...)
	s.buf = appendValue(s.buf, value)
	s.buf = append(s.buf, '\n')
	s.count++
}

// addCount appends a count.
func (s *samples) addCount(value uint64, labels ...string) { s.add(float64(value), labels...) }

// addFlag appends 1 or 0.
func (s *samples) addFlag(on bool, labels ...string) {
	if on {
		s.add(1, labels...)
		return
	}
	s.add(0, labels...)
}

// addNumber appends n times unit, +Inf if n is infinite, or no sample if n is absent or unset.
func (s *samples) addNumber(n slurm.Number, unit float64, labels ...string) {
	if v, ok := n.Value(); ok {
		s.add(float64(v)*unit, labels...)
	} else if n.IsInfinite() {
		s.add(math.Inf(1), labels...)
	}
}

// addFloat appends f, +Inf if f is infinite, or no sample if f is absent or unset.
func (s *samples) addFloat(f slurm.Float, labels ...string) {
	if v, ok := f.Value(); ok {
		s.add(v, labels...)
	} else if f.IsInfinite() {
		s.add(math.Inf(1), labels...)
	}
}

// addTime appends a Unix time, +Inf for never, or no sample if t is not set.
func (s *samples) addTime(t slurm.Time, labels ...string) {
	switch {
	case t == slurm.Never:
		s.add(math.Inf(1), labels...)
	case t.IsSet():
		s.add(float64(t), labels...)
	}
}

const (
	mebibyte = 1 << 20
	minute   = float64(time.Minute / time.Second)
	micro    = 1e-6
)

func secondsOfMicros(n uint64) float64 { return float64(n) / 1e6 }

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
func (f family) formatHeads() (text, open string) {
	head := func(name string) string {
		help := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.help)
		return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + string(f.kind) + "\n"
	}
	name := f.name
	if f.kind == counter {
		name = strings.TrimSuffix(name, "_total")
	}
	return head(f.name), head(name)
}

// labelSpelling returns a word of Slurm in lower case, as label values are spelled.
func labelSpelling(s string) string { return strings.ToLower(s) }

// sortedKeys returns the keys of m in order, so that the order of samples is stable.
func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
