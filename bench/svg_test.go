package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSVGPoints finds every result again: on its line, at its place, as high as
// the ticks of the y axis say.
func TestSVGPoints(t *testing.T) {
	size := func(r *Result) string { return fmt.Sprintf("%d×%d×%d", r.M, r.N, r.K) }
	cube := func(r *Result) string { return strconv.Itoa(r.M) }
	workers := func(r *Result) string { return plural(r.Workers, "worker") }
	packing := func(r *Result) string {
		if r.Prepacked {
			return "prepacked"
		}
		return "not prepacked"
	}
	none := func(*Result) string { return "" }
	for name, test := range map[string]struct {
		title, x    string
		place, line func(*Result) string
	}{
		"sizes":    {"bf16 to f32, NN, kernel avx512bf16, depth 2", "m = n = k", cube, workers},
		"crowd":    {"bf16 to f32, NN, kernel avx512bf16, depth 1", "m = n = k", cube, workers},
		"shapes":   {"to f32, NN, 1 worker, depth 1", "m × n × k", size, func(r *Result) string { return r.DType }},
		"shapes40": {"bf16 to f32, NN, kernel avx512bf16, depth 1", "m × n × k", size, workers},
		"shapes8":  {"bf16 to f32, NN, kernel avx512bf16, depth 1", "m × n × k", size, workers},
		"depths": {"1024×1024×1024 to f32, NN, 1 worker", "ring depth",
			func(r *Result) string { return strconv.Itoa(r.Depth) }, func(r *Result) string { return r.DType }},
		"workers": {"1024×1024×1024, bf16 to f32, NN, kernel avx512bf16, depth 1", "workers",
			func(r *Result) string { return strconv.Itoa(r.Workers) }, packing},
		"workers64": {"1024×1024×1024, f32 to f32, NN, kernel avx512, depth 1", "workers",
			func(r *Result) string { return strconv.Itoa(r.Workers) }, none},
		"lines": {"to f32, NN", "m = n = k", cube, func(r *Result) string {
			return fmt.Sprintf("%s, %s, %s, depth %d", r.DType, workers(r), packing(r), r.Depth)
		}},
		"packing": {"bf16 to f32, NN, kernel avx512bf16, depth 1", "m = n = k", cube,
			func(r *Result) string { return workers(r) + ", " + packing(r) }},
		"kernels": {"512×512×512, bf16 to f32, NN, 1 worker, depth 1", "kernel",
			func(r *Result) string { return r.Kernel }, none},
		"chosen": {"bf16 to f32, NN, kernel avx512bf16", "m = n = k", cube, workers},
		"single": {"bf16 to f32, NN, 1 worker, kernel avx512bf16, depth 1", "m = n = k", cube, none},
		"plain": {"1000×1000×1000, bf16 to f32, NT, 2 workers, kernel avx2", "ring depth",
			func(r *Result) string { return strconv.Itoa(r.Depth) }, none},
	} {
		rep := svgReports()[name]
		p := parsePlot(t, rep)
		if want := "Matrix products: " + test.title; p.title != want {
			t.Errorf("%s: title %q, want %q", name, p.title, want)
		}
		if !slices.Contains(p.texts, test.x) {
			t.Errorf("%s: no x axis %q", name, test.x)
		}
		points := 0
		for i := range rep.Results {
			r := &rep.Results[i]
			place, line := test.place(r), test.line(r)
			got, ok := p.lines[line].at(place)
			points++
			if !ok {
				t.Errorf("%s: nothing for %q at %s; lines %q", name, line, place, slices.Sorted(maps.Keys(p.lines)))
				continue
			}
			if x := p.placeOf(place); math.Abs(got.x-x) > 0.02 {
				t.Errorf("%s: %q at %s has x = %v, want %v", name, line, place, got.x, x)
			}
			if y := p.yOf(r.GFLOPS); math.Abs(got.y-y) > 0.02 {
				t.Errorf("%s: %q at %s has y = %v, want %v for %v", name, line, place, got.y, y, r.GFLOPS)
			}
			if got.x < p.left || got.x > p.right || got.y < p.top || got.y > p.bottom {
				t.Errorf("%s: %q at %s lies outside the plot: %v", name, line, place, got)
			}
		}
		for _, l := range p.lines {
			points -= len(l.points)
			if want := slices.SortedFunc(slices.Values(l.points), func(a, b parsedPoint) int {
				return int(math.Copysign(1, a.x-b.x))
			}); !slices.Equal(l.points, want) {
				t.Errorf("%s: the points of a line go back: %v", name, l.points)
			}
			if len(l.stroke) != len(l.points) {
				t.Errorf("%s: a line has %d points and %d markers", name, len(l.stroke), len(l.points))
			}
			for i := range min(len(l.stroke), len(l.points)) {
				if q := l.points[i]; l.stroke[i] != [2]float64{q.x, q.y} {
					t.Errorf("%s: the line passes %v, not %v", name, l.stroke[i], q)
				}
			}
		}
		if points != 0 {
			t.Errorf("%s: %d results without a point", name, points)
		}
	}
}

// shapes returns the places of the first n shapes that differ in m.
func shapes(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%d×11008×4096", 64*(i+1)))
	}
	return names
}

// TestSVGScales pins which axis is linear, which logarithmic, which in order.
func TestSVGScales(t *testing.T) {
	for name, test := range map[string]struct {
		places []string
		share  float64 // of the second place on the way from the first to the last
	}{
		"sizes":     {[]string{"64", "256", "1000", "2048"}, 2.0 / 5},
		"gap":       {[]string{"64", "128", "256", "512"}, 1.0 / 3},
		"shapes":    {[]string{"1×4096×4096", "512×4096×4096", "8×4096×4096"}, 1.0 / 2},
		"depths":    {[]string{"1", "2", "3", "4", "6", "8"}, 1.0 / 7},
		"workers":   {[]string{"1", "2", "4", "12"}, 1.0 / 11},
		"workers64": {[]string{"1", "2", "4", "64"}, 1.0 / 6},
		"shapes8":   {shapes(8), 1.0 / 7},
		"shapes12":  {shapes(12), 1.0 / 11},
		"shapes40":  {shapes(40), 1.0 / 39},
		"kernels":   {[]string{"avx512bf16", "go", "gobf16"}, 1.0 / 2},
	} {
		p := parsePlot(t, svgReports()[name])
		var places []string
		for _, tick := range p.xTicks {
			places = append(places, tick.name)
		}
		if !slices.Equal(places, test.places) {
			t.Errorf("%s: places %q, want %q", name, places, test.places)
			continue
		}
		first, last := p.xTicks[0].at, p.xTicks[len(p.xTicks)-1].at
		if got := (p.xTicks[1].at - first) / (last - first); math.Abs(got-test.share) > 1e-3 {
			t.Errorf("%s: the second place lies at %v, want %v", name, got, test.share)
		}
	}
}

// TestSVGWhiskers wants each to end at the slowest and the fastest sample.
func TestSVGWhiskers(t *testing.T) {
	rep := svgReports()["sizes"]
	// one sample
	rep.Results[0].SecondsMin, rep.Results[0].SecondsMax = rep.Results[0].SecondsMedian, rep.Results[0].SecondsMedian
	p := parsePlot(t, rep)
	var got, want [][3]float64
	for _, l := range p.lines {
		got = append(got, l.whiskers...)
	}
	for i := range rep.Results[1:] {
		r := &rep.Results[1+i]
		want = append(want, [3]float64{p.placeOf(strconv.Itoa(r.M)), p.yOf(r.Flops() / r.SecondsMin / 1e9),
			p.yOf(r.Flops() / r.SecondsMax / 1e9)})
	}
	if len(got) != len(want) {
		t.Fatalf("%d whiskers, want %d", len(got), len(want))
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g [3]float64) bool {
			return math.Abs(g[0]-w[0]) < 0.02 && math.Abs(g[1]-w[1]) < 0.02 && math.Abs(g[2]-w[2]) < 0.02
		}) {
			t.Errorf("no whisker %v in %v", w, got)
		}
	}
}

// TestSVGPeaks checks where peaks lie, what they are called and their colours.
func TestSVGPeaks(t *testing.T) {
	for name, want := range map[string]map[string][]float64{ // label: GFLOP/s at the left and at the right
		"sizes":   {"peak, 1 worker": {576, 576}, "peak, 2 workers": {1152, 1152}},
		"shapes":  {"peak, bf16": {576, 576}, "peak, f32": {288.3, 288.3}},
		"plain":   {"peak, 2 workers": {1000, 1000}},
		"single":  {"peak, 1 worker": {576, 576}},
		"workers": {"peak": {576, 12 * 576}},
		"packing": {"peak, 1 worker": {576, 576}, "peak, 2 workers": {1152, 1152}},
		"empty":   {},
	} {
		p := parsePlot(t, svgReports()[name])
		if len(p.peaks) != len(want) {
			t.Errorf("%s: %d peaks, want %d", name, len(p.peaks), len(want))
		}
		for label, at := range want {
			y0, y1 := p.yOf(at[0]), p.yOf(at[1])
			i := slices.IndexFunc(p.peaks, func(k parsedPeak) bool {
				return math.Abs(k.first-y0) < 0.02 && math.Abs(k.last-y1) < 0.02
			})
			if i < 0 || !slices.Contains(p.texts, label) {
				t.Errorf("%s: no peak %q from %v to %v in %v, %q", name, label, y0, y1, p.peaks, p.texts)
				continue
			}
			colours := map[string]bool{}
			for line, l := range p.lines {
				if line == "" || strings.HasPrefix(line, strings.TrimPrefix(label, "peak, ")) || len(want) == 1 {
					colours[l.colour] = true
				}
			}
			if wantColour := slices.Collect(maps.Keys(colours)); len(wantColour) == 1 &&
				p.peaks[i].colour != wantColour[0] || len(wantColour) > 1 && p.peaks[i].colour != neutral {
				t.Errorf("%s: peak %q is %s, its lines %q", name, label, p.peaks[i].colour, wantColour)
			}
		}
	}
	// What follows from the lines is told below them.
	if p := parsePlot(t, svgReports()["chosen"]); !slices.Contains(p.texts, "depth varies with the rest: 1, 4") {
		t.Errorf("texts %q", p.texts)
	}
	// A peak that would flatten the points gives way, and says so.
	rep := svgReports()["single"]
	rep.Results[0].GFLOPS, rep.Results[0].PeakFraction = 57.6, 0.1
	if p := parsePlot(t, rep); len(p.peaks) != 0 ||
		!slices.Contains(p.texts, "above the plot: peak of avx512bf16 on 1 worker: 576.0 GFLOP/s") ||
		p.yOf(100) > p.top {
		t.Errorf("%d peaks, texts %q", len(p.peaks), p.texts)
	}
}

// TestSVGFailed wants a cross for what has no speed, a line that breaks there,
// and a word on it.
func TestSVGFailed(t *testing.T) {
	p := parsePlot(t, svgReports()["gap"])
	for line, want := range map[string]struct {
		points int
		failed string
		x      string
		breaks int
	}{"1 worker": {3, "128: failed: C[1,2] = NaN, want 1", "128", 2}, "2 workers": {3, "512: not measured", "512", 1}} {
		l := p.lines[line]
		if l == nil || len(l.points) != want.points || len(l.failed) != 1 || l.failed[0].title != want.failed ||
			l.breaks != want.breaks {
			t.Errorf("%s: %+v, want %+v", line, l, want)
			continue
		}
		if f := l.failed[0]; math.Abs(f.x-p.placeOf(want.x)) > 0.02 || math.Abs(f.y-p.bottom) > 0.02 {
			t.Errorf("%s: the cross is at %v", line, f)
		}
	}
	if p.leaders != 3 { // of two peaks and the line that reaches the right
		t.Errorf("%d leaders, want 3", p.leaders)
	}
	for _, want := range []string{"✕ 1 result failed verification", "✕ 1 result without a time"} {
		if !slices.Contains(p.texts, want) {
			t.Errorf("no word %q in %q", want, p.texts)
		}
	}
	rep := svgReports()["gap"]
	for i, v := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300, math.SmallestNonzeroFloat64, 0, 0} {
		r := &rep.Results[i]
		r.GFLOPS, r.PeakFraction, r.Verified = v, math.NaN(), true
	}
	if p := parsePlot(t, rep); len(p.lines) != 2 || !slices.Contains(p.texts, "✕ 8 results without a time") {
		t.Errorf("%d lines, texts %q", len(p.lines), p.texts)
	}
	// Samples that make no sense leave the median alone.
	rep = svgReports()["single"]
	for _, s := range [][2]float64{{0, 0}, {0, math.Inf(1)}, {1e-300, 1e300}, {math.NaN(), math.NaN()}, {1e-9, 1e-8},
		{1, 2}} {
		rep.Results[0].SecondsMin, rep.Results[0].SecondsMax = s[0], s[1]
		p := parsePlot(t, rep)
		if pt, ok := p.lines[""].at("640"); !ok || math.Abs(pt.y-p.yOf(rep.Results[0].GFLOPS)) > 0.02 ||
			p.yOf(2000) > p.top || len(p.lines[""].whiskers) > 0 {
			t.Errorf("samples from %v to %v s: %v, %v", s[0], s[1], pt, ok)
		}
	}
}

// TestSVGRepeated draws both of two results that cannot be told apart.
func TestSVGRepeated(t *testing.T) {
	rep := svgReports()["depths"]
	rep.Results = append(rep.Results, rep.Results[3])
	rep.Results[len(rep.Results)-1].GFLOPS /= 2
	p := parsePlot(t, rep)
	n := 0
	for _, l := range p.lines {
		n += len(l.points)
	}
	if n != len(rep.Results) || len(p.lines) != 2 {
		t.Errorf("%d points on %d lines, want %d on 2", n, len(p.lines), len(rep.Results))
	}
}

// TestSVGEscapes draws names that are not fit for XML.
func TestSVGEscapes(t *testing.T) {
	const odd = "a<b>&\"c\"']]>&lt;</svg>"
	rep := svgReports()["sizes"]
	rep.Machine.CPU = odd
	rep.Notes = []string{"note " + odd, "bad \x00\xff\ufffe bytes", strings.Repeat("long ", 100),
		strings.Repeat("w", 500)}
	for i := range rep.Results {
		r := &rep.Results[i]
		r.Kernel = odd
		r.DType = []string{odd + "1", odd + "\n\t2"}[i%2]
	}
	rep.Results[3].Verified, rep.Results[3].Failure = false, odd
	p := parsePlot(t, rep)
	if !strings.Contains(p.title, "kernel "+odd) {
		t.Errorf("title %q", p.title)
	}
	all := strings.Join(p.texts, "\n")
	for _, want := range []string{odd + ", 2 threads", "note " + odd, "bad \ufffd\ufffd\ufffd bytes",
		odd + "1, 1 worker", odd + " 2, 2 workers"} {
		if !strings.Contains(all, want) {
			t.Errorf("no text with %q in\n%s", want, all)
		}
	}
	if l := p.lines[odd+" 2, 2 workers"]; l == nil || len(l.failed) != 1 || l.failed[0].title != "64: failed: "+odd {
		t.Errorf("%+v in %q", l, slices.Sorted(maps.Keys(p.lines)))
	}
}

// TestSVGFits wants all text within the picture, ticks and labels apart, and
// lines that differ in style.
func TestSVGFits(t *testing.T) {
	for name, rep := range svgReports() {
		p := parsePlot(t, rep)
		if p.width != svgWidth || p.height < svgHeight || p.bottom-p.top < minPlot-1 || p.right-p.left < 400 {
			t.Errorf("%s: picture %v×%v, plot from %v,%v to %v,%v", name, p.width, p.height, p.left, p.top, p.right,
				p.bottom)
		}
		for i, a := range p.boxes {
			if a.x0 < 0 || a.y0 < 0 || a.x1 > p.width || a.y1 > p.height {
				t.Errorf("%s: %q lies outside: %+v", name, a.text, a)
			}
			for _, b := range p.boxes[:i] {
				if a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 {
					t.Errorf("%s: %q and %q overlap: %+v, %+v", name, a.text, b.text, a, b)
				}
			}
		}
		for _, l := range p.lines {
			if len(p.lines) > 1 && !slices.ContainsFunc(p.boxes, func(b textBox) bool { return b.text == l.title }) {
				t.Errorf("%s: no label %q", name, l.title)
			}
		}
		styles := map[string]bool{}
		for _, l := range p.lines {
			styles[l.colour+" "+l.marker] = true
		}
		if len(styles) != len(p.lines) {
			t.Errorf("%s: %d styles for %d lines", name, len(styles), len(p.lines))
		}
		if n := len(p.yTicks); n < 4 || n > 9 {
			t.Errorf("%s: %d ticks on the y axis", name, n)
		}
	}
}
