package timeline

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

// An event is one of the Trace Event Format, which Chrome and Perfetto read: "X" is a
// span, "M" names a process or a thread. Times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	Ts    *float64       `json:"ts,omitempty"`
	Dur   *float64       `json:"dur,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteChrome writes the timelines as one JSON file in Chrome's Trace Event Format.
// Each group of a timeline's lanes is a process, named after both, and each lane a
// thread, in the order of the timelines, groups and lanes. All timelines begin at 0.
func WriteChrome(w io.Writer, ts ...*Timeline) error {
	b := bufio.NewWriter(w)
	e := eventWriter{w: b}
	b.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`) // errors stay with b until it is flushed
	pid := 0
	for _, t := range ts {
		first, pids := pid, map[string]int{}
		for i, l := range t.Lanes {
			p, ok := pids[l.Group]
			if !ok {
				pid++
				p = pid
				pids[l.Group] = p
				e.name("process", p, 0, joined(t.Name, l.Group), p)
			}
			e.name("thread", p, i+1, l.Name, i+1)
			for _, s := range l.Spans {
				e.span(t.Kinds[s.Kind].Name, p, i+1, s)
			}
		}
		if pid == first {
			pid++
			e.name("process", pid, 0, t.Name, pid)
		}
	}
	b.WriteString("\n]}\n")
	if e.err != nil {
		return e.err
	}
	return b.Flush()
}

// WriteTo writes t alone as [WriteChrome] does. It implements [io.WriterTo].
func (t *Timeline) WriteTo(w io.Writer) (n int64, err error) {
	c := countingWriter{w: w}
	err = WriteChrome(&c, t)
	return c.n, err
}

// A countingWriter counts the bytes that w takes.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// joined returns both names, of which each may be empty.
func joined(timeline, group string) string {
	if timeline != "" && group != "" {
		return timeline + ", " + group
	}
	return timeline + group
}

// An eventWriter writes events, one a line, and remembers the first error.
type eventWriter struct {
	w   *bufio.Writer
	n   int
	err error
}

// name writes what a process, or a thread of one, is called, and its place among others.
func (e *eventWriter) name(what string, pid, tid int, name string, place int) {
	e.write(event{Name: what + "_name", Phase: "M", Pid: pid, Tid: tid, Args: map[string]any{"name": name}})
	e.write(event{Name: what + "_sort_index", Phase: "M", Pid: pid, Tid: tid,
		Args: map[string]any{"sort_index": place}})
}

func (e *eventWriter) span(name string, pid, tid int, s Span) {
	ts, dur := microseconds(s.Start), microseconds(s.End-s.Start)
	var args map[string]any
	for _, a := range s.Args {
		if args == nil {
			args = map[string]any{}
		}
		args[a.Key] = a.Value
	}
	e.write(event{Name: name, Phase: "X", Pid: pid, Tid: tid, Ts: &ts, Dur: &dur, Args: args})
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (e *eventWriter) write(ev event) {
	data, err := json.Marshal(ev)
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return
	}
	if e.n > 0 {
		e.w.WriteByte(',')
	}
	e.n++
	e.w.WriteByte('\n')
	e.w.Write(data)
}
