package tables

import (
	"regexp"
	"strings"
)

// gutter is how many blanks are between two columns at the least.
const gutter = 3

// inTable matches a line that has columns.
var inTable = regexp.MustCompile(`\S {3,}\S`)

// Realign has change replace what differs from run to run, and lays tables out anew, with
// columns that are as wide as what is in them now. Lines that follow one another and have
// three blanks somewhere are a table; its columns are where all of its lines have blanks,
// so that a table whose lines did not line up looks broken afterwards too.
func Realign(text string, change func(string) string) string {
	var out strings.Builder
	var table []string
	flush := func() {
		for _, line := range realign(table, change) {
			out.WriteString(line + "\n")
		}
		table = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if inTable.MatchString(line) {
			table = append(table, line)
			continue
		}
		flush()
		out.WriteString(strings.TrimRight(change(line), " ") + "\n")
	}
	flush()
	return out.String()
}

// realign lays out the lines of one table.
func realign(lines []string, change func(string) string) []string {
	rows := make([][]rune, len(lines))
	for i, line := range lines {
		rows[i] = []rune(line)
	}
	starts := columns(rows)
	cells := make([][]string, len(rows))
	widths := make([]int, len(starts))
	for i, row := range rows {
		for c, start := range starts {
			end := len(row)
			if c+1 < len(starts) {
				end = min(end, starts[c+1])
			}
			cell := strings.TrimRight(change(string(row[min(start, end):end])), " ")
			cells[i] = append(cells[i], cell)
			widths[c] = max(widths[c], len([]rune(cell)))
		}
	}
	out := make([]string, len(rows))
	for i := range cells {
		line := ""
		for c, cell := range cells[i] {
			line += cell + strings.Repeat(" ", widths[c]+gutter-len([]rune(cell)))
		}
		out[i] = strings.TrimRight(line, " ")
	}
	return out
}

// columns are where the columns of a table begin; the first does at the margin, with
// what the lines are indented by.
func columns(rows [][]rune) []int {
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	out := []int{0}
	blanks, begun := 0, false
	for at := range width {
		switch {
		case blank(rows, at):
			blanks++
			continue
		case begun && blanks >= gutter:
			out = append(out, at)
		}
		blanks, begun = 0, true
	}
	return out
}

// blank reports that no line has anything at a place.
func blank(rows [][]rune, at int) bool {
	for _, row := range rows {
		if at < len(row) && row[at] != ' ' {
			return false
		}
	}
	return true
}
