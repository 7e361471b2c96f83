package picture

type symbol uint8

const (
	boxSymbol symbol = iota
	lineSymbol
)

// legendEntry is one entry of a legend.
type legendEntry struct {
	text   string
	fill   colour
	symbol symbol
}

// letterWidth is the maximum width of a letter in a legend.
const letterWidth = 6.9

// drawLegend writes a title and, behind it, the entries of the legend.
func drawLegend(c canvas, baseline float64, title string, keys []legendEntry) {
	c.text(left, baseline, title, font{size: 14, weight: bold, fill: ink})
	x := left + 140
	for _, k := range keys {
		if k.symbol == boxSymbol {
			c.rect(x, baseline-10, 12, 12, k.fill)
		} else {
			c.rect(x, baseline-5.5, 12, 3, k.fill)
		}
		c.text(x+18, baseline, k.text, font{size: 12, fill: greyInk})
		x += 18 + letterWidth*float64(len(k.text)) + 14
	}
}
