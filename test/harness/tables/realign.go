package tables

import (
	"regexp"
	"strings"
)

// minColumnGap is the minimum number of blanks between two columns.
const minColumnGap = 3

// tableLine matches a line that has columns.
var tableLine = regexp.MustCompile(`\S {3,}\S`)

// Realign applies change to replace what differs from run to run, and lays out tables again with
// columns as wide as their new contents. Consecutive lines that contain three blanks in a row form
// a table. Its columns are separated where all of its lines have blanks, so a table whose lines
// were not aligned still looks broken afterwards.
func Realign(text string, change func(string) string) string {
	var out strings.Builder
	var table []string
	flush := func() {
		for _, line := range realignTable(table, change) {
			out.WriteString(line + "\n")
		}
		table = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if tableLine.MatchString(line) {
			table = append(table, line)
			continue
		}
		flush()
		out.WriteString(strings.TrimRight(change(line), " ") + "\n")
	}
	flush()
	return out.String()
}

// realignTable lays out the lines of one table.
func realignTable(lines []string, change func(string) string) []string {
	rows := make([][]rune, len(lines))
	for i, line := range lines {
		rows[i] = []rune(line)
	}
	starts := columnStarts(rows)
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
			line += cell + strings.Repeat(" ", widths[c]+minColumnGap-len([]rune(cell)))
		}
		out[i] = strings.TrimRight(line, " ")
	}
	return out
}

// columnStarts returns where the columns of a table start. The first column starts at the margin
// and includes the indentation.
func columnStarts(rows [][]rune) []int {
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	out := []int{0}
	blanks, begun := 0, false
	for at := range width {
		switch {
		case isBlankColumn(rows, at):
			blanks++
			continue
		case begun && blanks >= minColumnGap:
			out = append(out, at)
		}
		blanks, begun = 0, true
	}
	return out
}

// isBlankColumn reports whether no line has a character at the position.
func isBlankColumn(rows [][]rune, at int) bool {
	for _, row := range rows {
		if at < len(row) && row[at] != ' ' {
			return false
		}
	}
	return true
}
