package picture

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// svg is a canvas that writes SVG.
type svg struct{ strings.Builder }

// formatNumber formats a coordinate with at most two decimals.
func formatNumber(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

func (c *svg) rect(x, y, w, h float64, fill colour) {
	fmt.Fprintf(&c.Builder, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", formatNumber(x),
		formatNumber(y),
		formatNumber(w), formatNumber(h), fill)
}

func (c *svg) text(x, y float64, s string, t font) {
	more := [...]string{"", ` text-anchor="end"`, ` text-anchor="middle"`}[t.align]
	if t.weight == bold {
		more += ` font-weight="bold"`
	}
	fmt.Fprintf(&c.Builder, `<text x="%s" y="%s" font-size="%s" fill="%s"%s>%s</text>`+"\n",
		formatNumber(x), formatNumber(y), formatNumber(t.size), t.fill, more, html.EscapeString(s))
}

// document returns the complete file.
func (c *svg) document(width, height float64) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" font-family="Go, Helvetica, Arial, sans-serif">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"%[3]s\"/>\n%[4]s</svg>\n",
		formatNumber(width), formatNumber(height), paper, c.String())
}
