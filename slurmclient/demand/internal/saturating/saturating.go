// Package saturating computes with counts and amounts that may not wrap around: a result that does
// not fit is the nearest uint64.
package saturating

import (
	"math"
	"math/bits"
)

// Add returns a+b, or the largest uint64 on overflow.
func Add(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// Sub returns a-b, or 0 if b is larger.
func Sub(a, b uint64) uint64 { return a - min(a, b) }

// Mul returns a*b, or the largest uint64 on overflow.
func Mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi > 0 {
		return math.MaxUint64
	}
	return lo
}
