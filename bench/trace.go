package bench

import (
	"fmt"
	"io"
	"runtime/trace"
	"slices"
	"strings"
	"time"

	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/timeline"
	"example.com/leafhopper/pipeline"
)

const (
	// tracedProducts is how many products are traced, of which the fastest is kept: one that was
	// interrupted in a copy seems to hide what it does not. Of long ones only one is.
	tracedProducts = 9
	longProduct    = 100 * time.Millisecond
	// lanesOfDepth is how many workers of a depth are drawn.
	lanesOfDepth = 4
	defaultWidth = 100 // columns of a drawing
)

// traceAll traces products of all variants, one after the other.
func (x *run) traceAll() (err error) {
	if x.ExecutionTrace != nil {
		if err := trace.Start(x.ExecutionTrace); err != nil {
			return fmt.Errorf("bench: execution trace: %w", err)
		}
		defer trace.Stop()
	}
	for _, c := range x.cases {
		x.progress("timeline: ", c.v)
		if err := x.trace(c); err != nil {
			return err
		}
	}
	return nil
}

// trace keeps a trace of a product of c, by its first caller.
func (x *run) trace(c *caseRun) error {
	n := tracedProducts
	if c.call > longProduct {
		n = 1
	}
	ctx, task := trace.NewTask(x.ctx, c.traceName())
	defer task.End()
	k := c.callers[0]
	for range n {
		t := new(gemm.Trace)
		opts := append(options(c.v), gemm.WithContext(ctx), gemm.WithTrace(t))
		if err := x.engine.Multiply(k.views[0], c.a[0], c.b[0], opts...); err != nil {
			return x.failed(c.v, err)
		}
		if c.trace == nil || t.Elapsed() < c.trace.Elapsed() {
			c.trace = t
		}
	}
	c.trace.Name = c.traceName()
	return nil
}

func (c *caseRun) traceName() string {
	return fmt.Sprintf("%dx%dx%d %v, %s, depth %s",
		c.v.M, c.v.N, c.v.K, c.v.In, plural(c.workers, "worker"), depthName(c.v.Depth))
}

// WriteTimelines writes the traced products as one file for chrome://tracing and
// ui.perfetto.dev: a process for each product, a thread for each worker.
func (r *Report) WriteTimelines(w io.Writer) error {
	var ts []*timeline.Timeline
	for i := range r.Results {
		if t := r.Results[i].Trace; t != nil {
			ts = append(ts, &t.Timeline)
		}
	}
	return timeline.WriteChrome(w, ts...)
}

// tracedDepths returns the results of the only group with several depths, if all were
// traced: more than one would be a long picture.
func (r *Report) tracedDepths() []*Result {
	groups := r.groupsByDepth()
	if len(groups) != 1 || !severalDepths(groups[0]) ||
		slices.ContainsFunc(groups[0], func(r *Result) bool { return r.Trace == nil }) {
		return nil
	}
	return groups[0]
}

// drawLanes draws one product of each depth, a line for every worker, and says what the
// ring hid. It returns nil if there is nothing to draw.
func (r *Report) drawLanes() []string {
	results := r.tracedDepths()
	if results == nil {
		return nil
	}
	all := &timeline.Timeline{Kinds: results[0].Trace.Kinds}
	more := 0
	for _, res := range results {
		lanes := res.Trace.Lanes
		more = max(more, len(lanes)-lanesOfDepth)
		for _, l := range lanes[:min(len(lanes), lanesOfDepth)] {
			group := "depth " + depthCell(res)
			all.Lanes = append(all.Lanes, &timeline.Lane{Group: group, Name: l.Name, Spans: l.Spans})
		}
	}
	var b strings.Builder
	width := r.Width
	if width == 0 {
		width = defaultWidth
	}
	b.WriteString("One product of each depth")
	if more > 0 {
		fmt.Fprintf(&b, ", without %s; -trace has all", plural(more, "worker"))
	}
	b.WriteString(":\n\n")
	all.WriteLanes(&b, width) // a Builder takes everything
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	return append(lines, "", whatRingHid(results))
}

// hidden returns which part of the time of copies passed while another worker multiplied,
// and which part of their time the workers stood still.
func hidden(t *gemm.Trace) (copies, stalls float64) {
	if d := t.Total(pipeline.TraceCopy); d > 0 {
		copies = t.Behind(pipeline.TraceCopy, pipeline.TraceCompute).Seconds() / d.Seconds()
	}
	if d := t.Elapsed(); d > 0 {
		stalls = t.Total(pipeline.TraceStall).Seconds() / d.Seconds() / float64(len(t.Lanes))
	}
	return copies, stalls
}

// whatRingHid compares the product with one stage to the fastest with more.
func whatRingHid(results []*Result) string {
	one := depth1(results)
	best := fastestBeside(one, slices.DeleteFunc(slices.Clone(results), func(r *Result) bool { return r.Depth == 1 }))
	switch {
	case best.Trace.Total(pipeline.TraceCopy) == 0:
		return "What the ring hid: nothing, as nothing was copied."
	case len(best.Trace.Lanes) == 1:
		return "What the ring hid: nothing, as one worker copies and multiplies in turn."
	}
	copies, stalls := hidden(best.Trace)
	if one == nil {
		return fmt.Sprintf("What the ring hid: with depth %s %s of the copying ran behind another worker's "+
			"multiplication, and workers stood still for %s of the time.",
			depthCell(best), percent(copies), percent(stalls))
	}
	copies1, stalls1 := hidden(one.Trace)
	return fmt.Sprintf("What the ring hid: %s of the copying ran behind another worker's multiplication with depth 1 "+
		"and %s with depth %s, and workers stood still for %s and %s of the time.",
		percent(copies1), percent(copies), depthCell(best), percent(stalls1), percent(stalls))
}
