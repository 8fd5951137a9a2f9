package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// epilogues returns every combination.
func epilogues() (all []Epilogue) {
	for _, scales := range []Scales{NoScales, TensorScales, RowScales} {
		for _, bias := range []bool{false, true} {
			for _, f := range asm.Activations() {
				all = append(all, Epilogue{scales, bias, f})
			}
		}
	}
	return all
}

// TestCheckEpilogue accepts products with each epilogue, of which an exact one leaves exact bits, and refuses
// those with any other.
func TestCheckEpilogue(t *testing.T) {
	for _, base := range []Workload{
		{M: 30, N: 41, K: 67, In: asm.F32, Out: asm.F32, Alpha: 1, Seed: 3},
		{M: 30, N: 41, K: 67, In: asm.BF16, Out: asm.F16, Alpha: -2, Beta: 0.5, Seed: 3},
		{M: 30, N: 41, K: 67, In: asm.E4M3, Out: asm.BF16, Alpha: 1, Seed: 3, Arith: gemm.Hopper},
		{M: 30, N: 41, K: 67, In: asm.F16, Out: asm.F32, Alpha: -2, Beta: 0.5, Seed: 3, Arith: gemm.Hopper},
	} {
		for _, full := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v/%v/full=%v", base.Arith, base.Out, full), func(t *testing.T) {
				a, b, c0 := newOperands(t.Context(), base)
				products := map[Epilogue]*operand{}
				for _, e := range epilogues() {
					w := base
					w.Epilogue = e
					c := multiplied(t, Variant{Workload: w}, a, b, c0)
					products[e] = c
					o := makeReference(w, a, b, c0, full).check(c)
					exact := base.Arith == gemm.Hopper &&
						slices.Contains([]gemm.Activation{gemm.Identity, gemm.ReLU, gemm.GELUTanh}, e.Activation)
					if !o.passed() || (o.maxError == 0) != exact {
						t.Errorf("%+v: %v", e, o)
					}
				}
				for _, e := range epilogues() {
					w := base
					w.Epilogue = e
					r := makeReference(w, a, b, c0, full)
					for other, c := range products {
						if other != e && r.check(c).passed() {
							t.Errorf("%+v: %+v passes", e, other)
						}
					}
				}
			})
		}
	}
}

// TestEpilogueOfFloat64 wants what package gemm says of epilogues of float64, before anything is multiplied.
func TestEpilogueOfFloat64(t *testing.T) {
	v := square(8, asm.F64, 0)
	a, b, _ := newOperands(t.Context(), v.Workload)
	engine, c := newTestEngine(t), newOperand(asm.F64, 8, 8, false)
	for _, e := range epilogues() {
		v.Epilogue = e
		err := engine.Multiply(c.view, a.view, b.view, options(v)...)
		_, said, _ := strings.Cut(fmt.Sprint(err), "gemm: ")
		if got := fmt.Sprint(v.Validate()); (err != nil) != (e != Epilogue{}) || err != nil && got != "bench: "+said ||
			err == nil && got != "<nil>" {
			t.Errorf("%+v: %q, and of gemm %v", e, got, err)
		}
	}
}

// TestInfinityActivated wants the one right value of sums that overflow, from every kernel.
func TestInfinityActivated(t *testing.T) {
	w := Workload{M: 2, N: 40, K: 3, In: asm.F32, Out: asm.F32, Alpha: 3e38, Seed: 1, Arith: gemm.Hopper}
	a, b, _ := newOperands(t.Context(), w)
	for i := range data(a.view) {
		data(a.view)[i] = float32(1 - 2*(i/w.K)) // a row each of 1 and -1
	}
	for i := range data(b.view) {
		data(b.view)[i] = 10
	}
	for _, f := range asm.Activations() {
		w.Activation = f
		r := makeReference(w, a, b, nil, true)
		for _, k := range asm.Kernels() {
			if k.Arithmetic != gemm.Hopper || k.Supported() != nil {
				continue
			}
			c := multiplied(t, Variant{Workload: w, Kernel: k.Name}, a, b, nil)
			if o := r.check(c); o.maxError != 0 {
				t.Errorf("%v by %s: %v", f, k.Name, o)
			}
			if data(c.view)[w.N] = 0.5; r.check(c).passed() {
				t.Errorf("%v of -Inf: 0.5 passes", f)
			}
		}
	}
}

// TestEpilogueReport wants epilogues in every format, and the same without one as what they are compared with.
func TestEpilogueReport(t *testing.T) {
	plain := square(64, asm.F32, 0)
	with, scaled := plain, plain
	with.Epilogue = Epilogue{Bias: true, Activation: gemm.GELU}
	scaled.Epilogue = Epilogue{Scales: RowScales}
	for _, tc := range []struct {
		vs   []Variant
		base bool
	}{{[]Variant{plain, with, scaled}, true}, {[]Variant{with, scaled}, false}} {
		rep, err := quick().Compare(t.Context(), tc.vs)
		if err != nil || len(rep.Failures()) > 0 {
			t.Fatal(err, rep)
		}
		for format, want := range map[string][]string{
			"table": {"scales    bias   activation", "row   false     identity", "none    true         gelu"},
			"csv":   {",scales,bias,activation,", ",none,true,gelu,", ",row,false,identity,"},
			"json":  {`"bias": true`, `"activation": "gelu"`, `"scales": "row"`},
			"md":    {"| row | false | identity |", "| none | true | gelu |"},
			"svg":   {"gelu"}, "benchfmt": {"/scales=none/bias=true/activation=gelu",
				"/scales=row/bias=false/activation=identity"},
		} {
			var b strings.Builder
			if err := rep.Write(&b, format); err != nil {
				t.Fatal(err)
			}
			for _, part := range want {
				if !strings.Contains(b.String(), part) {
					t.Errorf("%s without %q:\n%s", format, part, b.String())
				}
			}
			compared := map[string]int{"table": strings.Count(b.String(), "vs plain"),
				"json": strings.Count(b.String(), `"vs_plain"`)}
			if n, ok := compared[format]; ok && (n == 2) != tc.base || !tc.base && n > 0 {
				t.Errorf("%s has %d comparisons with the plain product:\n%s", format, n, b.String())
			}
		}
	}
}

// TestSharedOperands wants variants that differ in what is done with A, B and C to have the same.
func TestSharedOperands(t *testing.T) {
	v := square(512, asm.F32, 0)
	v.M, v.N, v.K = 1<<15, 1<<13, 1<<13
	vs := []Variant{v}
	for _, e := range epilogues() {
		v.Epilogue = e
		vs = append(vs, v)
	}
	if availableMemory()>>30 > 8 {
		if err := quick().Validate(vs); err != nil {
			t.Error(err)
		}
	}
	plain, other, old := square(8, asm.F32, 0).Workload, square(8, asm.F32, 0).Workload, square(8, asm.F32, 0).Workload
	other.Alpha, other.Bias, other.Arith = 2, true, gemm.Hopper
	old.Beta = 3
	if plain.operands() != other.operands() || plain.operands() == old.operands() {
		t.Errorf("%+v %+v %+v", plain.operands(), other.operands(), old.operands())
	}
}
