package picture

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strconv"

	fonts "golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// raster is a canvas of pixels.
type raster struct {
	image *image.RGBA
	scale float64
	fonts map[weight]*opentype.Font
}

func newRaster(width, height, scale float64) (*raster, error) {
	r := &raster{
		image: image.NewRGBA(image.Rect(0, 0, int(width*scale), int(height*scale))),
		scale: scale, fonts: map[weight]*opentype.Font{},
	}
	draw.Draw(r.image, r.image.Bounds(), image.NewUniform(paper.rgba()), image.Point{}, draw.Src)
	for weight, file := range map[weight][]byte{regular: goregular.TTF, bold: gobold.TTF} {
		font, err := opentype.Parse(file)
		if err != nil {
			return nil, err
		}
		r.fonts[weight] = font
	}
	return r, nil
}

// rgba parses #rrggbb. An invalid colour is black.
func (c colour) rgba() color.RGBA {
	v, err := strconv.ParseUint(string(c[1:]), 16, 24)
	if err != nil {
		return color.RGBA{A: 255}
	}
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255} //nolint:gosec // bytes
}

// rect fills whole pixels, at least one.
func (r *raster) rect(x, y, w, h float64, fill colour) {
	pixel := func(v float64) int { return int(math.Round(v * r.scale)) }
	area := image.Rect(pixel(x), pixel(y), max(pixel(x+w), pixel(x)+1), max(pixel(y+h), pixel(y)+1))
	draw.Draw(r.image, area, image.NewUniform(fill.rgba()), image.Point{}, draw.Src)
}

func (r *raster) text(x, y float64, s string, t font) {
	// DPI 72 makes a point a pixel.
	face, err := opentype.NewFace(r.fonts[t.weight], &opentype.FaceOptions{Size: t.size * r.scale, DPI: 72})
	if err != nil {
		return // the library never returns one
	}
	defer face.Close()
	d := fonts.Drawer{Dst: r.image, Src: image.NewUniform(t.fill.rgba()), Face: face}
	at := x * r.scale
	length := float64(d.MeasureString(s)) / 64
	switch t.align {
	case toRight:
		at -= length
	case centred:
		at -= length / 2
	}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(at * 64), Y: fixed.Int26_6(y * r.scale * 64)}
	d.DrawString(s)
}

func (r *raster) encode(w io.Writer) error { return png.Encode(w, r.image) }
