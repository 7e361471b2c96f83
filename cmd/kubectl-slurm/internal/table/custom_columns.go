package table

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"k8s.io/client-go/util/jsonpath"
)

// customColumns is the format that has columns of JSONPaths, as kubectl names it.
const customColumns = "custom-columns="

// customColumn is a column of custom-columns=NAME:PATH,….
type customColumn struct {
	name string
	path *jsonpath.JSONPath
}

// parseCustomColumns parses the columns of a format, or returns nil for another format.
func parseCustomColumns(f Format) ([]customColumn, error) {
	spec, ok := strings.CutPrefix(string(f), customColumns)
	if !ok {
		return nil, nil
	}
	var out []customColumn
	for word := range strings.SplitSeq(spec, ",") {
		name, path, ok := strings.Cut(word, ":")
		if !ok || name == "" || path == "" {
			return nil, fmt.Errorf("-o custom-columns takes NAME:PATH,…, such as ID:.id,USER:.user, not %q", spec)
		}
		if !strings.HasPrefix(path, ".") {
			path = "." + path
		}
		p := jsonpath.New(name).AllowMissingKeys(true)
		if err := p.Parse("{" + path + "}"); err != nil {
			return nil, fmt.Errorf("reading -o custom-columns: %w", err)
		}
		out = append(out, customColumn{name, p})
	}
	return out, nil
}

// printCustomColumns writes rows as columns of JSONPaths. A missing value is <none>.
func printCustomColumns[R any](w io.Writer, columns []customColumn, rows []R, h Headings) error {
	tabs := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	if h == WithHeadings {
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = Clean(c.name)
		}
		_, _ = fmt.Fprintln(tabs, strings.Join(names, "\t"))
	}
	for i := range rows {
		text, err := json.Marshal(rows[i])
		if err != nil {
			return fmt.Errorf("writing json: %w", err)
		}
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		var object any
		if err := decoder.Decode(&object); err != nil {
			return fmt.Errorf("writing columns: %w", err)
		}
		words := make([]string, len(columns))
		for k, c := range columns {
			words[k] = Clean(c.find(object))
		}
		_, _ = fmt.Fprintln(tabs, strings.Join(words, "\t"))
	}
	return tabs.Flush()
}

// find returns the values of the column in an object, joined with commas.
func (c customColumn) find(object any) string {
	results, err := c.path.FindResults(object)
	if err != nil {
		return "<none>"
	}
	var words []string
	for _, values := range results {
		for _, v := range values {
			if !v.IsValid() || !v.CanInterface() || v.Interface() == nil {
				continue
			}
			words = append(words, fmt.Sprint(v.Interface()))
		}
	}
	if len(words) == 0 {
		return "<none>"
	}
	return strings.Join(words, ",")
}
