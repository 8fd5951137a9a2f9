package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/timeline"
	"example.com/leafhopper/pipeline"
)

// tracedReport has a trace of two workers for each depth: with one stage nothing is
// hidden, with two a half of the copies, with four all.
func tracedReport() *Report {
	rep := sampleReport()
	kinds := []timeline.Kind{
		pipeline.TraceCompute: {Name: "multiply", Mark: '#'}, pipeline.TraceCopy: {Name: "copy", Mark: '+'},
		pipeline.TraceStall: {Name: "stall", Mark: '.'},
	}
	for i := range rep.Results {
		tr := &gemm.Trace{Timeline: timeline.Timeline{Name: "depth", Kinds: kinds}}
		a, b := tr.Lane("", "worker 0"), tr.Lane("", "worker 1")
		at := time.Duration(0)
		for range 4 {
			from := at + 20*time.Microsecond*time.Duration(2-i)/2 // multiplication of the other begins
			a.Add(pipeline.TraceCopy, at, at+20*time.Microsecond)
			a.Add(pipeline.TraceCompute, at+20*time.Microsecond, at+100*time.Microsecond)
			if from > at {
				b.Add(pipeline.TraceStall, at, from)
			}
			b.Add(pipeline.TraceCompute, from, at+100*time.Microsecond)
			at += 100 * time.Microsecond
		}
		rep.Results[i].Trace = tr
	}
	return rep
}

func TestDrawLanes(t *testing.T) {
	rep := tracedReport()
	rep.Width = 90
	got := strings.Join(rep.drawLanes(), "\n")
	for _, want := range []string{
		"One product of each depth:\n\n",
		"\ndepth 1, worker 0  ++########++", "\ndepth 1, worker 1  ..########..", "\ndepth 2, worker 1  .#########.",
		"\ndepth 4, worker 1  ##########",
		"multiply 80.0 %, copy 20.0 %\n", "# multiply  + copy  . stall\n",
		"\n\nWhat the ring hid: 0.0 % of the copying ran behind another worker's multiplication with depth 1 and " +
			"50.0 % with depth 2, and workers stood still for 10.0 % and 5.0 % of the time.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if n := len([]rune(line)); n > 92 && !strings.HasPrefix(line, "What") {
			t.Errorf("%d columns of 90: %s", n, line)
		}
	}
	many := tracedReport()
	for i := range many.Results {
		for range 6 {
			many.Results[i].Trace.Lane("", "worker n")
		}
	}
	if got := many.drawLanes(); got[0] != "One product of each depth, without 4 workers; -trace has all:" ||
		len(got) != 2+1+3*lanesOfDepth+1+2 {
		t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
	for name, change := range map[string]func(*Report){
		"one depth":      func(r *Report) { r.Results = r.Results[:1] },
		"untraced":       func(r *Report) { r.Results[1].Trace = nil },
		"several groups": func(r *Report) { r.Results[1].Workers = 1 },
	} {
		rep := tracedReport()
		change(rep)
		if got := rep.drawLanes(); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatRingHid(t *testing.T) {
	for want, change := range map[string]func(r *Result){
		"one worker copies and multiplies in turn": func(r *Result) { r.Trace.Lanes = r.Trace.Lanes[:1] },
		"nothing was copied":                       func(r *Result) { r.Trace.Lanes[0].Spans = nil },
	} {
		rep := tracedReport()
		for i := range rep.Results {
			change(&rep.Results[i])
		}
		if got := whatRingHid(rep.tracedDepths()); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTimelines traces products of a ring and one of none, whatever its size, and writes both files.
func TestTimelines(t *testing.T) {
	two, inline, packed := square(300, asm.F32, 2), square(8, asm.F32, 0), square(300, asm.F32, 1)
	two.Callers = 2
	packed.Prepacked = true
	two.Workers, inline.Workers = 1, 1
	variants := []Variant{square(300, asm.F32, 1), two, inline, packed}
	var execution, file bytes.Buffer
	r := quick()
	r.Timelines, r.ExecutionTrace = true, &execution
	steps := 0
	r.Progress = func(p Progress) { steps = p.Step + 1 }
	rep, err := r.Compare(t.Context(), variants)
	if err != nil {
		t.Fatal(err)
	}
	if steps != len(variants)*4 {
		t.Errorf("%d steps", steps)
	}
	for i, res := range rep.Results {
		switch tr := res.Trace; {
		case tr == nil:
			t.Errorf("result %d has no trace", i)
		case i == 2:
			if len(tr.Lanes) != 1 || len(tr.Lanes[0].Spans) != 1 {
				t.Errorf("inline: %+v", tr)
			}
		case len(tr.Lanes) != res.Workers || tr.Total(pipeline.TraceCompute) == 0 || tr.Total(pipeline.TraceCopy) == 0:
			t.Errorf("result %d: %d lanes, %v, %v", i, len(tr.Lanes), tr.Total(pipeline.TraceCompute),
				tr.Total(pipeline.TraceCopy))
		}
	}
	for _, want := range []string{"multiply", "300x300x300 f32, 1 worker, depth 2", "8x8x8 f32, 1 worker, depth auto"} {
		if !strings.Contains(execution.String(), want) {
			t.Errorf("no %q in the execution trace of %d bytes", want, execution.Len())
		}
	}
	if err := rep.WriteTimelines(&file); err != nil || !json.Valid(file.Bytes()) ||
		!strings.Contains(file.String(), "300x300x300 f32, 1 worker, depth 2") {
		t.Errorf("%v: %s", err, file.Bytes())
	}
}

// TestInterrupted wants the whole rounds, and no sample of the one that was cut short.
func TestInterrupted(t *testing.T) {
	engine := newTestEngine(t)
	for _, steps := range []int{2 + 2*3, 2 + 2*3 + 1} { // after three rounds of two, and in the middle of the fourth
		ctx, cancel := context.WithCancel(t.Context())
		r := quick()
		r.Count, r.Timelines = 100, true
		r.Progress = func(p Progress) {
			if p.Step == steps {
				cancel()
			}
		}
		rep, err := r.compare(ctx, engine, []Variant{square(64, asm.F32, 1), square(64, asm.F32, 2)})
		if !errors.Is(err, context.Canceled) || rep == nil {
			t.Fatalf("%v, %v", rep, err)
		}
		for _, res := range rep.Results {
			if res.Count != 3 || len(res.Samples) != 3 || res.GFLOPS <= 0 || !res.Verified || res.Trace != nil {
				t.Errorf("canceled at step %d: %+v", steps, res)
			}
		}
		if want := "interrupted: 3 of 100 rounds are whole"; len(rep.Notes) != 1 || rep.Notes[0] != want {
			t.Errorf("notes %q, want %q", rep.Notes, want)
		}
		cancel()
	}
}
