package sm

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/leafhopper/internal/timeline"
)

// A Trace collects what the agents of a launch did when: copies in flight, waits that took
// time, matrix instructions, those of wgmma when WaitGroup covers them, and what the kernel marks
// with Span. The zero value is ready; a launch that has it in its Config adds to it.
//
// A load of a free launch lands while it is issued: its span is that of the copying. Under
// Check a span lasts from issue to landing, and time is that of agents that take turns.
type Trace struct {
	mu    sync.Mutex
	begun time.Time
	lanes map[laneKey]*timeline.Lane
}

// A laneKey is an agent, or the copies that one has issued.
type laneKey struct {
	cta    Dim3
	agent  string
	copies bool
}

// Kinds of spans.
const (
	spanCopy = iota
	spanFull
	spanEmpty
	spanWait
	spanMMA
	spanEpilogue
	spanOther
)

var spanKinds = []timeline.Kind{
	spanCopy:     {Name: "copy", Mark: '▒'},
	spanFull:     {Name: "wait full", Mark: '.'},
	spanEmpty:    {Name: "wait empty", Mark: '_'},
	spanWait:     {Name: "wait", Mark: ':'},
	spanMMA:      {Name: "mma", Mark: '█'},
	spanEpilogue: {Name: "epilogue", Mark: '▓'},
	spanOther:    {Name: "other", Mark: '░'},
}

// begin is the moment that spans of the launch count from.
func (t *Trace) begin() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun.IsZero() {
		t.begun, t.lanes = time.Now(), map[laneKey]*timeline.Lane{}
	}
}

// now returns the start of a span, nothing if there is no trace.
func (t *Trace) now() (start time.Time) {
	if t != nil {
		start = time.Now()
	}
	return start
}

// add adds a span.
func (t *Trace) add(key laneKey, kind int, start, end time.Time, args ...timeline.Arg) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lane := t.lanes[key]
	if lane == nil {
		lane = &timeline.Lane{Group: "CTA " + key.cta.String(), Name: key.agent}
		if key.copies {
			lane.Name += " copies"
		}
		t.lanes[key] = lane
	}
	lane.Spans = append(lane.Spans, timeline.Span{
		Kind: kind, Start: start.Sub(t.begun), End: end.Sub(t.begun), Args: args,
	})
}

// waited adds the wait of r that began at start.
func (t *Trace) waited(r *runner, start time.Time) {
	if t == nil || r.self == nil {
		return
	}
	end := time.Now()
	kind, name := spanWait, r.op
	if m, ok := r.waits.(*mbar); ok {
		name = m.name()
		switch lower := strings.ToLower(name); { // kFull, too
		case strings.Contains(lower, "full"):
			kind = spanFull
		case strings.Contains(lower, "empty"):
			kind = spanEmpty
		}
	}
	t.add(laneKey{r.cta.idx, r.self.String(), false}, kind, start, end, timeline.Arg{Key: "for", Value: name})
}

// copied adds a copy that has landed.
func (t *Trace) copied(c *copyOp) {
	if t == nil {
		return
	}
	t.add(laneKey{c.cta.idx, c.by.agent.String(), true}, spanCopy, c.issued, time.Now(),
		timeline.Arg{Key: "operation", Value: c.op})
}

// multiplied adds the instructions that a wait of a, begun at start, has covered, or the one of a warp.
func (t *Trace) multiplied(a *agent, start time.Time) {
	if t == nil {
		return
	}
	t.add(laneKey{a.cta.idx, a.String(), false}, spanMMA, start, time.Now())
}

// Span marks what the agent does until it calls the function returned, such as "epilogue",
// in the launch's Trace. Without one it does nothing.
func (a *agent) Span(name string) (end func()) {
	t := a.cta.launch.Trace
	if t == nil {
		return func() {}
	}
	kind, start := spanOther, time.Now()
	if name == spanKinds[spanEpilogue].Name {
		kind = spanEpilogue
	}
	return func() {
		t.add(laneKey{a.cta.idx, a.String(), false}, kind, start, time.Now(), timeline.Arg{Key: "name", Value: name})
	}
}

// timeline returns the lanes in the order of CTAs and agents.
func (t *Trace) timeline() *timeline.Timeline {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := slices.Collect(maps.Keys(t.lanes))
	slices.SortFunc(keys, func(a, b laneKey) int {
		return cmp.Or(
			a.cta.compare(b.cta), cmp.Compare(len(a.agent), len(b.agent)), cmp.Compare(a.agent, b.agent),
			cmp.Compare(t.lanes[a].Name, t.lanes[b].Name), // an agent, and then its copies
		)
	})
	tl := &timeline.Timeline{Kinds: spanKinds}
	for _, k := range keys {
		spans := slices.Clone(t.lanes[k].Spans)
		slices.SortFunc(spans, func(a, b timeline.Span) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) // what holds another first
		})
		lane := tl.Lane(t.lanes[k].Group, t.lanes[k].Name)
		if lane.Spans = spans; k.copies {
			spread(tl, lane)
		}
	}
	return tl
}

// spread moves copies of a lane that were in flight with those before them to further lanes.
func spread(tl *timeline.Timeline, l *timeline.Lane) {
	lanes, spans := []*timeline.Lane{l}, l.Spans
	l.Spans = nil
	for _, s := range spans {
		i := slices.IndexFunc(lanes, func(l *timeline.Lane) bool {
			return len(l.Spans) == 0 || l.Spans[len(l.Spans)-1].End <= s.Start
		})
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, tl.Lane(l.Group, fmt.Sprintf("%s %d", l.Name, i+1)))
		}
		lanes[i].Spans = append(lanes[i].Spans, s)
	}
}

// WriteTo writes the trace as a JSON file that chrome://tracing and ui.perfetto.dev open: a
// process for each CTA, a thread for each agent and for the copies that it has issued.
func (t *Trace) WriteTo(w io.Writer) (int64, error) {
	return t.timeline().WriteTo(w)
}

// WriteLanes draws the trace as lanes of text, one for each agent, of at most width columns where that leaves room
// for them. Of more than 32 agents, and their copies, the others are counted only.
func (t *Trace) WriteLanes(w io.Writer, width int) error {
	return t.timeline().WriteLanes(w, width)
}
