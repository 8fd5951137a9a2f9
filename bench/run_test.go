package bench

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

func quick() *Runner { return &Runner{Count: 2, MinTime: time.Millisecond} }

func square(n int, in asm.Type, depth int) Variant {
	return Variant{Workload: Workload{M: n, N: n, K: n, In: in, Out: SumType(in), Alpha: 1, Seed: 1}, Depth: depth}
}

func TestCompare(t *testing.T) {
	odd := Variant{
		Workload: Workload{M: 33, N: 65, K: 17, In: asm.F16, Out: asm.F16, TransB: true, Alpha: 0.5, Beta: -1, Seed: 2},
		Workers:  1, Tile: [3]int{64, 64, 64},
	}
	large := square(420, asm.BF16, 3) // timed with statistics, and not compared in full
	large.Out = asm.BF16
	doubles := Variant{Workload: Workload{M: 33, N: 65, K: 300, In: asm.F64, Out: asm.F64, TransA: true, Alpha: 1. / 3,
		Beta: -1. / 7, Seed: 3}} // whose reference knows factors in float32 from those in float64
	variants := []Variant{square(64, asm.BF16, 1), square(64, asm.BF16, 2), odd, large, doubles, square(420, asm.F64, 2)}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU() + 1)) // more than the engine takes workers
	steps := 0
	r := quick()
	r.Progress = func(p Progress) {
		if p.Step != steps || p.Steps != len(variants)*3 || p.What == "" {
			t.Errorf("progress %+v at step %d", p, steps)
		}
		steps++
	}
	rep, err := r.Compare(t.Context(), variants)
	if err != nil {
		t.Fatal(err)
	}
	if steps != len(variants)*3 || len(rep.Results) != len(variants) {
		t.Fatalf("%d steps and %d results for %d variants", steps, len(rep.Results), len(variants))
	}
	for i, res := range rep.Results {
		v := variants[i]
		if res.M != v.M || res.N != v.N || res.K != v.K || res.DType != v.In.String() || res.Out != v.Out.String() ||
			res.Trans != v.Trans() {
			t.Errorf("result %d is of another workload: %+v", i, res)
		}
		if !res.Checked || !res.Verified || res.Failure != "" || res.MaxError <= 0 || res.MaxError > 1 {
			t.Errorf("result %d: verified %v, max error %v, %s", i, res.Verified, res.MaxError, res.Failure)
		}
		if res.Count != 2 || len(res.Samples) != 2 || res.SecondsMin <= 0 || res.SecondsMin > res.SecondsMedian ||
			res.SecondsMedian > res.SecondsMax {
			t.Errorf("result %d: times %+v", i, res)
		}
		if want := res.Flops() / res.SecondsMedian / 1e9; res.GFLOPS != want || res.PeakFraction <= 0 {
			t.Errorf("result %d: %v GFLOP/s, want %v; peak fraction %v", i, res.GFLOPS, want, res.PeakFraction)
		}
		if res.ProducerWait < 0 || res.ConsumerWait < 0 || res.ProducerWait+res.ConsumerWait > 1.01 {
			t.Errorf("result %d: waits %v and %v", i, res.ProducerWait, res.ConsumerWait)
		}
	}
	if rep.Results[0].Depth != 1 || rep.Results[1].Depth != 2 || rep.Results[0].Workers != rep.Machine.Workers ||
		rep.Results[2].Workers != 1 {
		t.Errorf("depths and workers: %+v", rep.Results)
	}
	for i, r := range rep.Results {
		v := variants[i]
		if r.Depth != v.Depth || v.Depth > 0 && r.DepthUsed != v.Depth || r.Alpha != v.Alpha || r.Beta != v.Beta ||
			r.Seed != v.Seed ||
			r.Arith != "native" || r.Cold || r.MinTime != quick().MinTime.Seconds() {
			t.Errorf("result %d of %+v: %+v", i, v, r)
		}
	}
	if rep.Results[2].Tile != "64x64x64" || rep.Results[0].Tile != "" {
		t.Errorf("tiles %q and %q", rep.Results[2].Tile, rep.Results[0].Tile)
	}
	for _, p := range rep.Peak {
		if len(p.Samples) != 3 || p.GFLOPS <= 0 {
			t.Errorf("peak %+v: want a sample before each of 2 rounds and one after", p)
		}
	}
}

var arithmetics = []gemm.Arithmetic{gemm.Native, gemm.Hopper}

// TestComparePrepacked packs B for every kernel choice, type and layout.
func TestComparePrepacked(t *testing.T) {
	var variants []Variant
	for i, in := range allTypes {
		for _, arith := range arithmetics {
			v := square(90, in, 2)
			v.Arith, v.TransB, v.Beta = arith, i == 1, float64(i)
			if v.Validate() != nil {
				continue // Hopper's arithmetic has no f64
			}
			plain := v
			v.Prepacked = true
			goKernel := v
			goKernel.Kernel = map[gemm.Arithmetic]string{gemm.Native: "go", gemm.Hopper: "hopper-go"}[arith]
			if in == asm.F64 {
				goKernel.Kernel = "gof64"
			}
			variants = append(variants, v, plain, goKernel, v)
		}
	}
	for _, cold := range []bool{false, true} {
		r := quick()
		if r.Cold = cold; cold {
			variants = []Variant{square(300, asm.BF16, 2), square(300, asm.BF16, 2)}
			variants[1].Prepacked = true
		}
		rep, err := r.Compare(t.Context(), variants)
		if err != nil {
			t.Fatal(err)
		}
		for i, res := range rep.Results {
			if res.Prepacked != variants[i].Prepacked || !res.Verified {
				t.Errorf("%+v: prepacked %v, verified %v, %s", variants[i], res.Prepacked, res.Verified, res.Failure)
			}
			if k := variants[i].Kernel; k != "" && res.Kernel != k {
				t.Errorf("%+v: kernel %s", variants[i], res.Kernel)
			}
		}
	}
}

// TestPrepackedIsVerified finds out about a packed B that is not B.
func TestPrepackedIsVerified(t *testing.T) {
	engine := newTestEngine(t)
	v := square(40, asm.F32, 1)
	packed := v
	packed.Prepacked = true
	other := newOperand(asm.F32, 40, 40, false)
	forger := hook(func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
		if _, ok := b.(gemm.Matrix[float32]); !ok {
			b = other.view
		}
		return engine.Multiply(c, a, b, opts...)
	})
	for name, spoil := range map[string]func(){
		"C[":              func() { data(other.view)[41] += 1 },
		"prepacked false": func() { data(other.view)[41] *= 1 + 0x1p-22 },
		"":                func() {},
	} {
		other.fill(t.Context(), mix(v.Seed, 1))
		spoil()
		rep, err := quick().compare(t.Context(), forger, []Variant{v, packed})
		if err != nil {
			t.Fatal(err)
		}
		if got := rep.Results[1]; got.Verified != (name == "") || !strings.Contains(got.Failure, name) {
			t.Errorf("verified %v, %q; want %q", got.Verified, got.Failure, name)
		}
	}
}

func TestPackedBytes(t *testing.T) {
	for _, in := range allTypes {
		for _, arith := range arithmetics {
			v := Variant{Workload: Workload{M: 1, N: 1000, K: 3000, In: in, Alpha: 1, Arith: arith}}
			if in == asm.F64 && arith == gemm.Hopper {
				continue // which has none
			}
			if got := v.packedBytes(); got != 0 {
				t.Errorf("%d bytes for what is not packed", got)
			}
			v.Prepacked = true
			packed, err := newOperand(in, v.K, v.N, false).pack(v.packOptions()...)
			if err != nil {
				t.Fatal(err)
			}
			size := packed.(interface{ Size() int }).Size()
			if got := v.packedBytes(); got < size || got > size*5/4 {
				t.Errorf("%v, %v: %d bytes, the packed B takes %d", in, arith, got, size)
			}
		}
	}
}

func TestCompareCold(t *testing.T) {
	r := quick()
	r.Cold = true
	v := square(300, asm.F32, 2)
	if n := r.sets(v.Workload); n*v.Bytes() <= 2*lastLevelCache() {
		t.Errorf("%d sets of %d bytes fit in twice the cache of %d", n, v.Bytes(), lastLevelCache())
	}
	rep, err := r.Compare(t.Context(), []Variant{v})
	if err != nil {
		t.Fatal(err)
	}
	if !rep.Results[0].Verified {
		t.Error(rep.Results[0].Failure)
	}
	if res := rep.Results[0]; res.GBs <= 0 || res.ReadGBs <= 0 {
		t.Errorf("%g GB/s, and reads alone %g", res.GBs, res.ReadGBs)
	}
	var table strings.Builder
	if err := rep.Write(&table, "table"); err != nil || !strings.Contains(table.String(), "of reads") {
		t.Errorf("error %v, and the table does not compare with reads:\n%s", err, &table)
	}
}

// spoiled multiplies by m and then spoils what came out of a call, of which the first is 1.
func spoiled(m multiplier, spoil func(call int, c []float32) error) hook {
	calls := 0
	return func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
		if err := m.Multiply(c, a, b, opts...); err != nil {
			return err
		}
		calls++
		return spoil(calls, data(c))
	}
}

func TestCompareFindsFaults(t *testing.T) {
	engine := newTestEngine(t)
	// slow takes so long that it is not warmed up, so that the number of calls is known: the first of each variant, and
	// in each round two of each, of which the second yields the waits.
	slow := hook(func(c, a, b gemm.AnyMatrix, opts []gemm.Option) error {
		time.Sleep(2 * calibration)
		return engine.Multiply(c, a, b, opts...)
	})
	wrong := errors.New("broken engine")
	for _, test := range []struct {
		name    string
		spoil   func(call int, c []float32) error
		failure string // of the second result
		err     error
	}{
		{"sound", func(int, []float32) error { return nil }, "", nil},
		{"wrong value", func(call int, c []float32) error { c[5] += 1; return nil }, "C[0,5]", nil},
		{"other bits by depth", func(call int, c []float32) error {
			if call == 2 {
				c[7] *= 1 + 0x1p-23
			}
			return nil
		}, "other bits than with depth 1", nil},
		{"later call", func(call int, c []float32) error {
			if call > 4 {
				c[9] *= 1 + 0x1p-23
			}
			return nil
		}, "a later call gave other bits", nil},
		{"error", func(call int, _ []float32) error { return wrong }, "", wrong},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := spoiled(slow, test.spoil)
			r := &Runner{Count: 1, MinTime: time.Nanosecond}
			rep, err := r.compare(t.Context(), s, []Variant{square(40, asm.F32, 1), square(40, asm.F32, 2)})
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			second := rep.Results[1]
			if second.Verified != (test.failure == "") || !strings.Contains(second.Failure, test.failure) {
				t.Errorf("verified %v, %q; want %q", second.Verified, second.Failure, test.failure)
			}
			if failed := rep.Failures(); (len(failed) > 0) != (test.failure != "") {
				t.Errorf("%d failures", len(failed))
			}
		})
	}
}

func TestCompareCancel(t *testing.T) {
	engine := newTestEngine(t)
	for _, after := range []int{1, 2, 3, 20} {
		ctx, cancel := context.WithCancel(t.Context())
		s := spoiled(engine, func(call int, _ []float32) error {
			if call == after {
				cancel()
			}
			return nil
		})
		r := &Runner{Count: 1 << 20, MinTime: time.Millisecond}
		if rep, err := r.compare(ctx, s, []Variant{square(64, asm.F32, 1)}); !errors.Is(err, context.Canceled) ||
			rep != nil {
			t.Errorf("canceled in call %d: %v, %v", after, rep, err)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := quick().Compare(ctx, []Variant{square(600, asm.BF16, 1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled before the start: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		change func(*Variant)
		want   string
	}{
		{func(v *Variant) { v.M = 0 }, "m = 0 is outside"},
		{func(v *Variant) { v.K = MaxDim + 1 }, "k = 1048577 is outside"},
		{func(v *Variant) { v.Alpha = 0 }, "alpha = 0"},
		{func(v *Variant) { v.Beta = 1e300 }, "beta = 1e+300 is not a finite f32"},
		{func(v *Variant) { v.Beta = 1e-60 }, "beta = 1e-60 is not zero, but would be as f32"},
		{func(v *Variant) { v.In, v.Out, v.Alpha = asm.F64, asm.F64, math.Inf(1) }, "alpha = +Inf is not a finite f64"},
		{func(v *Variant) { v.In = asm.F64 }, "A and B hold f64 and C f32: if one holds f64, all have to"},
		{func(v *Variant) { v.Out = asm.F64 }, "A and B hold bf16 and C f64: if one holds f64, all have to"},
		{func(v *Variant) { v.In, v.Out, v.Arith = asm.F64, asm.F64, gemm.Hopper },
			"no kernel multiplies f64 in hopper arithmetic"},
		{func(v *Variant) { v.In, v.Out, v.Kernel = asm.F64, asm.F64, "go" }, `kernel "go" does not multiply f64`},
		{func(v *Variant) { v.Kernel = "gof64" }, `kernel "gof64" does not multiply bf16`},
		{func(v *Variant) { v.Depth = gemm.MaxDepth + 1 }, "depth 17 is outside 0..16"},
		{func(v *Variant) { v.Workers = -1 }, "workers -1 is outside"},
		{func(v *Variant) { v.Tile[1] = -4 }, "tile n = -4 is outside"},
		{func(v *Variant) { v.Callers = -1 }, "callers -1 is outside 0..4096"},
		{func(v *Variant) { v.Callers = MaxCallers + 1 }, "callers 4097 is outside 0..4096"},
		{func(v *Variant) { v.M, v.N, v.Callers = 1<<15, 1<<15, MaxCallers },
			"bench: not enough memory: the operands "},
		{func(v *Variant) { v.Batch = -1 }, "batch -1 is outside 0..4096"},
		{func(v *Variant) { v.Batch = MaxBatch + 1 }, "batch 4097 is outside 0..4096"},
		{func(v *Variant) { v.M, v.N, v.Batch = 1<<15, 1<<15, MaxBatch }, "bench: not enough memory: the operands "},
		{func(v *Variant) { v.M, v.N, v.K, v.Batch = MaxDim, MaxDim, MaxDim, MaxBatch },
			"bench: not enough memory: the operands "},
		{func(v *Variant) { v.M, v.Callers, v.Batch = 1<<12, MaxCallers, MaxBatch },
			"bench: not enough memory: the operands "},
		{func(v *Variant) { v.Kernel = "cuda" }, `kernel "cuda" is unknown`},
		{func(v *Variant) { v.In, v.Kernel = asm.F32, "gobf16" }, `kernel "gobf16" does not multiply f32`},
		{func(v *Variant) { v.In, v.Arith, v.Kernel = asm.E5M2, gemm.Hopper, "go" },
			`kernel "go" computes in native arithmetic, not hopper`},
		{func(v *Variant) { v.Out, v.Arith = asm.E4M3, gemm.Hopper },
			"C cannot hold e4m3; types of C: f32, bf16, f16, f64"},
		{func(v *Variant) { v.Kernel = "hopper-go" }, `kernel "hopper-go" computes in hopper arithmetic, not native`},
		{func(v *Variant) { v.Arith, v.Kernel = gemm.Hopper, "go" },
			`kernel "go" computes in native arithmetic, not hopper`},
		{func(v *Variant) { v.Arith = 7 }, "there is no arithmetic Arithmetic(7)"},
		{func(v *Variant) { v.SplitK = gemm.MaxSplitK + 1 }, "split of K in 1025 parts is outside 0..1024"},
		{func(v *Variant) { v.Scales = 3 }, "Scales(3) are none of none, tensor, row"},
		{func(v *Variant) { v.Activation = 99 }, "Activation(99) is none of [identity relu gelu"},
		{func(v *Variant) { v.M, v.N = MaxDim, MaxDim }, "bench: not enough memory: the operands "},
	} {
		v := square(64, asm.BF16, 1)
		test.change(&v)
		if availableMemory() == 0 && strings.Contains(test.want, "memory") {
			continue
		}
		if err := quick().Validate([]Variant{square(32, asm.BF16, 1), v}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		} else if memory := strings.Contains(test.want, "memory"); errors.Is(err, ErrMemory) != memory {
			t.Errorf("error %v wraps ErrMemory: %v, want %v", err, !memory, memory)
		}
	}
	four := square(64, asm.BF16, 1)
	four.Callers = 4
	if err := (&Runner{Cold: true}).Validate([]Variant{four}); err == nil ||
		!strings.Contains(err.Error(), "4 callers share A and B") {
		t.Errorf("4 callers, cold: %v", err)
	}
	if err := (&Runner{Timelines: true}).Validate([]Variant{square(64, asm.BF16, 1), batchOf(4, 64, asm.BF16)}); err ==
		nil || err.Error() != "bench: a trace tells of one product, not of a batch of 4" {
		t.Errorf("a batch of 4, traced: %v", err)
	}
	if err := quick().Validate(nil); err == nil {
		t.Error("no variants: no error")
	}
	if err := (&Runner{Count: -1}).Validate([]Variant{square(1, asm.BF16, 0)}); err == nil {
		t.Error("negative count: no error")
	}
}
