// Package timeline keeps what several agents did and when, and shows it: as a file
// that chrome://tracing and ui.perfetto.dev open, and as lanes of text.
//
//	          0                                  3.1 ms
//	worker 0  ▒▒███████████████████████▒▒██████████████  multiply 91 %, copy 9 %
//	worker 1  ··██████████████████████████████·▒▒██████  multiply 89 %, copy 4 %, stall 7 %
//	          █ multiply  ▒ copy  · stall
package timeline

import (
	"cmp"
	"slices"
	"time"
)

// A Timeline is what some agents did, each in a lane of its own.
type Timeline struct {
	Name  string // of the whole, such as "depth 2"
	Kinds []Kind // of its spans
	Lanes []*Lane
}

// A Kind is what a span may be spent on.
type Kind struct {
	Name string // "multiply"
	Mark rune   // that stands for it in a lane of text, one column wide
}

// A Lane is one agent: a worker, a thread, a warpgroup, a copy engine. Only one
// goroutine at a time may add spans to it; different lanes need no lock.
type Lane struct {
	Group string // what it belongs to, such as a CTA: a process to Chrome; may be empty
	Name  string // "worker 0"
	Spans []Span // that do not overlap, in the order of their starts
}

// A Span is something that an agent did from Start to End, since the timeline began.
type Span struct {
	Kind       int // an index of [Timeline.Kinds]
	Start, End time.Duration
	Args       []Arg // details; may be empty
}

// An Arg is a detail of a span. Value is anything that JSON can hold.
type Arg struct {
	Key   string
	Value any
}

// Lane adds a lane. The goroutines whose lanes there are already may go on meanwhile.
func (t *Timeline) Lane(group, name string) *Lane {
	l := &Lane{Group: group, Name: name}
	t.Lanes = append(t.Lanes, l)
	return l
}

// Add adds a span, which must not start before the last one ended.
func (l *Lane) Add(kind int, start, end time.Duration, args ...Arg) {
	l.Spans = append(l.Spans, Span{kind, start, end, args})
}

// bounds returns the start of the first span and the end of the last, of all lanes.
func (t *Timeline) bounds() (first, last time.Duration) {
	any := false
	for _, l := range t.Lanes {
		for _, s := range l.Spans {
			if !any || s.Start < first {
				first = s.Start
			}
			if !any || s.End > last {
				last = s.End
			}
			any = true
		}
	}
	return first, last
}

// Elapsed returns the time from the start of the first span to the end of the last.
func (t *Timeline) Elapsed() time.Duration {
	first, last := t.bounds()
	return last - first
}

// Total returns the time that all lanes together spent on a kind.
func (t *Timeline) Total(kind int) (d time.Duration) {
	for _, l := range t.Lanes {
		for _, s := range l.Spans {
			if s.Kind == kind {
				d += s.End - s.Start
			}
		}
	}
	return d
}

// Behind returns how much of the time that Total(kind) sums passed while another
// lane was at a span of kind by: what was hidden behind it.
func (t *Timeline) Behind(kind, by int) (d time.Duration) {
	for _, l := range t.Lanes {
		others := t.covered(by, l)
		for _, s := range l.Spans {
			if s.Kind != kind {
				continue
			}
			for len(others) > 0 && others[0].End <= s.Start {
				others = others[1:]
			}
			for _, o := range others {
				if o.Start >= s.End {
					break
				}
				d += min(s.End, o.End) - max(s.Start, o.Start)
			}
		}
	}
	return d
}

// covered returns when any lane but one was at a span of kind, in order and without
// overlaps.
func (t *Timeline) covered(kind int, but *Lane) []Span {
	var all, merged []Span
	for _, l := range t.Lanes {
		for _, s := range l.Spans {
			if l != but && s.Kind == kind {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	for _, s := range all {
		if n := len(merged); n > 0 && s.Start <= merged[n-1].End {
			merged[n-1].End = max(merged[n-1].End, s.End)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}
