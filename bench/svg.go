package bench

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Sizes of the picture, in pixels as long as nothing scales it.
const (
	svgWidth  = 820
	svgHeight = 460 // at least
	svgLeft   = 66  // of the plot
	svgEdge   = 22  // from the plot to the right edge, without labels there
	minPlot   = 280 // height of the plot, at least

	titleSize, textSize, captionSize = 15, 12, 11
	labelGap                         = 15  // from one label at the right to the next
	maxRight                         = 18  // labels there
	maxRightWidth                    = 230 // of the widest
)

// A drawing is an SVG picture of a chart.
type drawing struct {
	b strings.Builder
	r *Report
	c *chart

	left, right, top, bottom float64 // of the plot
	width, height            float64 // of the picture
	ends                     []label // that stand at the right, where their lines end
	legend                   []label // that stand below, for lack of room there
	columns                  int     // of the legend
	head, caption            []string
}

// A label says what a line, or a peak, is.
type label struct {
	text string
	line *chartLine
	peak *chartPeak
	x, y float64 // the end of what it names
}

// WriteSVG writes the report as a plot: GFLOP/s by size if there are several,
// or else by depth, workers or what else differs; a line for every combination
// of the rest, with whiskers from the slowest to the fastest sample; and dashed,
// the measured peak of the same kernel and workers. A result that failed its
// verification is a cross at the bottom. The picture needs no other file and
// names no font but sans-serif.
func (r *Report) WriteSVG(w io.Writer) error {
	d := &drawing{r: r, c: r.chart()}
	d.layout()
	d.draw()
	_, err := io.WriteString(w, d.b.String())
	return err
}

// put writes format with its arguments: strings escaped, float64 as short as
// the hundredth of a pixel allows.
func (d *drawing) put(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = escape(a)
		case float64:
			args[i] = pixel(a)
		}
	}
	fmt.Fprintf(&d.b, format, args...)
}

// pixel formats a coordinate.
func pixel(v float64) string { return strconv.FormatFloat(math.Round(100*v)/100+0, 'f', -1, 64) }

// escape returns s as text or attribute of an XML document, on one line.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(strings.Join(strings.Fields(s), " "))) // a Builder takes everything
	return b.String()
}

// layout decides what stands where.
func (d *drawing) layout() {
	var lines, peaks []label
	for _, l := range d.c.lines {
		if len(d.c.lines) > 1 {
			lines = append(lines, label{text: l.label, line: l})
		}
	}
	for _, p := range d.c.peaks {
		if !p.hidden {
			peaks = append(peaks, label{text: p.label, peak: p})
		}
	}
	if all := slices.Concat(lines, peaks); fitsRight(all) {
		d.ends = all
	} else if fitsRight(peaks) {
		d.ends, d.legend = peaks, lines
	} else {
		d.legend = all
	}
	d.width, d.left, d.right = svgWidth, svgLeft, svgWidth-svgEdge
	if len(d.ends) > 0 {
		d.right = d.width - widest(d.ends) - 50
	}
	d.head = wrap(d.title(), d.width-40, titleSize)
	d.caption = d.captions()
	d.top = 52 + 19*float64(len(d.head))
	below := d.ticksHeight() + 30 + 14*float64(len(d.caption))
	if len(d.legend) > 0 {
		d.columns = max(1, int((d.width-40)/(widest(d.legend)+40)))
		below += d.legendHeight()
	}
	d.height = max(svgHeight, d.top+minPlot+below)
	d.bottom = d.height - below
}

func widest(labels []label) float64 {
	w := 0.0
	for _, l := range labels {
		w = max(w, textWidth(l.text, textSize))
	}
	return w
}

func fitsRight(labels []label) bool {
	return len(labels) <= maxRight && widest(labels) <= maxRightWidth
}

func (d *drawing) x(place int) float64 { return d.left + (d.right-d.left)*d.c.places[place].at }

func (d *drawing) y(gflops float64) float64 {
	return d.bottom - (d.bottom-d.top)*gflops/d.c.top
}

// title says what all results share.
func (d *drawing) title() string {
	if len(d.r.Results) == 0 {
		return "Matrix products: no results"
	}
	first := &d.r.Results[0]
	var parts []string
	for _, a := range d.c.fixed {
		if a.asked(first) {
			parts = append(parts, words(first, []column{a}))
		}
	}
	return strings.ReplaceAll("Matrix products: "+strings.Join(parts, ", "), ", to ", " to ")
}

// captions are the lines at the foot: where and how this was measured.
func (d *drawing) captions() []string {
	c, r := d.c, d.r
	lines := append([]string{r.head()[0]}, r.Notes...)
	whiskers := false
	for _, l := range c.lines {
		for _, p := range l.points {
			whiskers = whiskers || p.lo < p.hi
		}
	}
	var how []string
	if len(r.Results) > 0 && r.Results[0].Count > 1 {
		s := "median of " + plural(r.Results[0].Count, "sample")
		if whiskers {
			s += ", whiskers from the slowest to the fastest"
		}
		how = append(how, s)
	}
	if slices.ContainsFunc(c.peaks, func(p *chartPeak) bool { return !p.hidden }) {
		how = append(how, "dashed: measured peak of the same kernel and workers")
	}
	if len(how) > 0 {
		lines = append(lines, strings.Join(how, "; "))
	}
	for i, p := range r.Peak {
		if slices.ContainsFunc(c.peaks, func(c *chartPeak) bool { return c.hidden && slices.Contains(c.at, i) }) {
			lines = append(lines, fmt.Sprintf("above the plot: peak of %s on %s: %s GFLOP/s",
				p.Kernel, plural(p.Workers, "worker"), significant(p.GFLOPS)))
		}
	}
	for _, a := range c.follows {
		var values []string
		for i := range r.Results {
			if v := a.cell(&r.Results[i]); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		slices.SortStableFunc(values, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return cmp.Compare(x, y) // names stay as they come
		})
		lines = append(lines, a.name+" varies with the rest: "+strings.Join(values, ", "))
	}
	if chosen := r.chosenDepths(); len(chosen) > 0 {
		lines = append(lines, "depth auto: the engine chose "+strings.Join(chosen, ", "))
	}
	if c.failed > 0 {
		lines = append(lines, "✕ "+plural(c.failed, "result")+" failed verification")
	}
	if c.unmeasured > 0 {
		lines = append(lines, "✕ "+plural(c.unmeasured, "result")+" without a time")
	}
	var wrapped []string
	for _, l := range lines {
		wrapped = append(wrapped, wrap(l, d.width-40, captionSize)...)
	}
	return wrapped
}

// chosenDepths names the depths that the engine chose, each
// once and in order.
func (r *Report) chosenDepths() []string {
	var depths []int
	for i := range r.Results {
		if r.Results[i].depthChosen() {
			depths = append(depths, r.Results[i].DepthUsed)
		}
	}
	slices.Sort(depths)
	var names []string
	for _, d := range slices.Compact(depths) {
		names = append(names, chosenName(d))
	}
	return names
}

// describe tells in a sentence or two what can be seen.
func (d *drawing) describe() string {
	c := d.c
	s := fmt.Sprintf("GFLOP/s (upward) by %s (to the right).", d.xTitle())
	for _, l := range c.lines {
		var lo, hi *chartPoint
		for i := range l.points {
			p := &l.points[i]
			if p.mid > 0 && (lo == nil || p.mid < lo.mid) {
				lo = p
			}
			if p.mid > 0 && (hi == nil || p.mid > hi.mid) {
				hi = p
			}
		}
		if s += " "; l.label != "" {
			s += l.label + ": "
		}
		switch {
		case hi == nil:
			s += "no valid result."
		case lo == hi:
			s += fmt.Sprintf("%s at %s.", significant(hi.mid), c.places[hi.place].name)
		default:
			s += fmt.Sprintf("from %s at %s to %s at %s.",
				significant(lo.mid), c.places[lo.place].name, significant(hi.mid), c.places[hi.place].name)
		}
	}
	for _, p := range d.r.Peak {
		s += fmt.Sprintf(" Measured peak of %s on %s: %s.",
			p.Kernel, plural(p.Workers, "worker"), significant(p.GFLOPS))
	}
	return s
}

// xTitle names the axis x.
func (d *drawing) xTitle() string {
	switch {
	case d.c.cubes:
		return "m = n = k"
	case d.c.x.name == "depth":
		return "ring depth"
	}
	return strings.ReplaceAll(d.c.x.name, " x ", " × ")
}

// textWidth estimates how wide s is in a wide font; most are narrower.
func textWidth(s string, size float64) float64 {
	em := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune(" .,:;'|!()[]/-ijlftrI", r):
			em += 0.4
		case strings.ContainsRune("mwMW×%=…✕", r):
			em += 0.95
		case r >= 0x1100: // East Asian, symbols
			em += 1
		case unicode.IsUpper(r):
			em += 0.72
		default:
			em += 0.64
		}
	}
	return em * size
}

// fit cuts s to the width.
func fit(s string, width, size float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 0 && textWidth(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// wrap breaks s into lines no wider than width.
func wrap(s string, width, size float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		word = fit(word, width, size)
		if line != "" && textWidth(line+" "+word, size) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
