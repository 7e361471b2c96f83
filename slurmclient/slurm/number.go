package slurm

import (
	"math"
	"strconv"
)

// Number is an unsigned integer that may also be absent, unset or infinite, like slurmrestd's
// {"set":…,"infinite":…,"number":…} objects. The zero value is absent. Numbers compare with ==.
type Number struct{ encoded uint64 }

const (
	encAbsent = iota
	encUnset
	encInfinite
	encFirst
)

// Unset returns the Number of a field that Slurm left unset.
func Unset() Number { return Number{encUnset} }

// Infinite returns the Number that means "no limit".
func Infinite() Number { return Number{encInfinite} }

// Num returns the Number of a value. Values above 2^64-4 become infinite.
func Num(v uint64) Number {
	if v > math.MaxUint64-encFirst {
		return Infinite()
	}
	return Number{v + encFirst}
}

// Value returns the number and true, or 0 and false if it is absent, unset or infinite.
func (n Number) Value() (uint64, bool) {
	if n.encoded < encFirst {
		return 0, false
	}
	return n.encoded - encFirst, true
}

// Or returns the number, or fallback if it is absent, unset or infinite.
func (n Number) Or(fallback uint64) uint64 {
	if v, ok := n.Value(); ok {
		return v
	}
	return fallback
}

// IsAbsent reports whether the answer had no such field.
func (n Number) IsAbsent() bool { return n.encoded == encAbsent }

// IsUnset reports whether Slurm said that the field is not set.
func (n Number) IsUnset() bool { return n.encoded == encUnset }

// IsInfinite reports whether the field means "no limit".
func (n Number) IsInfinite() bool { return n.encoded == encInfinite }

// String returns the decimal value, "absent", "unset" or "infinite".
func (n Number) String() string {
	switch n.encoded {
	case encAbsent:
		return "absent"
	case encUnset:
		return "unset"
	case encInfinite:
		return "infinite"
	}
	return strconv.FormatUint(n.encoded-encFirst, 10)
}

// Equal reports whether two numbers are the same; go-cmp uses it.
func (n Number) Equal(m Number) bool { return n == m }

// Float is a Number with a fraction. The zero value is absent.
type Float struct {
	value float64
	kind  uint8
}

// Flt returns the Float of a value. Infinities become infinite, and NaN becomes unset.
func Flt(v float64) Float {
	switch {
	case math.IsNaN(v):
		return UnsetFloat()
	case math.IsInf(v, 0):
		return InfiniteFloat()
	}
	return Float{v, encFirst}
}

// UnsetFloat returns the Float of a field that Slurm left unset.
func UnsetFloat() Float { return Float{kind: encUnset} }

// InfiniteFloat returns the Float that means infinity.
func InfiniteFloat() Float { return Float{kind: encInfinite} }

// Value returns the number and true, or 0 and false if it is absent, unset or infinite.
func (f Float) Value() (float64, bool) { return f.value, f.kind == encFirst }

// IsInfinite reports whether the field means infinity.
func (f Float) IsInfinite() bool { return f.kind == encInfinite }

// Equal reports whether two floats are the same; go-cmp uses it.
func (f Float) Equal(g Float) bool { return f == g }
