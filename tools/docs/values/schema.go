package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// schema is a part of a JSON schema, with the definitions that it may reference.
type schema struct {
	node map[string]any
	defs map[string]any
	// name is the name of the definition, empty if the schema is not a definition.
	name string
}

func newSchema(text []byte) (schema, error) {
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		return schema{}, err
	}
	defs, _ := root["$defs"].(map[string]any)
	return schema{node: root, defs: defs}, nil
}

// property returns the schema of a key. It reports false if the schema forbids the key.
func (s schema) property(key string) (schema, bool) {
	if properties, ok := s.node["properties"].(map[string]any); ok {
		if node, ok := properties[key].(map[string]any); ok {
			return s.resolve(node), true
		}
	}
	switch more := s.node["additionalProperties"].(type) {
	case map[string]any:
		return s.resolve(more), true
	case bool:
		return schema{defs: s.defs}, more
	}
	return schema{defs: s.defs}, true
}

// resolve follows references. It ignores a dangling reference, which Helm reports.
func (s schema) resolve(node map[string]any) schema {
	name := ""
	for {
		ref, ok := node["$ref"].(string)
		if !ok {
			return schema{node: node, defs: s.defs, name: name}
		}
		name = strings.TrimPrefix(ref, "#/$defs/")
		if node, ok = s.defs[name].(map[string]any); !ok {
			return schema{defs: s.defs, name: name}
		}
	}
}

// kind is the type, in words.
func (s schema) kind() string {
	switch s.name {
	case "duration", "optionalDuration":
		return "duration"
	case "intOrPercent":
		return "integer or percentage"
	}
	name := s.typeName()
	switch name {
	case "array":
		if items, ok := s.node["items"].(map[string]any); ok {
			return "list of " + s.resolve(items).kind() + "s"
		}
		return "list"
	case "object":
		if more, ok := s.node["additionalProperties"].(map[string]any); ok && s.node["properties"] == nil {
			return "map of " + s.resolve(more).kind() + "s"
		}
	case "":
		return "any"
	}
	return name
}

// typeName returns the type. Of a value that may have several it returns all but null, which stands for the default.
func (s schema) typeName() string {
	switch of := s.node["type"].(type) {
	case string:
		return of
	case []any:
		var names []string
		for _, name := range of {
			if name != "null" {
				names = append(names, fmt.Sprint(name))
			}
		}
		return strings.Join(names, " or ")
	}
	return ""
}

// choices returns the allowed values without null, or nil if the schema does not list them.
func (s schema) choices() []string {
	list, _ := s.node["enum"].([]any)
	var out []string
	for _, v := range list {
		if v != nil {
			out = append(out, fmt.Sprint(v))
		}
	}
	return out
}

// number returns a bound. It reports false if the schema does not have it.
func (s schema) number(key string) (string, bool) {
	v, ok := s.node[key].(float64)
	return strconv.FormatFloat(v, 'f', -1, 64), ok
}
