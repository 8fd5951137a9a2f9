package bench

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A plot is what can be read from a picture.
type plot struct {
	width, height            float64
	left, right, top, bottom float64 // of the grid
	title                    string
	texts                    []string // with wrapped ones joined again, too
	boxes                    []textBox
	xTicks, yTicks           []tick
	peaks                    []parsedPeak
	lines                    map[string]*parsedLine
	leaders                  int
}

type tick struct {
	name string
	at   float64
}

type textBox struct {
	text           string
	x0, y0, x1, y1 float64
}

type parsedPoint struct {
	x, y  float64
	title string
}

type parsedLine struct {
	title, colour, marker string
	points, failed        []parsedPoint
	stroke                [][2]float64
	breaks                int          // pieces of the stroke
	whiskers              [][3]float64 // x, highest y, lowest y
}

type parsedPeak struct {
	colour      string
	first, last float64 // y
}

// at returns the point of l at the place.
func (l *parsedLine) at(place string) (parsedPoint, bool) {
	if l == nil {
		return parsedPoint{}, false
	}
	i := slices.IndexFunc(l.points, func(p parsedPoint) bool { return strings.HasPrefix(p.title, place+": ") })
	if i < 0 {
		return parsedPoint{}, false
	}
	return l.points[i], true
}

// yOf returns where the ticks put v.
func (p *plot) yOf(v float64) float64 {
	a, b := p.yTicks[0], p.yTicks[len(p.yTicks)-1]
	va, _ := strconv.ParseFloat(a.name, 64)
	vb, _ := strconv.ParseFloat(b.name, 64)
	return a.at + (b.at-a.at)*(v-va)/(vb-va)
}

// placeOf returns where the ticks put the place. If it is not named, its
// neighbours tell: sizes lie on a scale of powers of two, others side by side.
func (p *plot) placeOf(place string) float64 {
	for _, t := range p.xTicks {
		if t.name == place {
			return t.at
		}
	}
	first, last := p.xTicks[0], p.xTicks[len(p.xTicks)-1]
	value := func(s string) float64 {
		s, rest, shape := strings.Cut(s, "×")
		v, err := strconv.ParseFloat(s, 64)
		switch {
		case err != nil:
			return math.NaN()
		case shape && rest == "11008×4096": // of svgReports: multiples of 64 in order
			return v
		}
		return math.Log2(v)
	}
	return first.at + (last.at-first.at)*(value(place)-value(first.name))/(value(last.name)-value(first.name))
}

// An element is a node of the document.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []*element `xml:",any"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e *element) number(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(e.attr(name), 64)
	if err != nil {
		t.Fatalf("<%s %s=%q>", e.XMLName.Local, name, e.attr(name))
	}
	return v
}

// all returns the elements with their attributes and those they inherit.
func (e *element) all() iter.Seq2[*element, map[string]string] {
	return func(yield func(*element, map[string]string) bool) { e.walk(map[string]string{}, yield) }
}

func (e *element) walk(inherited map[string]string, yield func(*element, map[string]string) bool) bool {
	have := maps.Clone(inherited)
	for _, a := range e.Attrs {
		have[a.Name.Local] = a.Value
	}
	if !yield(e, have) {
		return false
	}
	for _, c := range e.Children {
		if !c.walk(have, yield) {
			return false
		}
	}
	return true
}

var (
	translate = regexp.MustCompile(`^translate\((\S+) (\S+)\)( rotate\(-90\))?$`)
	move      = regexp.MustCompile(`[ML](\S+?) ([0-9.]+)`)
	whisker   = regexp.MustCompile(`M(\S+) (\S+?)h6m-3 0V(\S+?)m-3 0h6`)
	peakPath  = regexp.MustCompile(`^M(\S+) (\S+?)H(\S+)$`)
)

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		t.Fatalf("coordinate %q", s)
	}
	return v
}

// parsePlot writes rep as SVG, wants the same bytes twice and a well-formed
// document without a number that is none, and reads it.
func parsePlot(t *testing.T, rep *Report) *plot {
	t.Helper()
	var b, again bytes.Buffer
	if err := rep.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if rep.WriteSVG(&again); !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("two runs differ")
	}
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.Bytes())
		}
	}
	var root element
	if err := xml.Unmarshal(b.Bytes(), &root); err != nil {
		t.Fatal(err)
	}
	p := &plot{lines: map[string]*parsedLine{}, width: root.number(t, "width"), height: root.number(t, "height")}
	if root.XMLName != (xml.Name{Space: "http://www.w3.org/2000/svg", Local: "svg"}) || root.attr("role") != "img" ||
		root.attr("font-family") != "sans-serif" ||
		root.attr("viewBox") != fmt.Sprintf("0 0 %v %v", p.width, p.height) ||
		root.Children[0].XMLName.Local != "title" || root.Children[1].XMLName.Local != "desc" ||
		root.Children[1].Text == "" {
		t.Errorf("root %+v", root.Attrs)
	}
	p.title = root.Children[0].Text
	for e, have := range root.all() {
		for _, a := range e.Attrs {
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("<%s %s=%q>", e.XMLName.Local, a.Name.Local, a.Value)
			}
		}
		switch {
		case e.XMLName.Local == "text":
			p.readText(t, e, have)
		case e.XMLName.Local == "g" && e.attr("class") == "line":
			l := readLine(t, e)
			if p.lines[l.title] != nil {
				t.Errorf("two lines %q", l.title)
			}
			p.lines[l.title] = l
		case e.attr("class") == "peak":
			k := parsedPeak{colour: e.attr("stroke")}
			if m := peakPath.FindStringSubmatch(e.attr("d")); m != nil {
				k.first = number(t, m[2])
				k.last = k.first
				if number(t, m[1]) != p.left || number(t, m[3]) != p.right {
					t.Errorf("peak from %s to %s", m[1], m[3])
				}
			} else {
				ms := move.FindAllStringSubmatch(e.attr("d"), -1)
				k.first, k.last = number(t, ms[0][2]), number(t, ms[len(ms)-1][2])
			}
			p.peaks = append(p.peaks, k)
		case e.attr("class") == "leader":
			p.leaders++
		case e.attr("class") == "grid":
			m := peakPath.FindStringSubmatch(e.attr("d"))
			p.left, p.right = number(t, m[1]), number(t, m[3])
			if y := number(t, m[2]); len(p.yTicks) == 0 {
				p.bottom, p.top = y, y
			} else {
				p.top = y
			}
		}
	}
	slices.SortFunc(p.xTicks, func(a, b tick) int { return cmp.Compare(a.at, b.at) })
	for i, k := range p.yTicks {
		if v := number(t, k.name); i == 0 && v != 0 || math.Abs(p.yOf(v)-k.at) > 0.02 {
			t.Errorf("tick %q at %v, %v by the others", k.name, k.at, p.yOf(v))
		}
	}
	return p
}

func (p *plot) readText(t *testing.T, e *element, have map[string]string) {
	text, lines := e.Text, 1
	width := 0.0
	size := number(t, have["font-size"])
	for _, c := range e.Children {
		text += c.Text
		width = max(width, textWidth(c.Text, size))
	}
	if len(e.Children) > 0 {
		lines = len(e.Children)
	} else {
		width = textWidth(text, size)
	}
	p.texts = append(p.texts, text)
	var box textBox
	at := 0.0
	if m := translate.FindStringSubmatch(e.attr("transform")); m != nil {
		x, y := number(t, m[1]), number(t, m[2])
		at = x - 4
		box = textBox{text, x - size*0.8, y, x + 0.2*size, y + width}
		if m[3] == "" || have["text-anchor"] != "end" {
			t.Errorf("text %q: %v", text, e.Attrs)
		}
	} else {
		x, y := e.number(t, "x"), e.number(t, "y")
		at = x
		switch have["text-anchor"] {
		case "middle":
			x -= width / 2
		case "end":
			x -= width
		}
		box = textBox{text, x, y - 0.8*size, x + width, y + 0.2*size + 14*float64(lines-1)}
	}
	p.boxes = append(p.boxes, box)
	switch e.attr("class") {
	case "x":
		p.xTicks = append(p.xTicks, tick{text, at})
	case "y":
		p.yTicks = append(p.yTicks, tick{text, e.number(t, "y") - 4})
	}
}

func readLine(t *testing.T, e *element) *parsedLine {
	l := &parsedLine{colour: e.attr("stroke")}
	for _, c := range e.Children {
		switch class := c.attr("class"); {
		case c.XMLName.Local == "title":
			l.title = c.Text
		case class == "whiskers":
			for _, m := range whisker.FindAllStringSubmatch(c.attr("d"), -1) {
				l.whiskers = append(l.whiskers, [3]float64{number(t, m[1]) + 3, number(t, m[2]), number(t, m[3])})
			}
		case class == "point", class == "failed":
			m := translate.FindStringSubmatch(c.attr("transform"))
			pt := parsedPoint{number(t, m[1]), number(t, m[2]), c.Children[0].Text}
			if class == "failed" {
				l.failed = append(l.failed, pt)
			} else {
				l.points = append(l.points, pt)
				l.marker = c.attr("d")
			}
		default:
			d := c.attr("d")
			l.breaks = strings.Count(d, "M")
			for _, m := range move.FindAllStringSubmatch(d, -1) {
				l.stroke = append(l.stroke, [2]float64{number(t, m[1]), number(t, m[2])})
			}
		}
	}
	return l
}

// TestSpread checks places of labels against what was wished.
func TestSpread(t *testing.T) {
	for _, test := range []struct{ want, got []float64 }{
		{nil, nil},
		{[]float64{50}, []float64{50}},
		{[]float64{-5}, []float64{0}},
		{[]float64{105}, []float64{100}},
		{[]float64{80, 20}, []float64{80, 20}},
		{[]float64{50, 50}, []float64{45, 55}},
		{[]float64{52, 48, 50}, []float64{60, 40, 50}},
		{[]float64{0, 0, 0}, []float64{0, 10, 20}},
		{[]float64{100, 99, 98}, []float64{100, 90, 80}},
		{[]float64{30, 36, 43, 90}, []float64{79.0 / 3, 109.0 / 3, 139.0 / 3, 90}},
		{[]float64{5, 5, 14, 24, 70}, []float64{0, 10, 20, 30, 70}},
	} {
		got := spread(test.want, 10, 0, 100)
		if !slices.EqualFunc(got, test.got, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("spread(%v) = %v, want %v", test.want, got, test.got)
		}
	}
}

func TestNiceStep(t *testing.T) {
	for v, want := range map[float64]float64{1: 1, 1.01: 2, 2.2: 2.5, 3: 5, 6: 10, 191: 200, 0.021: 0.025, 1e-9: 1e-9,
		4e11: 5e11} {
		if got := niceStep(v); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("niceStep(%v) = %v, want %v", v, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		s    string
		want int // lines
	}{{"", 1}, {"one", 1}, {strings.Repeat("four ", 40), 4}, {strings.Repeat("w", 300), 1}} {
		lines := wrap(test.s, 300, 11)
		if len(lines) != test.want {
			t.Errorf("%q: %d lines, want %d", test.s, len(lines), test.want)
		}
		for _, l := range lines {
			if textWidth(l, 11) > 300 {
				t.Errorf("%q is wider than 300", l)
			}
		}
	}
}
