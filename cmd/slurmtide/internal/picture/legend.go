package picture

type sign uint8

const (
	box sign = iota
	stroke
)

// legendEntry is one entry of a legend.
type key struct {
	text string
	fill colour
	sign sign
}

// letterWidth is the maximum width of a letter in a legend.
const letter = 6.9

// drawLegend writes a title and, behind it, the entries of the legend.
func legend(c canvas, baseline float64, title string, keys []key) {
	c.text(left, baseline, title, font{size: 14, weight: bold, fill: ink})
	x := left + 140
	for _, k := range keys {
		if k.sign == box {
			c.rect(x, baseline-10, 12, 12, k.fill)
		} else {
			c.rect(x, baseline-5.5, 12, 3, k.fill)
		}
		c.text(x+18, baseline, k.text, font{size: 12, fill: soft})
		x += 18 + letter*float64(len(k.text)) + 14
	}
}
