package show

import (
	"strings"
	"unicode/utf8"
)

// painter adds a terminal style to text, or returns the text unchanged.
type painter func(style, text string) string

// Styles are SGR codes of terminals.
const (
	strong  = "1"
	dim     = "2"
	green   = "32"
	red     = "31"
	yellow  = "33"
	blue    = "34"
	magenta = "35"
	cyan    = "36"
)

// PaintColours adds the style as escape sequences.
func PaintColours(style, text string) string {
	if style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// PaintPlain returns the text unchanged.
func PaintPlain(_, text string) string { return text }

// padText truncates text without colours to a width or pads it with blanks.
func padText(text string, width int) string {
	n := utf8.RuneCountInString(text)
	switch {
	case width <= 0:
		return ""
	case n > width:
		return string([]rune(text)[:width-1]) + "…"
	}
	return text + strings.Repeat(" ", width-n)
}

// clipLine truncates a line, which may contain colours, to a width.
func clipLine(line string, width int) string {
	var b strings.Builder
	seen, escape, cut := 0, false, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case seen >= width:
			cut = true
			continue
		default:
			seen++
		}
		b.WriteRune(r)
	}
	if cut && strings.Contains(line, "\x1b") {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}
