package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// batchReport has products in a call of their own and in batches.
func batchReport() *Report {
	rep := sampleReport()
	rep.Notes, rep.Results = nil, rep.Results[:2]
	for _, r := range slices.Clone(rep.Results) {
		r.Batch, r.DepthUsed, r.ProducerWait, r.ConsumerWait = 8, 0, 0, 0
		r.SecondsMedian, r.SecondsMin, r.SecondsMax = 7.5*r.SecondsMedian, 7.5*r.SecondsMin, 7.5*r.SecondsMax
		r.Samples = slices.Clone(r.Samples)
		for i := range r.Samples {
			r.Samples[i] *= 7.5
			r.CallsSamples = append(r.CallsSamples, 1.25*r.Samples[i])
		}
		r.GFLOPS, r.PeakFraction = 8/7.5*r.GFLOPS, 8/7.5*r.PeakFraction
		rep.Results = append(rep.Results, r)
	}
	rep.Results[2].Depth = 0
	rep.Results[3].Verified, rep.Results[3].Failure = false, "product 5 of 8: C[1,2] = NaN, want 1"
	return rep
}

// batchOf returns square(n) as a batch.
func batchOf(products, n int, in asm.Type) Variant {
	v := square(n, in, 0)
	v.Batch = products
	return v
}

func TestCompareBatch(t *testing.T) {
	one, packed, old, crowded := batchOf(1, 40, asm.BF16), batchOf(3, 60, asm.F16), batchOf(4, 40, asm.F64),
		batchOf(5, 33, asm.F32)
	packed.Prepacked, packed.Arith, old.Beta = true, gemm.Hopper, 0.5
	crowded.Callers, crowded.Workers, crowded.Epilogue = 3, 1, Epilogue{Scales: RowScales, Bias: true}
	rings, timed := batchOf(2, 180, asm.BF16), batchOf(2, 330, asm.BF16) // that carries a context, which its calls do not
	rings.Depth = 2
	for _, cold := range []bool{false, true} {
		variants := []Variant{one, batchOf(7, 40, asm.BF16), packed, old, rings, timed, crowded}
		r := &Runner{Count: 1, MinTime: time.Millisecond, Cold: cold}
		if cold {
			variants = []Variant{batchOf(3, 200, asm.F32)}
		}
		rep, err := r.Compare(t.Context(), variants)
		if err != nil {
			t.Fatal(err)
		}
		for i, res := range rep.Results {
			v := variants[i]
			n, samples := v.Batch, r.Count
			if v.Batch == 1 {
				n, samples = 0, 0 // which JSON leaves out
			}
			if res.Batch != n || len(res.CallsSamples) != samples || (res.vsCalls() != nil) != (n > 0) {
				t.Errorf("%+v: batch %d, samples of calls %v", v, res.Batch, res.CallsSamples)
			}
			if !res.Checked || !res.Verified || res.Failure != "" ||
				(res.MaxError > 0) != (v.Arith == gemm.Native) || res.Kernel == "" || res.DepthUsed != v.Depth {
				t.Errorf("%+v: verified %v, max error %v, kernel %q, depth %d, %s", v, res.Verified, res.MaxError,
					res.Kernel, res.DepthUsed, res.Failure)
			}
			flops := float64(v.Batch*v.callers()) * v.Flops()
			if want := flops / res.SecondsMedian / 1e9; !near(res.GFLOPS, want) || res.PeakFraction <= 0 {
				t.Errorf("%+v: %v GFLOP/s, want %v; peak fraction %v", v, res.GFLOPS, want, res.PeakFraction)
			}
			if bytes := float64(v.Batch*2*200*200*4) / 1e9; cold && (!near(res.GBs, bytes/res.SecondsMedian) ||
				res.ReadGBs <= 0) {
				t.Errorf("%+v: %v GB/s, and reads alone %v", v, res.GBs, res.ReadGBs)
			}
			// The times of a batch and of its calls are those of as many products, however noisy the machine.
			if s := res.CallsSamples; s != nil && !(Median(s) < 100*res.SecondsMedian && 100*Median(s) > res.SecondsMedian) {
				t.Errorf("%+v: a call takes %v s, and those of its products %v s", v, res.SecondsMedian, Median(s))
			}
		}
	}
}

func near(a, b float64) bool { return a > 0.999999*b && a < 1.000001*b }

// A batchHook is a multiplier in the place of the engine, which knows a call of one product from a batch.
type batchHook struct {
	one hook
	all func(c, a, b []gemm.AnyMatrix, opts []gemm.Option) error
}

func (h batchHook) Multiply(c, a, b gemm.AnyMatrix, opts ...gemm.Option) error {
	return h.one(c, a, b, opts)
}
func (h batchHook) MultiplyBatch(c, a, b []gemm.AnyMatrix, opts ...gemm.Option) error {
	return h.all(c, a, b, opts)
}

// TestBatchOperands wants batches of different products, of which each has a call of its own, too.
func TestBatchOperands(t *testing.T) {
	engine := newTestEngine(t)
	const n, callers = 5, 2
	var mu sync.Mutex
	inBatch, inCalls, values := map[[3]*float32]int{}, map[[3]*float32]int{}, map[float32]bool{}
	note := func(in map[[3]*float32]int, c, a, b gemm.AnyMatrix) {
		mu.Lock()
		defer mu.Unlock()
		in[[3]*float32{&data(c)[0], &data(a)[0], &data(b)[0]}]++
		values[data(a)[0]], values[data(b)[0]] = true, true
	}
	m := batchHook{
		func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
			note(inCalls, c, a, b)
			return engine.Multiply(c, a, b, opts...)
		},
		func(c, a, b []gemm.AnyMatrix, opts []gemm.Option) error {
			if len(c) != n || len(a) != n || len(b) != n {
				return fmt.Errorf("a batch of %d, %d and %d", len(c), len(a), len(b))
			}
			for i := range c {
				note(inBatch, c[i], a[i], b[i])
			}
			return engine.MultiplyBatch(c, a, b, opts...)
		},
	}
	v, steps := batchOf(n, 40, asm.F32), 0
	v.Callers = callers
	r := quick()
	r.Progress = func(p Progress) {
		if !strings.HasSuffix(p.What, " 2 callers batch 5") || p.Step != steps || p.Steps != 2*(1+r.Count) {
			t.Errorf("progress %+v at step %d", p, steps)
		}
		steps++
	}
	rep, err := r.compare(t.Context(), m, []Variant{v})
	if err != nil {
		t.Fatal(err)
	}
	if steps != 2*(1+r.Count) || !rep.Results[0].Verified {
		t.Errorf("%d steps, %s", steps, rep.Results[0].Failure)
	}
	if len(inBatch) != n*callers || len(inCalls) != n*callers || len(values) != 2*n {
		t.Errorf("%d products in batches and %d in calls of %d first elements", len(inBatch), len(inCalls), len(values))
	}
	for of := range inBatch {
		if inCalls[of] == 0 {
			t.Errorf("a product of the batch has no call of its own")
		}
	}
}

// TestBatchIsVerified spoils what becomes of one of several products, which are compared in full and not.
func TestBatchIsVerified(t *testing.T) {
	engine := newTestEngine(t)
	for i, test := range []struct {
		name    string
		spoil   func(call int, c []gemm.AnyMatrix) // of a batch if there are several; the first is 1
		failure string
	}{
		{"sound", func(int, []gemm.AnyMatrix) {}, "^$"},
		{"wrong value", func(_ int, c []gemm.AnyMatrix) { data(c[len(c)-1])[5] += 1 }, `^product 4 of 4: C\[0,5\] = `},
		{"nothing written", func(_ int, c []gemm.AnyMatrix) { data(c[len(c)/2])[7] = float32(nan()) },
			`^product 3 of 4: C\[0,7\] = NaN`},
		{"another's", func(_ int, c []gemm.AnyMatrix) { copy(data(c[len(c)/3]), data(c[0])) }, `^product 2 of 4: C\[`},
		{"later call", func(call int, c []gemm.AnyMatrix) {
			if call > 1 && len(c) > 1 {
				data(c[1])[9] *= 1 + 0x1p-23
			}
		}, "^product 2 of 4: a later call gave other bits than the first$"},
		{"single call", func(_ int, c []gemm.AnyMatrix) {
			if len(c) == 1 {
				data(c[0])[9] *= 1 + 0x1p-23
			}
		}, "^in a call for each product: other bits than with depth auto, .*, 4 products a call$"},
		{"later single call", func(call int, c []gemm.AnyMatrix) {
			if call > 4 && len(c) == 1 {
				data(c[0])[9] *= 1 + 0x1p-23
			}
		}, "^in a call for each product: product [1-4] of 4: a later call gave other bits than the first$"},
	} {
		n, batches, calls := []int{40, 300}[i%2], 0, 0
		m := batchHook{
			func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
				err := engine.Multiply(c, a, b, opts...)
				calls++
				test.spoil(calls, []gemm.AnyMatrix{c})
				return err
			},
			func(c, a, b []gemm.AnyMatrix, opts []gemm.Option) error {
				err := engine.MultiplyBatch(c, a, b, opts...)
				batches++
				test.spoil(batches, c)
				return err
			},
		}
		rep, err := (&Runner{Count: 1, MinTime: time.Millisecond}).compare(t.Context(), m, []Variant{batchOf(4, n, asm.F32)})
		if err != nil {
			t.Fatal(err)
		}
		res := rep.Results[0]
		if !regexp.MustCompile(test.failure).MatchString(res.Failure) || res.Verified != (res.Failure == "") {
			t.Errorf("%s, %d: verified %v, %q; want %s", test.name, n, res.Verified, res.Failure, test.failure)
		}
	}
}

func TestBatchFails(t *testing.T) {
	broken := errors.New("broken engine")
	m := batchHook{nil, func(_, _, _ []gemm.AnyMatrix, _ []gemm.Option) error { return broken }}
	rep, err := quick().compare(t.Context(), m, []Variant{batchOf(4, 8, asm.F32)})
	if !errors.Is(err, broken) || rep != nil || !strings.Contains(err.Error(), "batch 4") {
		t.Errorf("error %v, report %v", err, rep)
	}
}

// TestBatchReference wants a large batch compared in samples, no more of it than of one product.
func TestBatchReference(t *testing.T) {
	for _, test := range []struct {
		products, n, least, most int
	}{
		{1, 600, 1000, 1300}, {64, 200, 10, 30}, {MaxBatch, 100, 5, 10}, {64, 100, 0, 0}, {MaxBatch, 20, 0, 0},
	} {
		w := batchOf(test.products, test.n, asm.F32).Workload
		a, b, _ := newOperands(t.Context(), w)
		r := newReference(w, a, b, nil)
		if n := len(r.some); n < test.least || n > test.most || (r.full != nil) != (n == 0) {
			t.Errorf("%d of %d³: %d entries, want %d to %d", test.products, test.n, n, test.least, test.most)
		}
	}
}

// TestBatchJSON pins the names of what only batches have.
func TestBatchJSON(t *testing.T) {
	var b bytes.Buffer
	if err := batchReport().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Results []struct {
			Batch   int       `json:"batch"`
			Calls   []float64 `json:"calls_samples"`
			VsCalls *Versus   `json:"vs_calls"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if one := doc.Results[0]; one.Batch != 0 || one.Calls != nil || one.VsCalls != nil {
		t.Errorf("%+v", one)
	}
	if all := doc.Results[2]; all.Batch != 8 || len(all.Calls) != 10 || all.VsCalls == nil ||
		!near(all.VsCalls.Ratio, 1.25) || all.VsCalls.Rounds != 10 {
		t.Errorf("%+v", all)
	}
}
