package view

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"github.com/cespare/xxhash/v2"
)

// fingerprint returns a number that is the same on every replica for equal records, and differs for others but for one in 2^64. It
// depends on the values of all fields of all parts of a record. They consist of numbers, texts, lists, structs and pointers to them.
func fingerprint(parts ...any) uint64 {
	var buffer [1 << 10]byte
	text := buffer[:0]
	for _, part := range parts {
		text = appendValue(text, reflect.Indirect(reflect.ValueOf(part)))
	}
	return xxhash.Sum64(text)
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return append(appendNumber(b, uint64(v.Len())), v.String()...)
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		return appendNumber(b, n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return appendNumber(b, uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return appendNumber(b, v.Uint())
	case reflect.Float32, reflect.Float64:
		return appendNumber(b, math.Float64bits(v.Float()))
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	case reflect.Pointer:
		if v.IsNil() {
			return b
		}
		return appendValue(b, v.Elem())
	case reflect.Slice, reflect.Array:
		b = appendNumber(b, uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	}
	panic(fmt.Sprintf("a record has a field of type %s", v.Type()))
}

func appendNumber(b []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(b, n) }
