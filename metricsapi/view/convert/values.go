package convert

import (
	"math"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

// formatTime converts a time; an unset time and never become nil.
func formatTime(t slurm.Time) *metav1.Time {
	at := t.Time()
	if at.IsZero() {
		return nil
	}
	out := metav1.NewTime(at.UTC())
	return &out
}

// formatNumber converts a number; an absent, unset or infinite number becomes nil.
func formatNumber(n slurm.Number) *int64 {
	v, ok := n.Value()
	if !ok {
		return nil
	}
	out := int64(min(v, math.MaxInt64))
	return &out
}

// unlimited represents Slurm's infinite.
const unlimited = "unlimited"

// formatLimit converts a number; infinite becomes "unlimited", and absent or unset becomes nil. A
// number that does not fit the type becomes a string.
func formatLimit(n slurm.Number) *intstr.IntOrString {
	v, ok := n.Value()
	switch {
	case n.IsInfinite():
		out := intstr.FromString(unlimited)
		return &out
	case !ok:
		return nil
	case v > math.MaxInt32:
		out := intstr.FromString(strconv.FormatUint(v, 10))
		return &out
	}
	out := intstr.FromInt32(int32(v))
	return &out
}

// knownText returns the text, or "" for Slurm's placeholders of an unset text.
func knownText(text string) string {
	if text == "(null)" || text == "N/A" {
		return ""
	}
	return text
}

// formatPositive converts a number for which 0 means unset; 0 and an unset number become nil.
func formatPositive(n slurm.Number) *int64 {
	out := formatNumber(n)
	if out != nil && *out == 0 {
		return nil
	}
	return out
}

// parseTime converts a time; nil becomes unset.
func parseTime(t *metav1.Time) slurm.Time {
	if t == nil {
		return 0
	}
	return slurm.At(t.Time)
}

// parseNumber converts a number; nil and negative numbers become absent.
func parseNumber(v *int64) slurm.Number {
	if v == nil || *v < 0 {
		return slurm.Number{}
	}
	return slurm.Num(uint64(*v))
}

// parseLimit converts a number or "unlimited". A text with digits is a number that does not fit
// the integer of the type; nil and other texts become absent.
func parseLimit(v *intstr.IntOrString) slurm.Number {
	switch {
	case v == nil:
		return slurm.Number{}
	case v.Type == intstr.Int:
		return slurm.Num(uint64(max(0, v.IntVal)))
	case strings.EqualFold(v.StrVal, unlimited):
		return slurm.Infinite()
	}
	n, err := strconv.ParseUint(v.StrVal, 10, 64)
	if err != nil {
		return slurm.Number{}
	}
	return slurm.Num(n)
}
