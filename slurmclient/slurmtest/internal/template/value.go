package template

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// value is a JSON value that preserves the order of members and the text of numbers.
type value struct {
	members []member // of an object
	items   []value  // of an array
	scalar  any      // json.Number, string, bool or nil
	kind    kind
}

type member struct {
	key string
	value
}

type kind uint8

const (
	scalarKind kind = iota
	objectKind
	arrayKind
)

func parseDocument(doc []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return parseValue(d)
}

func parseValue(d *json.Decoder) (value, error) {
	token, err := d.Token()
	if err != nil {
		return value{}, err
	}
	switch token {
	case json.Delim('{'):
		return parseObject(d)
	case json.Delim('['):
		return parseArray(d)
	}
	return value{scalar: token}, nil
}

func parseObject(d *json.Decoder) (value, error) {
	v := value{kind: objectKind}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return v, err
		}
		m, err := parseValue(d)
		if err != nil {
			return v, err
		}
		v.members = append(v.members, member{fmt.Sprint(key), m})
	}
	_, err := d.Token()
	return v, err
}

func parseArray(d *json.Decoder) (value, error) {
	v := value{kind: arrayKind}
	for d.More() {
		item, err := parseValue(d)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
	_, err := d.Token()
	return v, err
}

// member returns the value of a member, or nil if it is missing.
func (v value) member(key string) *value {
	for i := range v.members {
		if v.members[i].key == key {
			return &v.members[i].value
		}
	}
	return nil
}

// isNumber reports whether v is a {"set", "infinite", "number"} object.
func (v value) isNumber() bool {
	return v.kind == objectKind && len(v.members) == 3 && v.member("set") != nil && v.member("number") != nil
}

func (v value) hasTypeOf(want any) bool {
	if v.kind != scalarKind {
		return false
	}
	return fmt.Sprintf("%T", v.scalar) == fmt.Sprintf("%T", want)
}
