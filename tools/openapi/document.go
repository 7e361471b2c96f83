package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// object is a JSON object of a document.
type object = map[string]any

// document is an OpenAPI document of one API version.
type document struct {
	root    object
	version string // such as "v0.0.44"
}

var versionInPath = regexp.MustCompile(`^/slurm/(v\d+\.\d+\.\d+)/`)

func newDocument(root object) (document, error) {
	for path := range childObject(root, "paths") {
		if found := versionInPath.FindStringSubmatch(path); found != nil {
			return document{root: root, version: found[1]}, nil
		}
	}
	return document{}, errors.New("the document has no path that starts with /slurm/vX.Y.Z/")
}

// operation returns the operation of a method on a path, in which {V} is replaced by the version. It
// returns nil if the document has no such operation.
func (d document) operation(method, path string) object {
	path = strings.ReplaceAll(path, "{V}", d.version)
	return childObject(childObject(childObject(d.root, "paths"), path), method)
}

// resolve follows a reference to a component and returns its name and its schema. It returns any other
// schema unchanged, with an empty name.
func (d document) resolve(schema object) (string, object, error) {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return "", schema, nil
	}
	name, ok := strings.CutPrefix(ref, refPrefix)
	target := childObject(childObject(childObject(d.root, "components"), "schemas"), name)
	if !ok || target == nil {
		return "", nil, fmt.Errorf("%s refers to no component", ref)
	}
	return name, target, nil
}

const refPrefix = "#/components/schemas/"

// childObject returns the object under a key, or nil if it is missing.
func childObject(o object, key string) object {
	c, _ := o[key].(object)
	return c
}
