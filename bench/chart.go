package bench

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A chart is a report as a plot shows it: one axis of the variants runs from
// left to right, every combination of the others is a line, and the peaks that
// the lines are compared with stand behind them.
type chart struct {
	x       column
	cubes   bool // x is the size, and all sizes are cubes
	places  []place
	lines   []*chartLine
	peaks   []*chartPeak
	fixed   []column // axes on which all results share a place
	follows []column // axes that vary, but as the others say
	top     float64  // of the y axis, GFLOP/s
	step    float64  // between its ticks

	failed, unmeasured int
}

// A place is a value of the axis x.
type place struct {
	cell, name string
	at         float64 // from 0 at the left edge of the plot to 1 at the right
}

// A chartLine is a combination of the axes other than x.
type chartLine struct {
	label  string
	points []chartPoint // from left to right
	peak   *chartPeak   // nil if none was measured
	style  lineStyle
}

// A chartPoint is a result on a line. Its rates are 0 if it has none that means
// anything.
type chartPoint struct {
	res         *Result
	place       int
	lo, mid, hi float64 // GFLOP/s of the slowest, the median and the fastest sample
}

// A chartPeak is the peak of some lines at every place.
type chartPeak struct {
	label  string
	at     []int // by place: an index of Report.Peak, or -1
	lines  []*chartLine
	colour string
	hidden bool // so far above all points that it would flatten them
}

// depthAxis is the axis that has a column of its own in every table.
var depthAxis = column{"depth", func(r *Result) string { return depthName(r.Depth) }}

// xOrder are the axes in the order in which they are taken for x.
var xOrder = []string{
	"m x n x k", "depth", "workers", "callers", "batch", "splitk", "promotion", "scales", "bias", "activation",
	"tile", "kernel", "arith", "prepacked", "dtype", "out", "trans",
}

// hiddenFrom is how many times the fastest sample a peak may be and still be
// drawn.
const hiddenFrom = 4

func (r *Report) chart() *chart {
	c := &chart{}
	var varying []column
	for _, a := range append(slices.Clone(axes), depthAxis) {
		if r.varies(a) {
			varying = append(varying, a)
		} else {
			c.fixed = append(c.fixed, a)
		}
	}
	// What the engine chose by the size or the type does not make another line.
	for _, name := range []string{"depth", "kernel"} {
		i := slices.IndexFunc(varying, func(a column) bool { return a.name == name })
		if i < 0 || len(varying) == 1 {
			continue
		}
		if rest := slices.Delete(slices.Clone(varying), i, i+1); r.combinations(rest) == r.combinations(varying) {
			c.follows = append(c.follows, varying[i])
			varying = rest
		}
	}
	c.x = axes[0]
	for _, name := range slices.Backward(xOrder) {
		if i := slices.IndexFunc(varying, func(a column) bool { return a.name == name }); i >= 0 {
			c.x = varying[i]
		}
	}
	rest := slices.DeleteFunc(varying, func(a column) bool { return a.name == c.x.name })
	c.fixed = slices.DeleteFunc(c.fixed, func(a column) bool { return a.name == c.x.name })
	c.setPlaces(r)
	c.setLines(r, rest)
	c.setPeaks(r, rest)
	c.setScale(r)
	c.paint()
	return c
}

// key identifies the place of res on the axes.
func key(res *Result, axes []column) string {
	var b strings.Builder
	for _, a := range axes {
		b.WriteString(a.cell(res))
		b.WriteByte(0)
	}
	return b.String()
}

// combinations counts the different places of the results on the axes.
func (r *Report) combinations(axes []column) int {
	seen := map[string]bool{}
	for i := range r.Results {
		seen[key(&r.Results[i], axes)] = true
	}
	return len(seen)
}

// setPlaces finds the values of x and where they lie: in order of their size if
// they are numbers, and side by side as they come if not.
func (c *chart) setPlaces(r *Report) {
	c.cubes = c.x.name == axes[0].name
	for i := range r.Results {
		res := &r.Results[i]
		c.cubes = c.cubes && res.M == res.N && res.N == res.K
	}
	numeric := true
	values := map[string]float64{}
	for i := range r.Results {
		res := &r.Results[i]
		cell := c.x.cell(res)
		if _, ok := values[cell]; ok {
			continue
		}
		p := place{cell: cell, name: strings.ReplaceAll(cell, "x", "×")}
		if c.cubes {
			p.name = strconv.Itoa(res.M)
		} else if c.x.name != axes[0].name && c.x.name != "tile" {
			p.name = cell
		}
		v, err := strconv.Atoi(p.name)
		numeric = numeric && err == nil && v > 0
		values[cell] = float64(v)
		c.places = append(c.places, p)
	}
	n := float64(len(c.places))
	if !numeric || n == 1 {
		for i := range c.places {
			c.places[i].at = (float64(i) + 0.5) / n
		}
		return
	}
	slices.SortFunc(c.places, func(a, b place) int { return cmp.Compare(values[a.cell], values[b.cell]) })
	if n == 0 {
		return
	}
	scale := func(v float64) float64 { return v }
	lo, hi := values[c.places[0].cell], values[c.places[len(c.places)-1].cell]
	if c.cubes || hi > 16*lo {
		scale = math.Log2
	}
	for i := range c.places {
		p := &c.places[i]
		p.at = 0.04 + 0.92*(scale(values[p.cell])-scale(lo))/(scale(hi)-scale(lo))
	}
}

// setLines sorts the results into lines.
func (c *chart) setLines(r *Report, rest []column) {
	place := map[string]int{}
	for i, p := range c.places {
		place[p.cell] = i
	}
	lines := map[string]*chartLine{}
	for i := range r.Results {
		res := &r.Results[i]
		k := key(res, rest)
		l := lines[k]
		if l == nil {
			l = &chartLine{label: words(res, rest)}
			lines[k] = l
			c.lines = append(c.lines, l)
		}
		p := chartPoint{res: res, place: place[c.x.cell(res)]}
		switch {
		case res.Checked && !res.Verified:
			c.failed++ // its speed means nothing
		case !measured(res.GFLOPS):
			c.unmeasured++
		default:
			p.lo, p.mid, p.hi = res.GFLOPS, res.GFLOPS, res.GFLOPS
			lo, hi := res.GFLOPS*(res.SecondsMedian/res.SecondsMax), res.GFLOPS*(res.SecondsMedian/res.SecondsMin)
			if measured(lo) && measured(hi) && lo <= p.mid && p.mid <= hi {
				p.lo, p.hi = lo, hi
			}
		}
		l.points = append(l.points, p)
	}
	for _, l := range c.lines {
		slices.SortStableFunc(l.points, func(a, b chartPoint) int { return cmp.Compare(a.place, b.place) })
	}
}

// measured reports whether v can be the GFLOP/s of anything.
func measured(v float64) bool { return v >= 1e-12 && v <= 1e12 }

// setPeaks finds the peaks of the lines; lines with the same peaks share them.
func (c *chart) setPeaks(r *Report, rest []column) {
	for _, l := range c.lines {
		at := slices.Repeat([]int{-1}, len(c.places))
		for _, p := range l.points {
			at[p.place] = max(at[p.place], r.peakIndex(p.res))
		}
		if slices.Max(at) < 0 {
			continue
		}
		i := slices.IndexFunc(c.peaks, func(p *chartPeak) bool { return p.agrees(at) })
		if i < 0 {
			i = len(c.peaks)
			c.peaks = append(c.peaks, &chartPeak{at: slices.Clone(at)})
		}
		l.peak = c.peaks[i]
		for place, v := range at {
			l.peak.at[place] = max(l.peak.at[place], v)
		}
		l.peak.lines = append(l.peak.lines, l)
	}
	used := map[string]bool{}
	for _, p := range c.peaks {
		// A peak is named by what its lines share and others have not.
		shared := slices.DeleteFunc(slices.Clone(rest), func(a column) bool {
			return slices.ContainsFunc(p.lines, func(l *chartLine) bool {
				return a.cell(l.points[0].res) != a.cell(p.lines[0].points[0].res)
			})
		})
		one := p.constant()
		p.label = strings.TrimSuffix("peak, "+words(p.lines[0].points[0].res, shared), ", ")
		if one >= 0 && len(shared) == 0 {
			p.label += ", " + plural(r.Peak[one].Workers, "worker")
		} else if one >= 0 && used[p.label] {
			p.label += ", kernel " + r.Peak[one].Kernel + ", " + plural(r.Peak[one].Workers, "worker")
		}
		used[p.label] = true
	}
}

// peakIndex returns the index of the peak that res.PeakFraction is of, or -1.
func (r *Report) peakIndex(res *Result) int {
	best := -1
	for i, p := range r.Peak {
		if p.Kernel != res.Kernel || !measured(p.GFLOPS) || !(math.Abs(res.PeakFraction*p.GFLOPS/res.GFLOPS-1) < 1e-9) {
			continue
		}
		if best < 0 || p.Workers == res.Workers {
			best = i
		}
	}
	return best
}

// agrees reports whether p is at, where both are known. Peaks that are never
// known together agree if each is the same everywhere.
func (p *chartPeak) agrees(at []int) bool {
	meet := false
	for i, v := range at {
		if v < 0 || p.at[i] < 0 {
			continue
		}
		if v != p.at[i] {
			return false
		}
		meet = true
	}
	one := p.constant()
	return meet || one >= 0 && one == (&chartPeak{at: at}).constant()
}

// constant returns the peak that p is at every place, or -1.
func (p *chartPeak) constant() int {
	one := slices.Max(p.at)
	for _, v := range p.at {
		if v >= 0 && v != one {
			return -1
		}
	}
	return one
}

// setScale chooses the y axis so that all points and the peaks near them fit.
func (c *chart) setScale(r *Report) {
	highest := 0.0
	for _, l := range c.lines {
		for _, p := range l.points {
			highest = max(highest, p.hi)
		}
	}
	top := highest
	for _, p := range c.peaks {
		peak := 0.0
		for _, i := range p.at {
			if i >= 0 {
				peak = max(peak, r.Peak[i].GFLOPS)
			}
		}
		if p.hidden = highest > 0 && peak > hiddenFrom*highest; !p.hidden {
			top = max(top, peak)
		}
	}
	if top == 0 {
		top = 1
	}
	c.step = niceStep(top / 6)
	c.top = c.step * math.Ceil(1.02*top/c.step)
}

// niceStep returns the smallest of 1, 2, 2.5, 5 times a power of ten that is at
// least v.
func niceStep(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*p >= v {
			return m * p
		}
	}
	return 10 * p
}

// words names the place of res on the axes in a few words.
func words(res *Result, axes []column) string {
	var b strings.Builder
	for i, a := range axes {
		v := a.cell(res)
		switch a.name {
		case "m x n x k":
			v = strings.ReplaceAll(v, "x", "×")
		case "dtype", "trans":
		case "out":
			v = "to " + v
		case "workers", "callers":
			n, _ := strconv.Atoi(v)
			v = plural(n, strings.TrimSuffix(a.name, "s"))
		case "arith":
			v += " arithmetic"
		case "prepacked":
			if v = "prepacked"; !res.Prepacked {
				v = "not prepacked"
			}
		default:
			v = a.name + " " + v
		}
		if i > 0 && !(a.name == "out" && axes[i-1].name == "dtype") {
			b.WriteByte(',')
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(v)
	}
	return b.String()
}
