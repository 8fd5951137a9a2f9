package bench

import (
	"cmp"
	"slices"
)

// drawEnds writes the labels at the right, each as near to the end of its line as
// the others allow.
func (d *drawing) drawEnds() {
	want := make([]float64, len(d.ends))
	for i := range d.ends {
		l := &d.ends[i]
		d.findEnd(l)
		want[i] = l.y
	}
	for i, y := range spread(want, labelGap, d.top+4, d.bottom-4) {
		l := &d.ends[i]
		var colour string
		if l.line != nil {
			colour = l.line.style.colour
		} else {
			colour = l.peak.colour
		}
		// From farther left it would look like a part of the line.
		if l.x >= d.x(len(d.c.places)-1) {
			d.put(`<path class="leader" stroke="%v" stroke-opacity="0.5" fill="none" d="M%v %vL%v %v"/>`,
				colour, l.x, l.y, d.right+12, y)
		}
		d.drawKey(l, d.right+14, y, maxRightWidth)
	}
}

// findEnd sets where the line of l ends: at its last valid point, the axis if
// there is none, or the right edge for a peak that is the same everywhere.
func (d *drawing) findEnd(l *label) {
	l.x, l.y = d.right, d.bottom
	if p := l.peak; p != nil {
		if one := p.constant(); one >= 0 {
			l.y = d.y(d.r.Peak[one].GFLOPS)
			return
		}
		for place, i := range p.at {
			if i >= 0 {
				l.x, l.y = d.x(place), d.y(d.r.Peak[i].GFLOPS)
			}
		}
		return
	}
	for _, p := range l.line.points {
		if p.mid > 0 {
			l.x, l.y = d.x(p.place), d.y(p.mid)
		}
	}
}

// legendRows returns how many labels stand one below the other in the legend.
func (d *drawing) legendRows() int { return (len(d.legend) + d.columns - 1) / d.columns }

func (d *drawing) legendHeight() float64 { return 10 + 16*float64(d.legendRows()) }

// drawLegend writes under the axis, which ends at y, the labels that do not
// stand at the right, and returns where that ends.
func (d *drawing) drawLegend(y float64) float64 {
	rows, width := d.legendRows(), (d.width-40)/float64(d.columns)
	for i := range d.legend {
		d.drawKey(&d.legend[i], 20+width*float64(i/rows), y+2+16*float64(i%rows+1), width-40)
	}
	return y + d.legendHeight()
}

// drawKey writes one label with a piece of what it names before it.
func (d *drawing) drawKey(l *label, x, y, width float64) {
	if l.line != nil {
		s := l.line.style
		d.put(`<path stroke="%v" stroke-width="2" stroke-dasharray="%v" d="M%v %vh22"/>`,
			s.colour, cmp.Or(s.dash, "none"), x, y)
		d.put(`<path fill="%v" stroke="#FFFFFF" transform="translate(%v %v)" d="%v"/>`, s.colour, x+11, y, s.marker)
	} else {
		d.put(`<path stroke="%v" stroke-width="1.5" stroke-dasharray="%v" d="M%v %vh22"/>`,
			l.peak.colour, peakDash, x, y)
	}
	d.put(`<text class="label" x="%v" y="%v">%v</text>`+"\n", x+27, y+4, fit(l.text, width, textSize))
}

// spread moves the wanted places, as little as it takes, to within lo..hi and
// at least gap apart, in the same order. There must be room for all.
func spread(want []float64, gap, lo, hi float64) []float64 {
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(want[a], want[b]) })
	// A block is a run that touches; it lies where the distances of its members
	// from their places sum to 0.
	type block struct {
		n          int
		sum, start float64 // of want - gap × (index in the block)
	}
	var blocks []block
	for _, i := range order {
		b := block{1, want[i], 0}
		for {
			b.start = max(lo, min(b.sum/float64(b.n), hi-gap*float64(b.n-1)))
			last := len(blocks) - 1
			if last < 0 || blocks[last].start+gap*float64(blocks[last].n) <= b.start {
				break
			}
			p := blocks[last]
			blocks = blocks[:last]
			b = block{p.n + b.n, p.sum + b.sum - gap*float64(p.n*b.n), 0}
		}
		blocks = append(blocks, b)
	}
	got := make([]float64, len(want))
	at := 0
	for _, b := range blocks {
		for j := range b.n {
			got[order[at]] = b.start + gap*float64(j)
			at++
		}
	}
	return got
}
