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
	h := xxhash.New()
	for _, part := range parts {
		addValue(h, reflect.Indirect(reflect.ValueOf(part)))
	}
	return h.Sum64()
}

func addValue(h *xxhash.Digest, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		addNumber(h, uint64(len(text)))
		_, _ = h.WriteString(text)
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		addNumber(h, n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		addNumber(h, uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		addNumber(h, v.Uint())
	case reflect.Float32, reflect.Float64:
		addNumber(h, math.Float64bits(v.Float()))
	case reflect.Struct:
		for i := range v.NumField() {
			addValue(h, v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			addValue(h, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		addNumber(h, uint64(v.Len()))
		for i := range v.Len() {
			addValue(h, v.Index(i))
		}
	default:
		panic(fmt.Sprintf("a record has a field of type %s", v.Type()))
	}
}

func addNumber(h *xxhash.Digest, n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:])
}
