package show

import (
	"strings"
	"unicode/utf8"
)

// paint colours text for a terminal, or leaves it as it is.
type paint func(style, text string) string

// Styles, as the terminal's numbers.
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

// Colours paints; Plainly does not.
func Colours(style, text string) string {
	if style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// Plainly leaves text as it is.
func Plainly(_, text string) string { return text }

// fit cuts text that has no colours to a width, or fills it up with blanks.
func fit(text string, width int) string {
	n := utf8.RuneCountInString(text)
	switch {
	case width <= 0:
		return ""
	case n > width:
		return string([]rune(text)[:width-1]) + "…"
	}
	return text + strings.Repeat(" ", width-n)
}

// clip cuts a line, that may have colours, to a width.
func clip(line string, width int) string {
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
