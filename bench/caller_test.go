package bench

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// callersReport has products of one caller and of several.
func callersReport() *Report {
	rep := sampleReport()
	rep.Notes, rep.Results = nil, rep.Results[:2]
	for _, r := range slices.Clone(rep.Results) {
		r.Callers = 8
		r.SecondsMedian, r.SecondsMin, r.SecondsMax = 7*r.SecondsMedian, 7*r.SecondsMin, 7*r.SecondsMax
		r.Samples = slices.Clone(r.Samples)
		for i := range r.Samples {
			r.Samples[i] *= 7
		}
		r.GFLOPS, r.PeakFraction = r.GFLOPS*8/7, r.PeakFraction*8/7
		rep.Results = append(rep.Results, r)
	}
	for i, s := range []float64{1, 1, 1.1428571428571428} {
		rep.Results[i].Scaling = s
	}
	rep.Results[3].Verified, rep.Results[3].Failure = false, "caller 5 of 8: C[1,2] = NaN, want 1"
	return rep
}

// crowd returns square(n) with callers and workers.
func crowd(n int, in asm.Type, callers, workers int) Variant {
	v := square(n, in, 2)
	v.Callers, v.Workers = callers, workers
	return v
}

func TestCompareCallers(t *testing.T) {
	prepacked, accumulating := crowd(150, asm.F32, 3, 1), crowd(40, asm.F16, 5, 1)
	prepacked.Prepacked, accumulating.Beta = true, 0.5
	variants := []Variant{
		crowd(40, asm.BF16, 1, 1), crowd(40, asm.BF16, 7, 1), crowd(40, asm.BF16, 2, 1), // on the callers alone
		crowd(180, asm.BF16, 0, 2), crowd(180, asm.BF16, 4, 2), // on rings
		crowd(420, asm.BF16, 3, 2), // timed with statistics
		prepacked, accumulating,
	}
	rep, err := quick().Compare(t.Context(), variants)
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range rep.Results {
		v := variants[i]
		want := v.Callers
		if want == 1 {
			want = 0 // which JSON leaves out
		}
		if res.Callers != want || !res.Checked || !res.Verified || res.Failure != "" {
			t.Errorf("%+v: callers %d, verified %v, %s", v, res.Callers, res.Verified, res.Failure)
		}
		if want := float64(v.callers()) * res.Flops() / res.SecondsMedian / 1e9; res.GFLOPS != want || res.Count != 2 ||
			res.PeakFraction <= 0 {
			t.Errorf("%+v: %v GFLOP/s, want %v; peak fraction %v", v, res.GFLOPS, want, res.PeakFraction)
		}
		if res.ProducerWait < 0 || res.ConsumerWait < 0 || res.ProducerWait+res.ConsumerWait > 1.01 {
			t.Errorf("%+v: waits %v and %v", v, res.ProducerWait, res.ConsumerWait)
		}
	}
	for i, base := range []int{0, 0, 0, 3, 3} {
		if got, want := rep.Results[i].Scaling, rep.Results[i].GFLOPS/rep.Results[base].GFLOPS; got != want {
			t.Errorf("%+v: scaling %v, want %v", variants[i], got, want)
		}
	}
}

// A hook is a multiplier in the place of the engine.
type hook func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error

func (h hook) Multiply(c, a, b gemm.AnyMatrix, opts ...gemm.Option) error { return h(c, a, b, opts) }

func (h hook) MultiplyBatch(c, a, b []gemm.AnyMatrix, opts ...gemm.Option) error {
	for i := range c {
		if err := h(c[i], a[i], b[i], opts); err != nil {
			return err
		}
	}
	return nil
}

// data returns the elements of an operand that holds float32.
func data(m gemm.AnyMatrix) []float32 { return m.(gemm.Matrix[float32]).Data }

func newTestEngine(t testing.TB) *gemm.Engine {
	t.Helper()
	engine, err := gemm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// TestCallersCallAtOnce lets no call return until all callers are in one.
func TestCallersCallAtOnce(t *testing.T) {
	engine := newTestEngine(t)
	const n = 6
	var (
		mu     sync.Mutex
		inside int
		cs, ab = map[*float32]bool{}, map[*float32]bool{}
	)
	all := make(chan struct{})
	m := hook(func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
		mu.Lock()
		if inside++; inside == n {
			close(all)
		}
		cs[&data(c)[0]], ab[&data(a)[0]], ab[&data(b)[0]] = true, true, true
		mu.Unlock()
		select {
		case <-all:
			return engine.Multiply(c, a, b, opts...)
		case <-time.After(10 * time.Second):
			return errors.New("the callers do not call at once")
		}
	})
	rep, err := quick().compare(t.Context(), m, []Variant{crowd(40, asm.F32, n, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if len(cs) != n || len(ab) != 2 {
		t.Errorf("%d callers have %d matrices C and %d of A and B, want %d and 2", n, len(cs), len(ab), n)
	}
	if !rep.Results[0].Verified {
		t.Error(rep.Results[0].Failure)
	}
}

// TestCallersAreVerified spoils what one of several callers got.
func TestCallersAreVerified(t *testing.T) {
	engine := newTestEngine(t)
	for _, test := range []struct {
		name    string
		from    int // call of the victim
		spoil   func(c []float32)
		failure string
	}{
		{"sound", 0, func([]float32) {}, "^$"},
		{"wrong value", 1, func(c []float32) { c[5] += 1 }, `^caller [1-4] of 4: C\[0,5\] = `},
		{"nothing written", 1, func(c []float32) { c[5] = float32(nan()) }, `^caller [1-4] of 4: C\[0,5\] = NaN`},
		{"other bits", 1, func(c []float32) { c[7] *= 1 + 0x1p-23 },
			"^caller [2-4] of 4: other bits than the first caller's$"},
		{"later call", 2, func(c []float32) { c[9] *= 1 + 0x1p-23 },
			"^caller [1-4] of 4: a later call gave other bits than the first$"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			var victim *float32
			calls := 0
			m := hook(func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
				if err := engine.Multiply(c, a, b, opts...); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if victim == nil {
					victim = &data(c)[0]
				}
				if victim == &data(c)[0] {
					if calls++; calls >= test.from {
						test.spoil(data(c))
					}
				}
				return nil
			})
			rep, err := quick().compare(t.Context(), m, []Variant{crowd(40, asm.F32, 4, 1)})
			if err != nil {
				t.Fatal(err)
			}
			res := rep.Results[0]
			if !regexp.MustCompile(test.failure).MatchString(res.Failure) || res.Verified != (res.Failure == "") {
				t.Errorf("verified %v, %q; want %s", res.Verified, res.Failure, test.failure)
			}
		})
	}
}

// TestCallersOtherBits compares the bits of one caller with those of several.
func TestCallersOtherBits(t *testing.T) {
	engine := newTestEngine(t)
	var variant atomic.Int32
	m := hook(func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
		err := engine.Multiply(c, a, b, opts...)
		if variant.Load() == 2 {
			data(c)[7] *= 1 + 0x1p-23
		}
		return err
	})
	r := quick()
	r.Progress = func(p Progress) {
		if strings.Contains(p.What, "first call") {
			variant.Add(1)
		}
		if several := strings.Contains(p.What, " 2 callers"); several != (variant.Load() == 2 &&
			strings.Contains(p.What, "first")) && !strings.Contains(p.What, "round") {
			t.Errorf("progress %q of variant %d", p.What, variant.Load())
		}
	}
	rep, err := r.compare(t.Context(), m, []Variant{crowd(40, asm.F32, 1, 1), crowd(40, asm.F32, 2, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if got := rep.Results[1].Failure; !strings.HasPrefix(got, "other bits than with depth 2, workers 1,") ||
		!strings.HasSuffix(got, ", callers 1") {
		t.Errorf("%q", got)
	}
}

// TestCallerFails wants the error of one caller to end the others' calls.
func TestCallerFails(t *testing.T) {
	engine := newTestEngine(t)
	broken := errors.New("broken engine")
	var calls atomic.Int32
	m := hook(func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
		if calls.Add(1) == 10_000 {
			return broken
		}
		return engine.Multiply(c, a, b, opts...)
	})
	start := time.Now()
	rep, err := (&Runner{Count: 1, MinTime: 10 * time.Second}).compare(t.Context(), m,
		[]Variant{crowd(16, asm.F32, 3, 1)})
	if !errors.Is(err, broken) || rep != nil || !strings.Contains(err.Error(), "callers 3") {
		t.Errorf("error %v, report %v", err, rep)
	}
	if d := time.Since(start); d > 8*time.Second {
		t.Errorf("the error came after %v", d)
	}
}

func TestCallersCancel(t *testing.T) {
	engine := newTestEngine(t)
	for _, after := range []int32{1, 3, 7, 50} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int32
		m := hook(func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
			if calls.Add(1) == after {
				cancel()
			}
			return engine.Multiply(c, a, b, opts...)
		})
		r := &Runner{Count: 1 << 20, MinTime: time.Millisecond}
		if rep, err := r.compare(ctx, m, []Variant{crowd(64, asm.F32, 3, 1)}); !errors.Is(err, context.Canceled) ||
			rep != nil {
			t.Errorf("canceled in call %d: %v, %v", after, rep, err)
		}
		cancel()
	}
}

// TestScale takes scaling over one worker and one caller, or what there is of it.
func TestScale(t *testing.T) {
	for _, test := range []struct {
		name  string
		teams []team
		speed []float64
		want  []float64
	}{
		{"one variant", []team{{1, 1}}, []float64{9}, []float64{0}},
		{"nothing varies", []team{{1, 4}, {1, 4}}, []float64{9, 8}, []float64{0, 0}},
		{"workers", []team{{1, 1}, {2, 1}, {4, 1}}, []float64{10, 19, 35}, []float64{1, 1.9, 3.5}},
		{"callers", []team{{2, 1}, {2, 8}}, []float64{20, 10}, []float64{1, 0.5}},
		{"both", []team{{4, 8}, {1, 8}, {4, 1}, {1, 1}}, []float64{40, 20, 30, 10}, []float64{4, 2, 3, 1}},
		{"workers of several callers", []team{{1, 8}, {4, 8}}, []float64{10, 20}, []float64{1, 2}},
		{"callers on two numbers of workers", []team{{2, 1}, {4, 1}, {2, 8}, {4, 8}}, []float64{10, 20, 15, 40},
			[]float64{1, 1, 1.5, 2}},
		{"no base", []team{{2, 1}, {4, 1}}, []float64{10, 20}, []float64{1, 1}},
		{"no base at all", []team{{2, 2}, {4, 4}}, []float64{10, 20}, []float64{0, 0}},
	} {
		x := &run{}
		var results []Result
		for i, team := range test.teams {
			v := crowd(64, asm.BF16, team.callers, team.workers)
			x.cases = append(x.cases, &caseRun{v: v, workers: team.workers})
			results = append(results, Result{GFLOPS: test.speed[i]})
		}
		other := crowd(65, asm.BF16, 1, 1) // of another size: no base for the rest
		if test.name != "one variant" && test.name != "nothing varies" {
			x.cases = append([]*caseRun{{v: other, workers: 1}}, x.cases...)
			results = append([]Result{{GFLOPS: 1}}, results...)
		}
		x.scale(results)
		for i, r := range results[len(results)-len(test.want):] {
			if r.Scaling != test.want[i] {
				t.Errorf("%s: scaling %v of %v, want %v", test.name, r.Scaling, test.teams[i], test.want[i])
			}
		}
	}
}
