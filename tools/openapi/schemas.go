package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
)

// schemas collects the normalised components of a document.
type schemas struct {
	from       document
	like       []document
	done       object
	inProgress map[string]bool // components that are being normalised
}

// guide is the schema in the same place of another, normalised document.
type guide struct {
	doc    document
	schema object
}

func newSchemas(from document, like []document) *schemas {
	return &schemas{from: from, like: like, done: object{}, inProgress: map[string]bool{}}
}

// normalise returns the normalised schema of one place. An object becomes a component, and the result is a reference to
// it. A component keeps its name. A new component gets the name from a guide, or else fallback.
func (s *schemas) normalise(raw object, fallback string, guides []guide) (object, error) {
	name, schema, err := s.from.resolve(raw)
	if err != nil {
		return nil, err
	}
	clean := object{}
	switch kind := schema["type"]; kind {
	case "object":
		if len(childObject(schema, "properties")) == 0 {
			clean["type"] = kind
			break
		}
		name = cleanName(name)
		if name == "" {
			name = nameFrom(guides, fallback)
		}
		if err := s.define(name, schema, guides); err != nil {
			return nil, err
		}
		// A reference cannot have a description.
		return object{"$ref": refPrefix + name}, nil
	case "array":
		clean["type"] = kind
		clean["items"], err = s.normalise(childObject(schema, "items"), fallback, stepGuides(guides, "items"))
		if err != nil {
			return nil, err
		}
	case "integer":
		clean["type"], clean["format"] = kind, "int64"
	case "number":
		clean["type"], clean["format"] = kind, "double"
	case "string", "boolean":
		clean["type"] = kind
	case nil:
		if schema["properties"] != nil || schema["allOf"] != nil || schema["oneOf"] != nil || schema["anyOf"] != nil {
			return nil, errors.New("a schema without a type at " + fallback)
		}
	default:
		return nil, fmt.Errorf("unknown type %v at %s", kind, fallback)
	}
	copyDescription(clean, raw, schema)
	return clean, nil
}

// copyDescription copies the description; the reference's description takes precedence.
func copyDescription(clean, raw, schema object) {
	for _, from := range []object{raw, schema} {
		if text, ok := from["description"].(string); ok && text != "" {
			clean["description"] = text
			return
		}
	}
}

// define adds a component. Components with the same name must have the same schema.
func (s *schemas) define(name string, schema object, guides []guide) error {
	if s.inProgress[name] {
		return nil
	}
	s.inProgress[name] = true
	defer delete(s.inProgress, name)
	properties := object{}
	for _, key := range slices.Sorted(maps.Keys(childObject(schema, "properties"))) {
		raw := childObject(childObject(schema, "properties"), key)
		property, err := s.normalise(raw, name+"_"+key, stepGuides(guides, "properties", key))
		if err != nil {
			return err
		}
		properties[key] = property
	}
	component := object{"type": "object", "properties": properties}
	if was, ok := s.done[name]; ok && !reflect.DeepEqual(withoutText(was), withoutText(component)) {
		return fmt.Errorf("two different objects are called %s", name)
	} else if !ok {
		s.done[name] = component
	}
	return nil
}

// nameFrom returns the name of the component that the first guide refers to.
func nameFrom(guides []guide, fallback string) string {
	for _, g := range guides {
		if name, _, err := g.doc.resolve(g.schema); err == nil && name != "" {
			return name
		}
	}
	return fallback
}

// stepGuides moves every guide along the keys, follows references, and drops the guides that have no
// schema there.
func stepGuides(guides []guide, keys ...string) []guide {
	var out []guide
	for _, g := range guides {
		_, schema, err := g.doc.resolve(g.schema)
		if next := descendKeys(schema, keys); err == nil && next != nil {
			out = append(out, guide{g.doc, next})
		}
	}
	return out
}

var versionAffixes = regexp.MustCompile(`^v\d+\.\d+\.\d+_|_struct$`)

// cleanName removes the version and the suffix that only some versions have from a name.
func cleanName(name string) string { return versionAffixes.ReplaceAllString(name, "") }

// withoutText returns a copy of a schema without its descriptions.
func withoutText(value any) any {
	switch value := value.(type) {
	case object:
		out := object{}
		for key, v := range value {
			if text, isText := v.(string); key == "description" && isText && text != "" {
				continue
			}
			out[key] = withoutText(v)
		}
		return out
	default:
		return value
	}
}
