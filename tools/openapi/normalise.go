package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// normaliseDocument returns the pruned and normalised document.
func normaliseDocument(full document, like []document) (object, error) {
	schemas := newSchemas(full, like)
	paths := object{}
	for _, op := range operations {
		raw := full.operation(op.method, op.path)
		if raw == nil {
			continue
		}
		clean, err := schemas.operation(raw, op.method, op.path, op.name)
		if err != nil {
			return nil, fmt.Errorf("operation %s: %w", op.name, err)
		}
		path := strings.ReplaceAll(op.path, "{V}", full.version)
		methods, _ := paths[path].(object)
		if methods == nil {
			methods = object{}
			paths[path] = methods
		}
		methods[op.method] = clean
	}
	info := object{"title": "Slurm REST API, pruned by tools/openapi", "version": full.version}
	if was := childObject(full.root, "info"); was["description"] != nil {
		info["description"] = was["description"]
	} else if was["version"] != nil {
		info["description"] = fmt.Sprintf("Printed by slurmrestd of %v.", was["version"])
	}
	return object{
		"openapi":    "3.0.3",
		"info":       info,
		"paths":      paths,
		"components": object{"schemas": schemas.done},
	}, nil
}

// operation normalises one operation: its parameters, its body, and the default answer, whose schema
// applies to every status.
func (s *schemas) operation(raw object, method, path, name string) (object, error) {
	clean := object{"operationId": name, "summary": raw["summary"]}
	if parameters := cleanParameters(raw, path); len(parameters) > 0 {
		clean["parameters"] = parameters
	}
	var guides []guide
	for _, doc := range s.like {
		guides = append(guides, guide{doc, doc.operation(method, path)})
	}
	raw, err := s.correct(name, raw)
	if err != nil {
		return nil, err
	}
	if childObject(raw, "requestBody") != nil {
		body, err := s.content(raw, "openapi_"+snakeCase(name)+"_req", guides, "requestBody")
		if err != nil {
			return nil, err
		}
		clean["requestBody"] = object{"content": body, "required": true}
	}
	answer, err := s.content(raw, "openapi_"+snakeCase(name)+"_resp", guides, "responses", "default")
	if err != nil {
		return nil, err
	}
	clean["responses"] = object{"default": object{"content": answer, "description": "any status"}}
	return clean, nil
}

// content normalises the JSON schema below the keys of an operation.
func (s *schemas) content(raw object, name string, guides []guide, keys ...string) (object, error) {
	const mediaType = "application/json"
	keys = append(slices.Clone(keys), "content", mediaType, "schema")
	schema := descendKeys(raw, keys)
	if schema == nil {
		return nil, errors.New("the operation has no JSON under " + keys[0])
	}
	below := make([]guide, 0, len(guides))
	for _, g := range guides {
		below = append(below, guide{g.doc, descendKeys(g.schema, keys)})
	}
	clean, err := s.normalise(schema, name, below)
	if err != nil {
		return nil, err
	}
	return object{mediaType: object{"schema": clean}}, nil
}

func descendKeys(o object, keys []string) object {
	for _, key := range keys {
		o = childObject(o, key)
	}
	return o
}

// cleanParameters keeps the parameters in the path, and the query parameters of slurmctld's operations.
// It drops slurmdbd's filters, whose names differ between versions, since slurmtide reads the whole
// tables.
func cleanParameters(operation object, path string) []any {
	var clean []any
	list, _ := operation["parameters"].([]any)
	for _, item := range list {
		raw, _ := item.(object)
		name, _ := raw["name"].(string)
		inPath := raw["in"] == "path"
		if !inPath && strings.HasPrefix(path, "/slurmdb/") {
			continue
		}
		parameter := maps.Clone(raw)
		maps.DeleteFunc(parameter, func(key string, _ any) bool {
			return !slices.Contains([]string{"name", "in", "description"}, key)
		})
		parameter["schema"] = object{"type": "string"}
		if inPath {
			parameter["required"] = true
		} else if repeatable[name] {
			parameter["schema"] = object{"type": "array", "items": object{"type": "string"}}
			parameter["explode"] = true
		}
		clean = append(clean, parameter)
	}
	return clean
}

// snakeCase converts GetQOS to get_qos.
func snakeCase(name string) string {
	var out strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z') {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToLower(out.String())
}
