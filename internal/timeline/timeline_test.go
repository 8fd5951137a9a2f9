package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const (
	multiply = iota
	copying
	stall
)

var kinds = []Kind{{"multiply", '█'}, {"copy", '▒'}, {"stall", '·'}}

// two returns a timeline of two workers, 100 units long.
func two() *Timeline {
	t := &Timeline{Name: "depth 2", Kinds: kinds}
	a, b := t.Lane("", "worker 0"), t.Lane("", "worker 1")
	ms := time.Millisecond
	a.Add(copying, 10*ms, 30*ms, Arg{"item", 0}, Arg{"stage", 1})
	a.Add(multiply, 30*ms, 110*ms)
	b.Add(stall, 10*ms, 35*ms)
	b.Add(copying, 35*ms, 60*ms)
	b.Add(multiply, 60*ms, 85*ms)
	return t
}

func TestSums(t *testing.T) {
	tl := two()
	ms := time.Millisecond
	if d := tl.Elapsed(); d != 100*ms {
		t.Errorf("elapsed %v", d)
	}
	for kind, want := range []time.Duration{105 * ms, 45 * ms, 25 * ms} {
		if got := tl.Total(kind); got != want {
			t.Errorf("%s: %v in all, want %v", kinds[kind].Name, got, want)
		}
	}
	for _, test := range []struct {
		kind, by int
		want     time.Duration
	}{
		{copying, multiply, 25 * ms}, // worker 1's, behind worker 0
		{stall, multiply, 5 * ms},
		{multiply, multiply, 50 * ms}, // 25 of each
		{copying, copying, 0},
		{multiply, stall, 5 * ms},
	} {
		if got := tl.Behind(test.kind, test.by); got != test.want {
			t.Errorf("%s behind %s: %v, want %v", kinds[test.kind].Name, kinds[test.by].Name, got, test.want)
		}
	}
	var empty Timeline
	if empty.Elapsed() != 0 || empty.Total(0) != 0 || empty.Behind(0, 1) != 0 {
		t.Error("an empty timeline has times")
	}
}

// TestBehindOverlaps has several others at the same work at once: it hides once.
func TestBehindOverlaps(t *testing.T) {
	tl := &Timeline{Kinds: kinds}
	tl.Lane("", "a").Add(copying, 0, 100)
	for i := range 3 {
		l := tl.Lane("", fmt.Sprint("b", i))
		l.Add(multiply, time.Duration(10*i), time.Duration(10*i+20))
		l.Add(multiply, 90, 200)
	}
	if d := tl.Behind(copying, multiply); d != 50 {
		t.Errorf("%v behind, want 40 + 10", d)
	}
}

func TestWriteLanes(t *testing.T) {
	var b strings.Builder
	if err := two().WriteLanes(&b, 0); err != nil {
		t.Fatal(err)
	}
	want := `
          0          100ms
worker 0  ▒▒▒█████████████  multiply 80.0 %, copy 20.0 %
worker 1  ····▒▒▒▒████      multiply 25.0 %, copy 25.0 %, stall 25.0 %
          █ multiply  ▒ copy  · stall
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
	b.Reset()
	if err := two().WriteLanes(&b, 100); err != nil {
		t.Fatal(err)
	}
	widest := 0
	for line := range strings.Lines(b.String()) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	if widest != 100 {
		t.Errorf("%d columns of 100:\n%s", widest, b.String())
	}
}

func TestWriteLanesEdges(t *testing.T) {
	many := &Timeline{Kinds: kinds}
	for i := range maxLanes + 5 {
		many.Lane(fmt.Sprintf("CTA %d", i/8), fmt.Sprintf("thread %d", i%8)).Add(stall, 0, time.Second)
	}
	instant := &Timeline{Kinds: kinds}
	instant.Lane("", "a").Add(multiply, 5, 5)
	instant.Lane("", "b")
	for name, test := range map[string]struct {
		tl   *Timeline
		want string
	}{
		"many":    {many, "and 5 more\n"},
		"empty":   {&Timeline{}, " 0s\n\n"},
		"instant": {instant, "\na\nb\n"},
	} {
		var b strings.Builder
		if err := test.tl.WriteLanes(&b, 60); err != nil || !strings.Contains(b.String(), test.want) {
			t.Errorf("%s: %v, no %q in\n%s", name, err, test.want, b.String())
		}
	}
}

func TestWriteChrome(t *testing.T) {
	one, other := two(), &Timeline{Name: "other", Kinds: kinds}
	other.Lane("CTA 0", "warpgroup 0").Add(stall, 0, 1500*time.Nanosecond, Arg{"at", "gemm.go:41"})
	other.Lane("CTA 1", `a "name"`)
	other.Lane("CTA 0", "warpgroup 1")
	var b bytes.Buffer
	if err := WriteChrome(&b, one, other, &Timeline{Name: "empty"}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []event `json:"traceEvents"`
		Unit        string  `json:"displayTimeUnit"`
	}
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	spans, processes, threads := 0, map[int]string{}, map[string]string{}
	for _, e := range doc.TraceEvents {
		switch e.Phase {
		case "X":
			spans++
			if e.Ts == nil || e.Dur == nil || e.Pid == 0 || e.Tid == 0 {
				t.Errorf("span %+v", e)
			}
		case "M":
			switch e.Name {
			case "process_name":
				processes[e.Pid] = e.Args["name"].(string)
			case "thread_name":
				threads[fmt.Sprint(e.Pid, " ", e.Tid)] = e.Args["name"].(string)
			}
		}
	}
	if spans != 6 || len(threads) != 5 || threads["2 3"] != "warpgroup 1" {
		t.Errorf("%d spans, threads %v", spans, threads)
	}
	if want := "map[1:depth 2 2:other, CTA 0 3:other, CTA 1 4:empty]"; fmt.Sprint(processes) != want {
		t.Errorf("processes %v, want %s", processes, want)
	}
	first := doc.TraceEvents[4]
	if first.Name != "copy" || *first.Ts != 10_000 || *first.Dur != 20_000 || first.Args["stage"] != 1.0 {
		t.Errorf("the first span is %+v", first)
	}
}

func TestWriteTo(t *testing.T) {
	var one, other bytes.Buffer
	if err := WriteChrome(&one, two()); err != nil {
		t.Fatal(err)
	}
	if n, err := two().WriteTo(&other); err != nil || n != int64(one.Len()) || other.String() != one.String() {
		t.Errorf("%d bytes, %v:\n%s\nwant %d:\n%s", n, err, other.String(), one.Len(), one.String())
	}
	if n, err := two().WriteTo(new(full)); n != 0 || !errors.Is(err, errFull) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A full writer takes so many bytes.
type full int

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > int(*f) {
		return 0, errFull
	}
	*f -= full(len(p))
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	if err := WriteChrome(new(full), two()); !errors.Is(err, errFull) {
		t.Errorf("WriteChrome: %v", err)
	}
	if err := two().WriteLanes(new(full), 80); !errors.Is(err, errFull) {
		t.Errorf("WriteLanes: %v", err)
	}
	bad := two()
	bad.Lanes[0].Add(stall, 0, 1, Arg{"f", func() {}})
	if err := WriteChrome(&bytes.Buffer{}, bad); err == nil {
		t.Error("a function as JSON: no error")
	}
}
