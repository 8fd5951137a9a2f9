package bench

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// exactCases are products in Hopper's arithmetic that differ in all that the
// reference looks at. K is no multiple of a step.
func exactCases() []Workload {
	var ws []Workload
	for _, in := range hopperTypes {
		w := Workload{M: 41, N: 53, K: 150, In: in, Out: asm.F32, Alpha: 1, Seed: 5, Arith: gemm.Hopper}
		ws = append(ws, w)
		w.SplitK = 3
		w.TransA, w.TransB = true, true
		ws = append(ws, w)
		w.Out, w.Alpha, w.Beta = asm.F16, -0.7, 1.3
		ws = append(ws, w)
		w.Out, w.SplitK, w.Promotion = asm.BF16, 0, 64
		ws = append(ws, w)
	}
	return ws
}

// multiplied returns the product of a variant.
func multiplied(t *testing.T, v Variant, a, b, c0 *operand) *operand {
	t.Helper()
	c := newOperand(v.Out, v.M, v.N, false)
	if c0 != nil {
		copy(c.raw, c0.raw)
	}
	if err := newTestEngine(t).Multiply(c.view, a.view, b.view, options(v)...); err != nil {
		t.Fatal(err)
	}
	return c
}

// portable is w by the portable kernel.
func portable(w Workload) Variant { return Variant{Workload: w, Kernel: "hopper-go", Workers: 1} }

// TestCheckExact accepts the right bits and finds a wrong last bit in every
// entry that is compared, and what is much too wrong everywhere.
func TestCheckExact(t *testing.T) {
	for _, w := range exactCases() {
		for _, full := range []bool{true, false} {
			title := fmt.Sprintf("%v/%v/split=%d/promotion=%d/full=%v", w.In, w.Out, w.SplitK, w.Promotion, full)
			t.Run(title, func(t *testing.T) {
				a, b, c0 := newOperands(t.Context(), w)
				c := multiplied(t, portable(w), a, b, c0)
				r := makeReference(w, a, b, c0, full)
				if o := r.check(c); o.maxError != 0 {
					t.Fatalf("the right product: %v", o)
				}
				places := [][2]int{{0, 0}, {0, w.N - 1}, {w.M - 1, 0}, {w.M - 1, w.N - 1}}
				if full {
					places = append(places, [2]int{17, 23})
				} else {
					places = append(places, [2]int{r.some[len(r.some)/2].i, r.some[len(r.some)/2].j})
				}
				for _, p := range places {
					at := (p[0]*w.N + p[1]) * w.Out.Size() // its last bit, as machines are little-endian
					c.raw[at] ^= 1
					o := r.check(c)
					if o.passed() || o.i != p[0] || o.j != p[1] || !strings.Contains(o.String(), "exactly") {
						t.Errorf("a wrong bit in C%v: found %v", p, o)
					}
					c.raw[at] ^= 1
				}
				if full {
					return
				}
				i, j := unsampled(r)
				old := c.at(i, j)
				put(c, i, j, old+1)
				if o := r.check(c); o.passed() || o.i != i || o.j != j {
					t.Errorf("1 too much in C[%d,%d]: found %v", i, j, o)
				}
			})
		}
	}
}

// TestExactDiffers shows that the check tells the arithmetics apart: sums in
// float32 have other bits, and so has another split.
func TestExactDiffers(t *testing.T) {
	for _, in := range hopperTypes {
		w := exactCases()[0]
		w.In = in
		a, b, _ := newOperands(t.Context(), w)
		r := makeReference(w, a, b, nil, true)
		if o := r.check(naive(w, a, b, nil)); o.passed() {
			t.Errorf("%v: sums in float32 pass", in)
		}
		w.SplitK = 2
		if o := r.check(multiplied(t, portable(w), a, b, nil)); o.passed() {
			t.Errorf("%v: another split passes", in)
		}
	}
}

// TestProjectTF32 wants C·x to be that of the operands rounded to tf32. Let S be the sum of the absolute products of
// an entry. The largest exponent E in a step belongs to a term of at least 2^E, so 2^E is at most S. Truncation takes
// less than 2^(E-25) from each of 8 products and the accumulator, and 2^-23 of the result: a step errs by at most
// (9·2^-25 + 2^-23)·S.
func TestProjectTF32(t *testing.T) {
	w := Workload{M: 60, N: 70, K: 128, In: asm.F32, Out: asm.F32, Alpha: 1, Seed: 6, Arith: gemm.Hopper}
	a, b, _ := newOperands(t.Context(), w)
	r := makeReference(w, a, b, nil, false)
	c := multiplied(t, portable(w), a, b, nil)
	distance := func(cx []float64) (most float64) {
		for i, v := range multiplyVector(c, r.x) {
			sum := 0.0
			for j := range w.N {
				for k := range w.K {
					sum += math.Abs(r.a.at(i, k) * r.b.at(k, j))
				}
			}
			bound := sum * float64(w.K/8) * (9*0x1p-25 + 0x1p-23)
			most = max(most, math.Abs(v-cx[i])/bound)
		}
		return most
	}
	if d := distance(r.cx); d > 1 {
		t.Errorf("C·x is %v times the bound away", d)
	}
	r.a, r.b = a, b
	r.project()
	if d := distance(r.cx); d <= 1 {
		t.Errorf("C·x of operands that were not rounded is only %v times the bound away", d)
	}
}

func TestCompareHopper(t *testing.T) {
	var vs []Variant
	for _, w := range exactCases() {
		for _, depth := range []int{1, 3} {
			vs = append(vs, Variant{Workload: w, Depth: depth, Workers: 1, Tile: [3]int{32, 32, 32}})
		}
		vs = append(vs, Variant{Workload: w, Workers: 2, Kernel: "hopper-go"})
	}
	native := vs[0]
	native.Arith = gemm.Native
	native.SplitK = 2
	vs = append(vs, native)
	rep, err := (&Runner{Count: 1, MinTime: 1}).Compare(t.Context(), vs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rep.Results {
		v := vs[i]
		if !r.Verified || r.SplitK == 1 || max(1, r.SplitK) != max(1, v.SplitK) || r.PeakFraction <= 0 {
			t.Errorf("%+v: %+v", v, r)
		}
		if hopper := strings.HasPrefix(r.Kernel, "hopper-"); hopper != (v.Arith == gemm.Hopper) ||
			hopper != (r.Arith == "hopper") || hopper != (r.MaxError == 0) {
			t.Errorf("%+v: %+v", v, r)
		}
	}
}

// TestCompareHopperBits spoils the last bit of an entry that no sample has, in
// one of two kernels: only the comparison of bits can find it.
func TestCompareHopperBits(t *testing.T) {
	engine := newTestEngine(t)
	w := Workload{M: 210, N: 200, K: 208, In: asm.BF16, Out: asm.F32, Alpha: 1, Seed: 1, Arith: gemm.Hopper}
	a, b, _ := newOperands(t.Context(), w)
	r := newReference(w, a, b, nil)
	if r.full != nil {
		t.Fatal("the workload is compared in full; choose a larger one")
	}
	i, j := unsampled(r)
	for r.check(flipped(multiplied(t, portable(w), a, b, nil), i, j)).maxError != 0 {
		i = (i + 1) % w.M // that was in a row that is recomputed
	}
	second := false
	s := spoiled(engine, func(_ int, c []float32) error {
		if second {
			c[i*w.N+j] = math.Float32frombits(math.Float32bits(c[i*w.N+j]) ^ 1)
			second = false
		}
		return nil
	})
	run := &Runner{Count: 1, MinTime: 1, Progress: func(p Progress) { second = p.Step == 1 }}
	rep, err := run.compare(t.Context(), s, []Variant{{Workload: w, Depth: 1},
		{Workload: w, Depth: 1, Kernel: "hopper-go"}})
	if err != nil {
		t.Fatal(err)
	}
	if r := rep.Results[1]; !rep.Results[0].Verified || r.Verified ||
		!strings.Contains(r.Failure, "other bits than with depth 1") {
		t.Errorf("verified %v and %v, %q", rep.Results[0].Verified, r.Verified, r.Failure)
	}
}

func flipped(c *operand, i, j int) *operand {
	c.raw[(i*c.cols+j)*c.elem.Size()] ^= 1
	return c
}
