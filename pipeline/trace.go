package pipeline

import (
	"context"
	"fmt"
	"io"
	"runtime/trace"
	"time"

	"example.com/leafhopper/internal/timeline"
)

// What a worker's time goes to, in a [Trace]: the kinds of its spans.
const (
	TraceCompute = iota // a slab
	TraceCopy           // a copy job
	TraceStall          // nothing: the ring is full and nothing to compute, or the next slot not full yet
)

var traceKinds = []timeline.Kind{
	TraceCompute: {Name: "multiply", Mark: '█'},
	TraceCopy:    {Name: "copy", Mark: '▒'},
	TraceStall:   {Name: "stall", Mark: '·'},
}

// A Trace is what each worker of a [Task] did and when, piece by piece, since it began.
// While package runtime/trace is on, every span is a region there, too.
//
// Time that no span has went to what a worker does between pieces, or it had not come
// yet or had left.
type Trace struct {
	timeline.Timeline
	began time.Time
	ctx   context.Context
}

// Begin empties t, if it is not nil, and sets its time to 0, for workers 0 .. workers-1. Regions belong to
// the task of ctx, which may be nil.
func (t *Trace) Begin(ctx context.Context, workers int) {
	if t != nil {
		t.begin(ctx, workers) // apart, as in Start
	}
}

func (t *Trace) begin(ctx context.Context, workers int) {
	if ctx == nil {
		ctx = context.Background()
	}
	t.Kinds, t.Lanes = traceKinds, nil
	t.ctx, t.began = ctx, time.Now()
	for id := range workers {
		t.Lane("", fmt.Sprintf("worker %d", id))
	}
}

// WriteTo writes t as a JSON file that chrome://tracing and ui.perfetto.dev open, with a thread for each worker. It
// implements [io.WriterTo].
func (t *Trace) WriteTo(w io.Writer) (int64, error) { return t.Timeline.WriteTo(w) }

// WriteLanes draws t as text, a lane for each worker: a mark in every column for what the worker spent most of that
// time on, and its shares of the whole. Lines are at most width columns, characters, wide where that leaves room for
// them. Of more than 32 workers the others are counted only.
func (t *Trace) WriteLanes(w io.Writer, width int) error { return t.Timeline.WriteLanes(w, width) }

// A TraceSpan is what a worker is at; nil is nothing.
type TraceSpan struct {
	lane   *timeline.Lane
	kind   int
	began  time.Time // of the trace
	start  time.Time
	region *trace.Region
}

// Start starts a span of worker id, which its goroutine ends. Its kind is TraceCompute, TraceCopy or TraceStall. Of a
// nil Trace it returns nil.
func (t *Trace) Start(id, kind int) *TraceSpan {
	if t == nil {
		return nil
	}
	return t.start(id, kind) // apart, so that who does not trace pays for the comparison only
}

func (t *Trace) start(id, kind int) *TraceSpan {
	return &TraceSpan{t.Lanes[id], kind, t.began, time.Now(), trace.StartRegion(t.ctx, traceKinds[kind].Name)}
}

// End ends the span, if it is one.
func (s *TraceSpan) End() {
	if s != nil {
		s.end() // apart, as in Start
	}
}

// end ends the span, with details.
func (s *TraceSpan) end(args ...timeline.Arg) {
	s.region.End()
	s.lane.Add(s.kind, s.start.Sub(s.began), time.Since(s.began), args...)
}

// endPiece ends the span of a piece: a slab, or a copy job, of an item.
func (s *TraceSpan) endPiece(item int, what string, piece int) {
	if s != nil {
		s.end(timeline.Arg{Key: "item", Value: item}, timeline.Arg{Key: what, Value: piece})
	}
}

// endStall ends the span of a worker that waited for an empty slot, or for a full one.
func (s *TraceSpan) endStall(starved bool) {
	if s != nil {
		what := "full"
		if starved {
			what = "empty"
		}
		s.end(timeline.Arg{Key: "for", Value: what})
	}
}
