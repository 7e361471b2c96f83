package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// row is a value of a table: its path, such as slurm.token.key, and its columns.
type row struct{ path, kind, defaultValue, meaning string }

// rowsOf returns the values in their order in values.yaml: one for each that has a
// comment beginning with "-- ", whatever is in it. It is an error when a value has no
// such comment above itself or above a part that it is in, or is not in the schema.
func rowsOf(values, schema []byte) ([]row, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(values, &root); err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	s, err := newSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("values.schema.json: %w", err)
	}
	if len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("values.yaml has no values")
	}
	return rowsBelow("", root.Content[0], s)
}

func rowsBelow(prefix string, node *yaml.Node, s schema) ([]row, error) {
	var out []row
	var problems []error
	for pair := range slices.Chunk(node.Content, 2) {
		path := prefix + pair[0].Value
		below, known := s.property(pair[0].Value)
		text, told := commentOf(pair[0])
		switch {
		case !known:
			problems = append(problems, fmt.Errorf("values.schema.json does not know the value %s", path))
		case told:
			standard, err := compactJSON(pair[1])
			problems = append(problems, err)
			out = append(out, row{path, below.kind(), standard, meaningOf(text, below)})
		case pair[1].Kind == yaml.MappingNode && len(pair[1].Content) > 0:
			inner, err := rowsBelow(path+".", pair[1], below)
			out, problems = append(out, inner...), append(problems, err)
		default:
			problems = append(problems,
				fmt.Errorf("the value %s has no explanation: write a comment above it in values.yaml that begins with \"# -- \"", path))
		}
	}
	return out, errors.Join(problems...)
}

// commentOf returns the explanation in the comment above a key.
func commentOf(key *yaml.Node) (string, bool) {
	_, text, ok := strings.Cut("\n"+key.HeadComment, "\n# -- ")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n#", " ")), " "), ok && strings.TrimSpace(text) != ""
}

// meaningOf returns the comment, followed by the constraints of the schema that the comment does not
// mention.
func meaningOf(text string, s schema) string {
	add := func(format string, args ...any) {
		if !strings.HasSuffix(text, ".") {
			text += "."
		}
		text += " " + fmt.Sprintf(format, args...)
	}
	if words := s.choices(); slices.ContainsFunc(
		words, func(w string) bool { return w != "" && !strings.Contains(text, w) }) {
		add("One of `%s`", strings.Join(words, "`, `"))
	}
	if least, ok := s.number("minimum"); ok {
		add("At least %s", least)
	}
	if least, ok := s.number("exclusiveMinimum"); ok {
		add("More than %s", least)
	}
	if most, ok := s.number("maximum"); ok {
		add("At most %s", most)
	}
	return text
}

// compactJSON returns a value as one line of JSON, which is also YAML.
func compactJSON(node *yaml.Node) (string, error) {
	var value any
	if err := node.Decode(&value); err != nil {
		return "", fmt.Errorf("line %d: %w", node.Line, err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("line %d: %w", node.Line, err)
	}
	return strings.TrimSpace(out.String()), nil
}
