package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/trace"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/leafhopper/internal/timeline"
)

// recorded runs prog and returns what its workers noted.
func recorded(t *testing.T, c *Crew, g *Grid, s Shape, workers int) *Trace {
	t.Helper()
	prog := newRecorder(s)
	if err := g.Reset(noContext, s, prog, workers); err != nil {
		t.Fatal(err)
	}
	tr := new(Trace)
	tr.Begin(noContext, workers)
	g.Record(tr)
	c.Run(g, workers)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	prog.check(t, describe(s, workers), false)
	g.Clear()
	return tr
}

// arg returns the detail of s called key.
func arg(s timeline.Span, key string) int {
	for _, a := range s.Args {
		if a.Key == key {
			return a.Value.(int)
		}
	}
	return -1
}

// TestTrace wants every piece in the trace, once and in its order: no slot is filled
// again before all slabs have let go of it, and no lane is at two things at once.
func TestTrace(t *testing.T) {
	noLeaks(t)
	rng := random(t)
	c := eager(3)
	defer c.Close()
	var g Grid
	shapes := []Shape{
		{Depth: 1, Items: 1, CTAs: 1, Slabs: 6},
		{Depth: 1, Items: 20, CTAs: 1, Slabs: 2, Private: 2, Shared: 1},
	}
	for range 60 {
		shapes = append(shapes, randomShape(rng, 30))
	}
	for _, s := range shapes {
		workers := 1 + rng.IntN(4)
		what := describe(s, workers)
		tr := recorded(t, c, &g, s, workers)
		type piece struct{ kind, item, n int }
		seen := map[piece]int{}
		freed := map[int]time.Duration{} // by item, when its last slab was done
		for _, l := range tr.Lanes {
			before := time.Duration(0)
			for _, sp := range l.Spans {
				if sp.Start < before || sp.End < sp.Start {
					t.Fatalf("%s: %s is at two things at once: %+v after %v", what, l.Name, sp, before)
				}
				before = sp.End
				switch item := arg(sp, "item"); sp.Kind {
				case TraceCompute:
					seen[piece{TraceCompute, item, arg(sp, "slab")}]++
					freed[item] = max(freed[item], sp.End)
				case TraceCopy:
					seen[piece{TraceCopy, item, arg(sp, "job")}]++
				}
			}
		}
		for _, l := range tr.Lanes {
			for _, sp := range l.Spans {
				if item := arg(sp, "item"); sp.Kind == TraceCopy && item >= s.Depth && sp.Start < freed[item-s.Depth] {
					t.Errorf("%s: item %d is copied over item %d before that is done", what, item, item-s.Depth)
				}
			}
		}
		want := s.Items * (s.CTAs*(s.Slabs+s.Private) + s.Shared)
		if len(tr.Lanes) != workers || len(seen) != want {
			t.Errorf("%s: %d lanes, %d pieces, want %d", what, len(tr.Lanes), len(seen), want)
		}
		for p, n := range seen {
			if n != 1 {
				t.Errorf("%s: piece %+v %d times", what, p, n)
			}
		}
	}
}

// TestTraceSlabs wants every slab in the trace, once.
func TestTraceSlabs(t *testing.T) {
	const slabs, workers = 7, 3
	c := eager(workers - 1)
	defer c.Close()
	var s Slabs
	if err := s.Reset(noContext, slabs, working{time.Microsecond}, workers); err != nil {
		t.Fatal(err)
	}
	tr := new(Trace)
	tr.Begin(noContext, workers)
	s.Record(tr)
	c.Run(&s, workers)
	var seen [slabs]int
	for _, l := range tr.Lanes {
		for _, sp := range l.Spans {
			if sp.Kind == TraceCompute {
				seen[arg(sp, "slab")]++
			}
		}
	}
	for slab, n := range seen {
		if n != 1 {
			t.Errorf("slab %d is %d times in the trace", slab, n)
		}
	}
}

// TestTraceStall has a consumer that is slower than its producer: the stalls are those
// that the grid's statistics sum.
func TestTraceStall(t *testing.T) {
	c := eager(1)
	defer c.Close()
	var g Grid
	s := Shape{Depth: 1, Items: 4, CTAs: 1, Slabs: 1, Private: 1}
	prog := &slowProgram{Program: newRecorder(s), pause: 3 * time.Millisecond}
	if err := g.Reset(noContext, s, prog, 2); err != nil {
		t.Fatal(err)
	}
	tr := new(Trace)
	tr.Begin(noContext, 2)
	g.Record(tr)
	c.Run(&g, 2)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	st := g.Stats()
	// Both look at the clock one after the other, and a busy machine may stop a worker between.
	const slack = 20 * time.Millisecond
	if got, want := tr.Total(TraceStall), st.ProducerWait+st.ConsumerWait; got < want/2-slack || got > 2*want+slack {
		t.Errorf("stalls of %v, the statistics have %v", got, want)
	}
	if got := tr.Total(TraceCopy); got > st.Copy+slack {
		t.Errorf("copies of %v, the statistics have %v", got, st.Copy)
	}
	if d := tr.Total(TraceCompute); d < 4*prog.pause {
		t.Errorf("computed for %v, want at least 4 times %v", d, prog.pause)
	}
}

// A slowProgram computes for at least pause.
type slowProgram struct {
	Program
	pause time.Duration
}

func (p *slowProgram) Compute(stage, item, cta, slab int) {
	time.Sleep(p.pause)
	p.Program.Compute(stage, item, cta, slab)
}

// TestTraceRegions finds the spans in the execution trace.
func TestTraceRegions(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced")
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	c := eager(1)
	var g Grid
	tr := recorded(t, c, &g, Shape{Depth: 1, Items: 50, CTAs: 1, Slabs: 1, Private: 2}, 2)
	c.Close()
	trace.Stop()
	for kind, k := range tr.Kinds {
		if tr.Total(kind) > 0 && !strings.Contains(b.String(), k.Name) {
			t.Errorf("no region %q among %d bytes", k.Name, b.Len())
		}
	}
	if tr.Total(TraceCopy) == 0 || tr.Total(TraceCompute) == 0 {
		t.Errorf("nothing to find: %v", fmt.Sprint(tr.Total(TraceCopy), tr.Total(TraceCompute)))
	}
}

// TestTraceWritten draws a trace in lanes no wider than asked for, and writes as many bytes as WriteTo says.
func TestTraceWritten(t *testing.T) {
	c := eager(1)
	defer c.Close()
	var g Grid
	tr := recorded(t, c, &g, Shape{Depth: 2, Items: 20, CTAs: 1, Slabs: 2, Private: 1}, 2)
	var lanes, file bytes.Buffer
	const width = 100
	if err := tr.WriteLanes(&lanes, width); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(lanes.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns, want at most %d: %s", n, width, line)
		}
	}
	if !strings.Contains(lanes.String(), "\nworker 1") {
		t.Errorf("no worker 1 in\n%s", lanes.String())
	}
	if n, err := tr.WriteTo(&file); err != nil || n != int64(file.Len()) || !json.Valid(file.Bytes()) {
		t.Errorf("WriteTo = %d, %v, of %d bytes", n, err, file.Len())
	}
}

// TestTraceNil does nothing, and without memory.
func TestTraceNil(t *testing.T) {
	var tr *Trace
	if n := testing.AllocsPerRun(100, func() {
		s := tr.Start(3, TraceCopy)
		s.endPiece(1, "job", 2)
		s.endStall(true)
		s.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
