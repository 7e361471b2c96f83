package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommittedDocumentsAreNormalised checks that this program does not change the documents in the
// repository.
func TestCommittedDocumentsAreNormalised(t *testing.T) {
	files, err := filepath.Glob("../../slurmclient/api/v*/openapi.json")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d documents (%v)", len(files), err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := run([]string{file}, &got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got.Bytes()) {
			t.Errorf("tools/openapi changes %s", file)
		}
	}
}

// licensesDocument returns a document with the schema of the answer to GET licenses and components.
func licensesDocument(version, schema, components string) string {
	return `{"paths": {"/slurm/` + version + `/licenses/": {"get": {
		"operationId": "slurm_get_licenses", "summary": "all licences", "tags": ["slurm"],
		"parameters": [
			{"in": "query", "name": "flags", "style": "form", "explode": false, "schema": {"type": "string", "enum": ["ALL"]}},
			{"in": "query", "name": "update_time", "deprecated": true, "schema": {"type": "string"}}],
		"responses": {"default": {"description": "d", "content": {"application/json": {"schema": ` + schema + `}}}}
	}}, "/slurm/` + version + `/unused/": {"get": {}}}, "components": {"schemas": {` + components + `}}}`
}

const named = `{"$ref": "#/components/schemas/v0.0.44_licenses_resp"}`

const namedComponents = `
	"v0.0.44_licenses_resp": {"type": "object", "required": ["total"], "properties": {
		"total": {"$ref": "#/components/schemas/v0.0.44_uint32_no_val_struct", "description": "all of them"},
		"flags": {"$ref": "#/components/schemas/v0.0.44_flag_list"},
		"load": {"type": "number", "description": "how busy"},
		"place": {"type": "object", "properties": {"rack": {"type": "string"}}},
		"extra": {"type": "object", "properties": {}}}},
	"v0.0.44_uint32_no_val_struct": {"type": "object", "properties": {"number": {"type": "integer", "format": "int32"}}},
	"v0.0.44_flag_list": {"type": "array", "items": {"type": "string", "enum": ["A", "B"]}},
	"v0.0.44_unused": {"type": "object", "properties": {"a": {"type": "string"}}}`

const inline = `{"type": "object", "properties": {
	"total": {"type": "object", "properties": {"number": {"type": "integer"}}},
	"free": {"type": "object", "description": "new here", "properties": {"number": {"type": "integer"}}},
	"place": {"type": "object", "properties": {"rack": {"type": "string"}}}}}`

const inlineConflict = `{"type": "object", "properties": {
	"total": {"type": "object", "properties": {"number": {"type": "integer"}}},
	"place": {"type": "object", "properties": {"rack": {"type": "string"},
		"again": {"$ref": "#/components/schemas/uint32_no_val"}}}}}`

func TestNormalise(t *testing.T) {
	like := mustParse(t, string(mustNormalise(t, licensesDocument("v0.0.44", named, namedComponents))))
	for name, test := range map[string]struct {
		document string
		like     []document
		want     string
	}{
		"names have no version, lists and scalars have no name, numbers are wide, nothing is required": {
			document: licensesDocument("v0.0.44", named, namedComponents),
			want: `{"licenses_resp": {"type": "object", "properties": {
				"extra": {"type": "object"},
				"flags": {"type": "array", "items": {"type": "string"}},
				"load": {"type": "number", "format": "double", "description": "how busy"},
				"place": {"$ref": "#/components/schemas/licenses_resp_place"},
				"total": {"$ref": "#/components/schemas/uint32_no_val"}}},
			"licenses_resp_place": {"type": "object", "properties": {"rack": {"type": "string"}}},
			"uint32_no_val": {"type": "object", "properties": {"number": {"type": "integer", "format": "int64"}}}}`,
		},
		"an inline object takes its name from another document or from its place": {
			document: licensesDocument("v0.0.41", inline, ""),
			like:     []document{like},
			want: `{"licenses_resp": {"type": "object", "properties": {
				"free": {"$ref": "#/components/schemas/licenses_resp_free"},
				"place": {"$ref": "#/components/schemas/licenses_resp_place"},
				"total": {"$ref": "#/components/schemas/uint32_no_val"}}},
			"licenses_resp_free": {"type": "object", "properties": {"number": {"type": "integer", "format": "int64"}}},
			"licenses_resp_place": {"type": "object", "properties": {"rack": {"type": "string"}}},
			"uint32_no_val": {"type": "object", "properties": {"number": {"type": "integer", "format": "int64"}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pruned, err := normaliseDocument(mustParse(t, test.document), test.like)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := marshalText(t, childObject(pruned, "components")["schemas"]),
				canonicalJSON(t, test.want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if paths := childObject(pruned, "paths"); len(paths) != 1 {
				t.Errorf("%d paths, want only the one that is used", len(paths))
			}
		})
	}
}

func TestParametersBecomeRepeatableStrings(t *testing.T) {
	pruned, err := normaliseDocument(mustParse(t, licensesDocument("v0.0.44", named, namedComponents)), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := marshalText(t, descendKeys(pruned, []string{"paths", "/slurm/v0.0.44/licenses/", "get"})["parameters"])
	want := canonicalJSON(t,
		`[{"explode": true, "in": "query", "name": "flags", "schema": {"items": {"type": "string"}, "type": "array"}},
		{"in": "query", "name": "update_time", "schema": {"type": "string"}}]`)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBadDocumentsAreRefused(t *testing.T) {
	like := mustParse(t, string(mustNormalise(t, licensesDocument("v0.0.44", named, namedComponents))))
	for name, test := range map[string]struct {
		document, want string
		like           []document
	}{
		"a broken reference": {document: licensesDocument("v0.0.44", named, ""),
			want: "v0.0.44_licenses_resp refers to no component"},
		"two objects that would share a name": {
			document: licensesDocument("v0.0.41", inlineConflict,
				`"uint32_no_val": {"type": "object", "properties": {"other": {"type": "string"}}}`),
			like: []document{like}, want: "two different objects are called uint32_no_val",
		},
		"an unknown type": {document: licensesDocument("v0.0.44", `{"type": "money"}`, ""),
			want: "unknown type money"},
		"a schema without a type": {document: licensesDocument("v0.0.44", `{"oneOf": []}`, ""), want: "without a type"},
		"an answer without JSON": {document: strings.ReplaceAll(licensesDocument("v0.0.44", named, ""),
			"application/json", "text/plain"), want: "no JSON under responses"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := normaliseDocument(mustParse(t, test.document), test.like)
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "GetLicenses") {
				t.Errorf("error %v, want one about GetLicenses with %q", err, test.want)
			}
		})
	}
	if _, err := parseDocument([]byte(`{"paths": {"/openapi/v3": {}}}`)); err == nil {
		t.Error("a document without Slurm's paths was accepted")
	}
}

func mustParse(t *testing.T, text string) document {
	t.Helper()
	doc, err := parseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func mustNormalise(t *testing.T, raw string) []byte {
	t.Helper()
	pruned, err := normaliseDocument(mustParse(t, raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := marshalDocument(pruned)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// marshalText encodes a value with sorted keys. canonicalJSON does so for JSON text.
func marshalText(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func canonicalJSON(t *testing.T, raw string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(raw), &value); err != nil {
		t.Fatal(err)
	}
	return marshalText(t, value)
}
