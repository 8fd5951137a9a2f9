// Pictures draws peers.svg from the tables of ../machines/zen5.md: what one worker makes of some products, and
// what the fastest other library makes. The other pictures here are drawn by hand.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"example.com/leafhopper/internal/cli"
)

//go:generate go run .

const (
	tables  = "../machines/zen5.md"
	picture = "peers.svg"
)

var shapes = []string{
	"1×4096×4096", "8×4096×4096", "32×4096×4096", "128×4096×4096", "64³", "128³", "256³", "1024³", "4096³",
}

func main() {
	cli.Print(func(io.Writer) error {
		page, err := os.ReadFile(tables)
		if err != nil {
			return err
		}
		svg, err := draw(string(page))
		if err != nil {
			return fmt.Errorf("%s: %w", tables, err)
		}
		return os.WriteFile(picture, []byte(svg), 0o644)
	})
}

// A bar is a row of a table.
type bar struct {
	gflops         string
	fraction, peer float64 // of the peak
}

// read returns the rows of the table that follows the heading **name**, by shape.
func read(page, name string) (map[string]bar, error) {
	_, table, ok := strings.Cut(page, "\n**"+name+"**")
	if !ok {
		return nil, fmt.Errorf("no table of %s", name)
	}
	bars := map[string]bar{}
	for line := range strings.SplitSeq(table, "\n") {
		if strings.HasPrefix(line, "**") || strings.HasPrefix(line, "#") {
			break
		}
		cells := strings.Split(line, "|") // "", shape, bar, GFLOP/s, NN, NT, packed, peer, …
		if len(cells) < 8 {
			continue
		}
		fraction, err := strconv.ParseFloat(strings.Trim(cells[4], " *"), 64)
		if err != nil {
			continue // a heading
		}
		ratio, err := strconv.ParseFloat(strings.Trim(cells[7], " O"), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		bars[strings.TrimSpace(cells[1])] = bar{strings.TrimSpace(cells[3]), fraction, fraction / ratio}
	}
	return bars, nil
}

// Pixels.
const (
	width, margin = 820, 20
	labels        = 124 // columns of shapes
	scale         = 225 // of the whole peak
	row, thick    = 32, 12
	top           = 92
)

var height = top + len(shapes)*row + 52

// draw returns the picture of the page's tables.
func draw(page string) (string, error) {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`font-family="sans-serif" font-size="12" fill="#222222">`, width, height)
	const title = "One core of a Zen 5: Leafhopper and the fastest other library"
	put(`<title>%s</title>`, title)
	put(`<rect x="0.5" y="0.5" width="%d" height="%d" rx="6" fill="#FFFFFF" stroke="#D0D0D0"/>`, width-1, height-1)
	put(`<text x="%d" y="28" font-size="15" font-weight="bold">%s</text>`, margin, title)
	put(`<rect x="%d" y="41" width="14" height="12" fill="#0072B2"/><text x="%d" y="51">Leafhopper, GFLOP/s</text>`,
		margin, margin+19)
	put(`<rect x="190" y="41" width="14" height="12" fill="#B8B8B8"/>` +
		`<text x="209" y="51">the faster of oneDNN and OpenBLAS (bf16: oneDNN)</text>`)
	for i, name := range []string{"bf16", "float32"} {
		bars, err := read(page, name)
		if err != nil {
			return "", err
		}
		left := margin + labels + i*(labels+scale+30)
		put(`<text x="%d" y="%d" font-weight="bold">%s</text>`, left, top-12, name)
		for j, shape := range shapes {
			r, ok := bars[shape]
			if !ok {
				return "", fmt.Errorf("%s: no row %s", name, shape)
			}
			y := top + j*row
			put(`<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+16, shape)
			put(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="#0072B2"/>`, left, y, scale*r.fraction, thick)
			put(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="#B8B8B8"/>`, left, y+thick, scale*r.peer, thick)
			x, anchor, colour := scale*r.fraction+4, "start", "#222222"
			if r.fraction > 0.5 {
				x, anchor, colour = scale*r.fraction-4, "end", "#FFFFFF"
			}
			put(`<text x="%.1f" y="%d" font-size="11" text-anchor="%s" fill="%s">%s</text>`,
				float64(left)+x, y+10, anchor, colour, r.gflops)
		}
		bottom := top + len(shapes)*row
		put(`<path stroke="#555555" fill="none" d="M%d %dV%dH%d"/>`, left, top-4, bottom, left+scale)
		for _, part := range []float64{0, 0.5, 1} {
			x := float64(left) + scale*part
			put(`<path stroke="#555555" d="M%.1f %dv5"/><text x="%.1f" y="%d" text-anchor="middle">%v</text>`,
				x, bottom, x, bottom+20, part)
		}
		put(`<text x="%d" y="%d" text-anchor="middle" fill="#555555">fraction of the peak</text>`,
			left+scale/2, bottom+38)
	}
	put(`</svg>`)
	return b.String(), nil
}
