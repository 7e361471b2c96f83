package table

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"k8s.io/cli-runtime/pkg/genericclioptions"
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

// Formats returns the formats of tables that -o accepts, without templates.
func Formats() []string {
	return append(ObjectFormats(), string(Wide), string(Names), customColumns+"…")
}

// ObjectFormats returns the formats of objects that -o accepts, without templates.
func ObjectFormats() []string { return []string{string(JSON), string(YAML)} }

// Usage returns the help text of -o for the formats.
func Usage(formats []string) string {
	return "Output format: " + strings.Join(append(slices.Clone(formats), templateFormats()...), ", ")
}

// ParseFormat parses the argument of -o for tables.
func ParseFormat(s string) (Format, error) { return parseFormat(s, Formats()) }

// ParseObjectFormat parses the argument of -o for a single object.
func ParseObjectFormat(s string) (Format, error) { return parseFormat(s, ObjectFormats()) }

func parseFormat(s string, formats []string) (Format, error) {
	if s == string(Plain) || slices.Contains(formats, s) {
		return Format(s), nil
	}
	if slices.Contains(formats, customColumns+"…") {
		if columns, err := parseCustomColumns(Format(s)); err != nil || columns != nil {
			return Format(s), err
		}
	}
	switch _, err := newTemplatePrinter(Format(s)); {
	case genericclioptions.IsNoCompatiblePrinterError(err):
		return "", fmt.Errorf("-o takes %s, not %q", strings.Join(append(slices.Clone(formats), templateFormats()...),
			", "), s)
	case err != nil:
		return "", fmt.Errorf("reading -o: %w", err)
	}
	return Format(s), nil
}

// IsTable reports whether the format prints one line for each row.
func (f Format) IsTable() bool {
	return f == Plain || f == Wide || f == Names || strings.HasPrefix(string(f), customColumns)
}

// Headings says whether columns have headings.
type Headings string

// Whether columns have headings.
const (
	WithHeadings    Headings = "with"
	WithoutHeadings Headings = "without"
)

// Print writes the table in the format. An empty table has no headings, unless its columns have a fixed width.
func (t *Table[R]) Print(w io.Writer, f Format, h Headings) error {
	switch {
	case !f.IsTable():
		rows := t.Rows
		if rows == nil {
			rows = []R{}
		}
		return PrintObject(w, f, struct {
			Kind  string `json:"kind"`
			Items []R    `json:"items"`
		}{"List", rows})
	case f == Names:
		for i := range t.Rows {
			if _, err := fmt.Fprintln(w, t.Name(&t.Rows[i])); err != nil {
				return err
			}
		}
		return nil
	}
	if columns, _ := parseCustomColumns(f); columns != nil {
		return printCustomColumns(w, columns, t.Rows, h)
	}
	if f == Plain && len(t.Columns) > 0 && t.Columns[0].Width > 0 {
		return t.printFixed(w, h)
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

// printFixed writes columns with fixed widths as the commands of Slurm do: separated by one space, and without spaces at
// the end of a line. On a terminal that has room, columns whose values would be cut are wider.
func (t *Table[R]) printFixed(w io.Writer, h Headings) error {
	columns := t.fitScreen()
	write := func(word func(c Column[R]) string, color func(c Column[R]) Color) error {
		var line strings.Builder
		for i, c := range columns {
			text := c.fit(Clean(word(c)))
			if i == len(columns)-1 {
				text = strings.TrimRight(text, " ")
			}
			line.WriteString(paint(text, color(c)))
			line.WriteByte(' ')
		}
		_, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
		return err
	}
	if h == WithHeadings {
		err := write(func(c Column[R]) string { return c.Name }, func(Column[R]) Color { return NoColor })
		if err != nil {
			return err
		}
	}
	for i := range t.Rows {
		err := write(func(c Column[R]) string { return c.Value(&t.Rows[i]).String() }, func(c Column[R]) Color {
			if c.Color == nil || !t.Screen.Color {
				return NoColor
			}
			return c.Color(&t.Rows[i])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// paint colors a text, but not the spaces around it.
func paint(text string, c Color) string {
	word := strings.TrimSpace(text)
	if c == NoColor || word == "" {
		return text
	}
	return strings.Replace(text, word, string(c)+word+colorOff, 1)
}

// fitScreen returns the columns with the room that the terminal leaves for cut values.
func (t *Table[R]) fitScreen() []Column[R] {
	out := slices.Clone(t.Columns)
	if t.Screen.Columns == 0 {
		return out
	}
	longest := make([]int, len(out))
	room := t.Screen.Columns - len(out) + 1
	for i, c := range out {
		longest[i] = len(c.Name)
		for k := range t.Rows {
			longest[i] = max(longest[i], len([]rune(c.Value(&t.Rows[k]).String())))
		}
		if c.Whole {
			room -= max(c.Width, longest[i])
		} else {
			room -= c.Width
		}
	}
	for i := range out {
		if more := min(longest[i]-out[i].Width, room); more > 0 && !out[i].Whole {
			out[i].Width, room = out[i].Width+more, room-more
		}
	}
	return out
}

// fit cuts and pads a text to the width of the column.
func (c Column[R]) fit(text string) string {
	letters := []rune(text)
	if len(letters) > c.Width && !c.Whole {
		return string(letters[:c.Width])
	}
	space := strings.Repeat(" ", max(0, c.Width-len(letters)))
	if c.Align == Right {
		return space + text
	}
	return text + space
}

// Cut truncates a string to most letters, the last of which is then an ellipsis. 0 means no limit.
func Cut(s string, most int) string {
	letters := []rune(s)
	if most == 0 || len(letters) <= most {
		return s
	}
	return string(letters[:most-1]) + "…"
}

// Clean replaces control characters, so that texts of users and servers cannot move the cursor, break
// columns, or turn the direction of the words behind them.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}

// PrintObject writes one object as JSON or YAML, or through a template. Fields keep the order of the
// object's type, which the printers of kubectl would sort.
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
		err = printTemplate(w, f, text)
	}
	return err
}
