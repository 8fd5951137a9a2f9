package bench

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	ink, faint, grid = "#222222", "#555555", "#E3E3E3"
	font             = "sans-serif"
)

func (d *drawing) draw() {
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="0 0 %[1]v %[2]v" `+
		`role="img" font-family="%[3]v" font-size="%[4]d" fill="%[5]v">`+"\n",
		d.width, d.height, font, textSize, ink)
	d.put("<title>%v</title>\n<desc>%v</desc>\n", d.title(), d.describe())
	d.put(`<rect x="0.5" y="0.5" width="%v" height="%v" rx="6" fill="#FFFFFF" stroke="#D0D0D0"/>`+"\n",
		d.width-1, d.height-1)
	for i, line := range d.head {
		d.put(`<text x="20" y="%v" font-size="%d" font-weight="bold">%v</text>`+"\n", 28+19*float64(i), titleSize, line)
	}
	d.drawYAxis()
	bottom := d.drawXAxis()
	d.drawPeaks()
	for _, l := range d.c.lines {
		d.drawLine(l)
	}
	d.drawEnds()
	if len(d.legend) > 0 {
		bottom = d.drawLegend(bottom)
	}
	d.put(`<g font-size="%d" fill="%v">`+"\n", captionSize, faint)
	for i, line := range d.caption {
		d.put(`<text x="20" y="%v">%v</text>`+"\n", bottom+18+14*float64(i), line)
	}
	d.put("</g>\n</svg>\n")
}

func (d *drawing) drawYAxis() {
	d.put(`<text x="20" y="%v" fill="%v">GFLOP/s</text>`+"\n", d.top-16, faint)
	c := d.c
	decimals := 0
	for v := c.step; decimals < 15 && math.Abs(v-math.Round(v)) > 1e-6*v; v *= 10 {
		decimals++
	}
	for i := 0; float64(i)*c.step <= c.top*(1+1e-9); i++ {
		v := float64(i) * c.step
		colour := grid
		if i == 0 {
			colour = faint
		}
		d.put(`<path class="grid" d="M%v %vH%v" stroke="%v"/>`, d.left, d.y(v), d.right, colour)
		d.put(`<text class="y" x="%v" y="%v" text-anchor="end">%v</text>`+"\n",
			d.left-8, d.y(v)+4, strconv.FormatFloat(v, 'f', decimals, 64))
	}
}

// The ways to write the names of the places under the axis.
const (
	level   = iota
	stacked // a factor of a size to a line
	upright // turned by a quarter
)

// ticksStyle returns how the names of the places fit, and how wide or high the
// largest is.
func (d *drawing) ticksStyle() (style int, extent float64) {
	narrow, lines := 0.0, 1
	for _, p := range d.c.places {
		extent = max(extent, textWidth(p.name, textSize))
		parts := strings.SplitAfter(p.name, "×")
		lines = max(lines, len(parts))
		for _, part := range parts {
			narrow = max(narrow, textWidth(part, textSize))
		}
	}
	cell := (d.right - d.left) / float64(max(1, len(d.c.places)))
	switch _, err := strconv.Atoi(d.c.firstName()); {
	case err == nil || extent+8 <= cell:
		return level, textSize
	case narrow+6 <= cell:
		return stacked, 14 * float64(lines)
	}
	return upright, min(extent, 130)
}

func (c *chart) firstName() string {
	if len(c.places) == 0 {
		return ""
	}
	return c.places[0].name
}

func (d *drawing) ticksHeight() float64 {
	_, extent := d.ticksStyle()
	return extent + 12
}

// drawXAxis draws the ticks, their names as far as there is room for them, and
// the name of the axis. It returns where that ends.
func (d *drawing) drawXAxis() float64 {
	if len(d.c.places) == 0 {
		return d.bottom
	}
	style, extent := d.ticksStyle()
	d.put(`<path stroke="%v" d="`, faint)
	for i := range d.c.places {
		d.put("M%v %vv5", d.x(i), d.bottom)
	}
	d.put(`"/>` + "\n")
	d.put(`<g text-anchor="middle">` + "\n")
	for _, i := range d.namedPlaces(style) {
		x, name := d.x(i), d.c.places[i].name
		switch style {
		case level:
			d.put(`<text class="x" x="%v" y="%v">%v</text>`+"\n", x, d.bottom+19, fit(name, d.right-d.left, textSize))
		case stacked:
			d.put(`<text class="x" x="%v" y="%v">`, x, d.bottom+19)
			for j, part := range strings.SplitAfter(name, "×") {
				d.put(`<tspan x="%v" dy="%d">%v</tspan>`, x, min(j, 1)*14, part)
			}
			d.put("</text>\n")
		case upright:
			d.put(`<text class="x" transform="translate(%v %v) rotate(-90)" text-anchor="end">%v</text>`+"\n",
				x+4, d.bottom+9, fit(name, extent, textSize))
		}
	}
	end := d.bottom + d.ticksHeight() + 14
	d.put(`<text x="%v" y="%v" fill="%v">%v</text>`+"\n</g>\n", (d.left+d.right)/2, end, faint, d.xTitle())
	return end
}

// namedPlaces returns the places whose names do not overlap: the last, the
// first, powers of two, and then the others.
func (d *drawing) namedPlaces(style int) []int {
	n := len(d.c.places)
	rank := func(i int) int {
		v, _ := strconv.Atoi(d.c.places[i].name)
		switch {
		case i == n-1:
			return 0
		case i == 0:
			return 1
		case v > 0 && v&(v-1) == 0:
			return 2
		}
		return 3
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	half := func(i int) float64 {
		if style == upright {
			return 7
		}
		if style == stacked {
			return 0 // ticksStyle saw to it
		}
		return textWidth(d.c.places[i].name, textSize)/2 + 2
	}
	var named []int
	for _, i := range order {
		if !slices.ContainsFunc(named, func(j int) bool { return math.Abs(d.x(i)-d.x(j)) < half(i)+half(j) }) {
			named = append(named, i)
		}
	}
	slices.Sort(named)
	return named
}

func (d *drawing) drawPeaks() {
	for _, p := range d.c.peaks {
		if p.hidden {
			continue
		}
		d.put(`<path class="peak" fill="none" stroke="%v" stroke-width="1.5" stroke-dasharray="%v" d="`,
			p.colour, peakDash)
		if one := p.constant(); one >= 0 {
			d.put("M%v %vH%v", d.left, d.y(d.r.Peak[one].GFLOPS), d.right)
		} else {
			pen := "M"
			for place, i := range p.at {
				if i >= 0 {
					d.put("%v%v %v", pen, d.x(place), d.y(d.r.Peak[i].GFLOPS))
					pen = "L"
				}
			}
		}
		d.put(`"/>` + "\n")
	}
}

// drawLine draws l: whiskers, then the line, which breaks where a result is not
// valid, then the points.
func (d *drawing) drawLine(l *chartLine) {
	var whiskers, stroke strings.Builder
	pen := "M"
	for _, p := range l.points {
		x := d.x(p.place)
		if p.mid == 0 {
			pen = "M"
			continue
		}
		if p.lo < p.hi {
			lo, hi := d.y(p.lo), d.y(p.hi)
			whiskers.WriteString("M" + pixel(x-3) + " " + pixel(hi) + "h6m-3 0V" + pixel(lo) + "m-3 0h6")
		}
		stroke.WriteString(pen + pixel(x) + " " + pixel(d.y(p.mid)))
		pen = "L"
	}
	d.put(`<g class="line" stroke="%v" fill="%v">`, l.style.colour, l.style.colour)
	if l.label != "" {
		d.put("<title>%v</title>", l.label)
	}
	if whiskers.Len() > 0 {
		d.put(`<path class="whiskers" fill="none" stroke-opacity="0.6" d="%v"/>`, whiskers.String())
	}
	if stroke.Len() > 0 {
		d.put(`<path fill="none" stroke-width="2" stroke-linejoin="round"`)
		if l.style.dash != "" {
			d.put(` stroke-dasharray="%v"`, l.style.dash)
		}
		d.put(` d="%v"/>`, stroke.String())
	}
	d.put("\n")
	for _, p := range l.points {
		name := d.c.places[p.place].name
		if p.mid == 0 {
			d.put(`<path class="failed" transform="translate(%v %v)" fill="none" stroke-width="2" d="%v">`+
				"<title>%v: %v</title></path>\n", d.x(p.place), d.bottom, failedMarker, name, p.fault())
			continue
		}
		d.put(`<path class="point" transform="translate(%v %v)" stroke="#FFFFFF" d="%v"><title>%v: %v GFLOP/s`,
			d.x(p.place), d.y(p.mid), l.style.marker, name, significant(p.mid))
		if p.lo < p.hi {
			d.put(" (%v to %v)", significant(p.lo), significant(p.hi))
		}
		if p.res.PeakFraction > 0 {
			d.put(", %v of the peak", percent(p.res.PeakFraction))
		}
		d.put("</title></path>\n")
	}
	d.put("</g>\n")
}

// fault says why p has no place on its line.
func (p *chartPoint) fault() string {
	if p.res.Checked && !p.res.Verified {
		return "failed: " + p.res.Failure
	}
	return "not measured"
}
