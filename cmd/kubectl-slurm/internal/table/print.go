package table

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// Format is an output format.
type Format string

// The formats.
const (
	Plain Format = ""
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Names Format = "name"
)

// Formats returns the formats that -o accepts.
func Formats() []string { return []string{string(JSON), string(YAML), string(Wide), string(Names)} }

// ParseFormat parses the argument of -o.
func ParseFormat(s string) (Format, error) {
	for _, f := range []Format{Plain, Wide, JSON, YAML, Names} {
		if s == string(f) {
			return f, nil
		}
	}
	return "", fmt.Errorf("-o takes %s, not %q", strings.Join(Formats(), ", "), s)
}

// Headings says whether columns have headings.
type Headings string

// Whether columns have headings.
const (
	WithHeadings    Headings = "with"
	WithoutHeadings Headings = "without"
)

// Print writes the table in the format. An empty table has no headings.
func (t *Table[R]) Print(w io.Writer, f Format, h Headings) error {
	switch f {
	case JSON, YAML:
		rows := t.Rows
		if rows == nil {
			rows = []R{}
		}
		return PrintObject(w, f, struct {
			Kind  string `json:"kind"`
			Items []R    `json:"items"`
		}{"List", rows})
	case Names:
		for i := range t.Rows {
			if _, err := fmt.Fprintln(w, t.Name(&t.Rows[i])); err != nil {
				return err
			}
		}
		return nil
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t.printColumns(w, f, h)
}

func (t *Table[R]) printColumns(w io.Writer, f Format, h Headings) error {
	var columns []Column[R]
	for _, c := range t.Columns {
		if !c.Wide || f == Wide {
			columns = append(columns, c)
		}
	}
	tabs := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	line := func(word func(c Column[R]) string) {
		words := make([]string, len(columns))
		for i, c := range columns {
			words[i] = Clean(word(c))
		}
		_, _ = fmt.Fprintln(tabs, strings.Join(words, "\t"))
	}
	if h == WithHeadings {
		line(func(c Column[R]) string { return c.Name })
	}
	for i := range t.Rows {
		line(func(c Column[R]) string {
			if f == Wide {
				return c.Value(&t.Rows[i]).String()
			}
			return Cut(c.Value(&t.Rows[i]).String(), c.MaxLetters)
		})
	}
	return tabs.Flush()
}

// Cut truncates a string to most letters, the last of which is then an ellipsis. 0 means no limit.
func Cut(s string, most int) string {
	letters := []rune(s)
	if most == 0 || len(letters) <= most {
		return s
	}
	return string(letters[:most-1]) + "…"
}

// Clean replaces control characters, so that texts of users and servers cannot move the cursor or
// break columns.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

const errFormat = constError("objects can only be printed as text, json or yaml")

type constError string

func (e constError) Error() string { return string(e) }

// PrintObject writes one object as JSON or YAML.
func PrintObject(w io.Writer, f Format, object any) error {
	text, err := json.MarshalIndent(object, "", "    ")
	if err != nil {
		return fmt.Errorf("writing json: %w", err)
	}
	switch f {
	case JSON:
		_, err = fmt.Fprintf(w, "%s\n", text)
	case YAML:
		if text, err = yaml.JSONToYAML(text); err == nil {
			_, err = w.Write(text)
		}
	default:
		err = errFormat
	}
	return err
}
