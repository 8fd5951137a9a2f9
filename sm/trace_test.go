package sm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/leafhopper/sm"
)

// A span is an event of a trace's JSON.
type span struct {
	Name, Ph string
	Pid, Tid int
	Ts, Dur  float64
	Args     map[string]any
}

// readTrace returns the spans of each lane, by "CTA (0,0,0), warpgroup 1".
func readTrace(t *testing.T, tr *sm.Trace) map[string][]span {
	t.Helper()
	var b bytes.Buffer
	if n, err := tr.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes of %d, %v", n, b.Len(), err)
	}
	var doc struct{ TraceEvents []span }
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	names, lanes := map[[2]int]string{}, map[string][]span{}
	for _, e := range doc.TraceEvents {
		switch {
		case e.Name == "process_name":
			names[[2]int{e.Pid}] = e.Args["name"].(string)
		case e.Name == "thread_name":
			names[[2]int{e.Pid, e.Tid}] = names[[2]int{e.Pid}] + ", " + e.Args["name"].(string)
		case e.Ph == "X":
			lane := names[[2]int{e.Pid, e.Tid}]
			lanes[lane] = append(lanes[lane], e)
		}
	}
	return lanes
}

// count returns how many spans of a name lanes have whose names begin so.
func count(lanes map[string][]span, lane, name string) (n int) {
	for l, spans := range lanes {
		for _, s := range spans {
			if strings.HasPrefix(l, lane) && s.Name == name {
				n++
			}
		}
	}
	return n
}

// TestTrace has the spans of the gist's kernel: two loads and a group of instructions a
// stage, none beside another of its lane, and waits that say for what.
func TestTrace(t *testing.T) {
	for _, cfg := range []sm.Config{{}, {Check: true}, {Check: true, Schedule: sm.Random},
		{Check: true, Schedule: sm.Eager}} {
		t.Run(fmt.Sprint(cfg.Check, cfg.Schedule), func(t *testing.T) {
			g, _, _ := newGist(t, 128, 64, 8*64)
			cfg.Trace = new(sm.Trace)
			if err := g.launch(cfg); err != nil {
				t.Fatal(err)
			}
			lanes := readTrace(t, cfg.Trace)
			for _, cta := range []string{"CTA (0,0,0), ", "CTA (1,0,0), "} {
				if n := count(lanes, cta+"thread 0 copies", "copy"); n != 16 {
					t.Errorf("%s%d copies, want 16", cta, n)
				}
				if n := count(lanes, cta+"warpgroup 1", "mma"); n != 8 {
					t.Errorf("%s%d groups of instructions, want 8", cta, n)
				}
			}
			if cfg.Check && cfg.Schedule == sm.Late {
				if count(lanes, "CTA (0,0,0), warpgroup 1", "wait full") == 0 {
					t.Error("nobody waits for full although every copy is late")
				}
				if count(lanes, "CTA (0,0,0), thread 0 copies 2", "copy") == 0 {
					t.Error("no two copies are in flight at once")
				}
			}
			for lane, spans := range lanes {
				for i, s := range spans {
					if i > 0 && s.Ts < spans[i-1].Ts+spans[i-1].Dur-0.001 {
						t.Errorf("%s: %+v begins before %+v has ended", lane, s, spans[i-1])
					}
					name, _ := s.Args["for"].(string)
					if kind, ok := strings.CutPrefix(s.Name, "wait "); ok && !strings.HasPrefix(name, kind+"[") {
						t.Errorf("%s waits for %q: %+v", lane, name, s)
					}
				}
			}
		})
	}
}

// TestTraceStores has copies of bulk groups, whose spans end with the wait that covers
// them or with the thread, and what a kernel marks itself.
func TestTraceStores(t *testing.T) {
	for _, schedule := range []sm.Schedule{sm.Late, sm.Random} {
		for _, check := range []bool{false, true} {
			tr, out := new(sm.Trace), make([]int32, 64)
			err := sm.Launch(t.Context(), sm.Config{Block: sm.Dim3{X: 1}, Check: check, Schedule: schedule,
				Trace: tr}, func(b *sm.Block) {
				buf := sm.Shared[int32](b, 64, 16)
				b.Threads(func(t *sm.Thread) {
					defer t.Span("everything")()
					end := t.Span("epilogue")
					buf.Write(t, 0, make([]int32, 64))
					t.FenceProxyAsync()
					for i := range 4 {
						sm.StoreBulk(t, out[16*i:16*i+16], buf.Slice(16*i, 16*i+16))
						t.CommitGroup()
						t.WaitGroup(1)
					}
					end()
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			lanes := readTrace(t, tr)
			if n := count(lanes, "CTA (0,0,0), thread 0 copies", "copy"); n != 4 {
				t.Errorf("check %v, %v: %d stores, want 4: %v", check, schedule, n, lanes)
			}
			marked := lanes["CTA (0,0,0), thread 0"]
			if len(marked) != 2 || marked[0].Name != "other" || marked[0].Args["name"] != "everything" ||
				marked[1].Name != "epilogue" {
				t.Errorf("the kernel's own spans are %+v", marked)
			}
		}
	}
}

func TestTraceLanes(t *testing.T) {
	g, _, _ := newGist(t, 64, 64, 4*64)
	tr := new(sm.Trace)
	for range 2 { // a trace takes several launches
		if err := g.launch(sm.Config{Trace: tr}); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := tr.WriteLanes(&b, 200); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"CTA (0,0,0), thread 0 copies ", "CTA (0,0,0), warpgroup 1 ", "█ mma", "copy ",
		"mma "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 200 {
			t.Errorf("longer than 200 columns: %s", line)
		}
	}
	if n := count(readTrace(t, tr), "CTA (0,0,0), warpgroup 1", "mma"); n != 8 {
		t.Errorf("%d groups of instructions in two launches, want 8", n)
	}
}

// TestLanesWithinWidth draws lanes whose marks take more columns than their names leave.
func TestLanesWithinWidth(t *testing.T) {
	var tr sm.Trace
	err := sm.Launch(t.Context(), sm.Config{Block: sm.Dim3{X: 64}, Trace: &tr}, func(b *sm.Block) {
		kFull := b.Barrier()
		b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
			if w.Rank() == 0 {
				kFull.Init(w.Thread(0), 1)
			}
			w.SyncThreads()
			if w.Rank() == 0 {
				time.Sleep(20 * time.Millisecond)
				kFull.Arrive(w.Thread(0))
			} else {
				kFull.WaitParity(w, 0)
			}
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := tr.WriteLanes(&text, 80); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 80 || utf8.RuneCountInString(line) > 81 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(text.String(), "wait full ") || strings.Count(text.String(), "wait full") < 2 {
		t.Errorf("the wait for kFull is none for a full barrier:\n%s", text.String())
	}
}
