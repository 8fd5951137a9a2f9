package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"time"

	"example.com/leafhopper/internal/timeline"
	"example.com/leafhopper/sm"
)

// The picture has one CTA of a product of this size, and of so many launches the shortest:
// the others met other work of the machine.
const (
	pictureSize = 768 // 12 stages of K
	launches    = 40
)

// Kinds of spans, as sm.Trace calls them, and their colours, of Okabe and Ito's palette.
var kinds = []timeline.Kind{
	{Name: "copy"}, {Name: "mma"}, {Name: "wait full"}, {Name: "wait empty"}, {Name: "epilogue"},
}

const (
	load, mma = 0, 1 // of kinds
)

var (
	colours = []string{"#0072B2", "#D55E00", "#E4E4E4", "#E4E4E4", "#009E73"}
	legend  = []string{"tensor load", "wgmma", "waits", "", "store of C"}
)

func drawTo(ctx context.Context, w io.Writer) error {
	var panels []*timeline.Timeline
	for _, stages := range []int{1, 5} {
		p, err := record(ctx, stages)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	_, err := io.WriteString(w, draw(panels))
	return err
}

// record returns what the producer and the consumer of a CTA did, from the first load on.
func record(ctx context.Context, stages int) (best *timeline.Timeline, err error) {
	p, err := newProduct(pictureSize, stages)
	if err != nil {
		return nil, err
	}
	for range launches {
		trace := new(sm.Trace)
		cfg := sm.Config{Grid: sm.Dim3{X: 1}, Block: sm.Dim3{X: 256}, Trace: trace}
		if err := sm.Launch(ctx, cfg, walkthrough(p)); err != nil {
			return nil, err
		}
		tl, err := read(trace)
		if err != nil {
			return nil, err
		}
		if tl.Name = fmt.Sprintf("QSIZE = %d", stages); best == nil || tl.Elapsed() < best.Elapsed() {
			best = tl
		}
	}
	return best, nil
}

// read returns the lanes of the producer and the consumer of a trace.
func read(trace *sm.Trace) (*timeline.Timeline, error) {
	var b bytes.Buffer
	if _, err := trace.WriteTo(&b); err != nil {
		return nil, err
	}
	var file struct {
		TraceEvents []struct {
			Name, Ph string
			Tid      int
			Ts, Dur  float64 // µs
			Args     struct{ Name string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		return nil, err
	}
	tl := &timeline.Timeline{Kinds: kinds}
	producer, consumer := tl.Lane("", "producer"), tl.Lane("", "consumer")
	lanes, began := map[int]*timeline.Lane{}, -1.0
	for _, e := range file.TraceEvents {
		if e.Name == "thread_name" {
			lanes[e.Tid] = producer
			if e.Args.Name == "warpgroup 1" {
				lanes[e.Tid] = consumer
			}
		}
		if e.Name == kinds[load].Name && (began < 0 || e.Ts < began) {
			began = e.Ts
		}
	}
	for _, e := range file.TraceEvents {
		for kind, k := range kinds {
			if e.Ph != "X" || e.Name != k.Name || e.Ts+e.Dur <= began {
				continue
			}
			start, end := max(e.Ts-began, 0), e.Ts+e.Dur-began
			lanes[e.Tid].Add(kind, time.Duration(1000*start), time.Duration(1000*end))
		}
	}
	return tl, nil
}

// Pixels.
const (
	width, margin, labels = 820, 20, 92
	row, gap              = 24, 6
	panelHeight           = 2*row + gap + 34
	panelsTop             = 66
)

// draw returns the picture, the time of all panels on one scale.
func draw(panels []*timeline.Timeline) string {
	longest := time.Duration(0)
	for _, p := range panels {
		longest = max(longest, p.Elapsed())
	}
	var b strings.Builder
	put := func(format string, args ...any) {
		for i, a := range args {
			switch a := a.(type) {
			case string:
				var text strings.Builder
				xml.EscapeText(&text, []byte(a)) // a Builder takes everything
				args[i] = text.String()
			case float64:
				args[i] = math.Round(100*a) / 100
			}
		}
		fmt.Fprintf(&b, format+"\n", args...)
	}
	x := func(d time.Duration) float64 {
		return labels + float64(width-margin-labels)*d.Seconds()/longest.Seconds()
	}
	bottom := panelsTop + len(panels)*panelHeight
	height := bottom + 84
	const title = "Loads hide behind math: one CTA of the walk-through kernel"
	put(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`font-family="sans-serif" font-size="12" fill="#222222">`, width, height)
	put("<title>%v</title>\n<desc>%v</desc>", title, describe(panels))
	put(`<rect x="0.5" y="0.5" width="%v" height="%v" rx="6" fill="#FFFFFF" stroke="#D0D0D0"/>`, width-1, height-1)
	put(`<text x="%d" y="28" font-size="15" font-weight="bold">%v</text>`, margin, title)
	at := margin
	for kind, text := range legend {
		if text == "" {
			continue
		}
		put(`<rect x="%d" y="41" width="14" height="12" fill="%v"/>`, at, colours[kind])
		put(`<text x="%d" y="51">%v</text>`, at+19, text)
		at += 110
	}
	for i, p := range panels {
		top := panelsTop + i*panelHeight
		put(`<text x="%d" y="%d" font-weight="bold">%v: %v</text>`, margin, top+20, p.Name, summary(p))
		for j, lane := range p.Lanes {
			y := top + 28 + j*(row+gap)
			put(`<text x="%d" y="%d">%v</text>`, margin, y+16, lane.Name)
			for _, s := range lane.Spans {
				put(`<rect class="%v" x="%v" y="%d" width="%v" height="%d" fill="%v"/>`,
					kinds[s.Kind].Name, x(s.Start), y, max(x(s.End)-x(s.Start), 0.5), row, colours[s.Kind])
			}
		}
	}
	step := 10 * time.Microsecond
	for longest/step > 12 {
		step *= 2
	}
	put(`<path stroke="#555555" d="M%d %dH%d"/>`, labels, bottom+4, width-margin)
	for d := time.Duration(0); d <= longest; d += step {
		put(`<path stroke="#555555" d="M%v %dv5"/><text x="%v" y="%d" text-anchor="middle">%d</text>`,
			x(d), bottom+4, x(d), bottom+22, d.Microseconds())
	}
	put(`<text x="%d" y="%d" text-anchor="end" fill="#555555">µs</text>`, width-margin, bottom+38)
	put(`<g font-size="11" fill="#555555">`)
	put(`<text x="%d" y="%d">A tile of 64 x 64 of C, 12 stages of 64 of K, bf16, on %d cores; `+
		`the shortest of %d launches. The producer copies what it loads.</text>`,
		margin, bottom+56, runtime.GOMAXPROCS(0), launches)
	put(`<text x="%d" y="%d">go run ./examples/hoppergemm -svg docs/hoppergemm.svg</text>`, margin, bottom+70)
	put(`</g>`)
	b.WriteString("</svg>\n")
	return b.String()
}

// summary says what a panel shows in numbers.
func summary(p *timeline.Timeline) string {
	share := func(d, of time.Duration) float64 { return 100 * d.Seconds() / of.Seconds() }
	return fmt.Sprintf("%d µs, of which wgmma %.0f %%; %.0f %% of the loads' time passes behind it",
		p.Elapsed().Microseconds(), share(p.Total(mma), p.Elapsed()), share(p.Behind(load, mma), p.Total(load)))
}

func describe(panels []*timeline.Timeline) string {
	var parts []string
	for _, p := range panels {
		parts = append(parts, p.Name+": "+summary(p)+".")
	}
	return strings.Join(parts, " ")
}
