package gemm

import (
	"testing"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/internal/plan"
)

// TestPose checks what decisions are told of operands of any layout; package plan holds what they make of it.
func TestPose(t *testing.T) {
	f32 := func(rows, cols, stride int) Matrix[float32] {
		return Matrix[float32]{Rows: rows, Cols: cols, Stride: stride, Data: make([]float32, rows*stride)}
	}
	packed, err := Pack(f32(5, 77, 77))
	if err != nil {
		t.Fatal(err)
	}
	panel, err := Pack(f32(5, 7, 7))
	if err != nil {
		t.Fatal(err)
	}
	wide, narrow := NewMatrix[bf16.BF16](3, 5), NewMatrix[fp8.E4M3](5, 7)
	// Elem, ElemA, ElemB and Out are F32, Plain is true unless a case says otherwise.
	for _, tc := range []struct {
		name    string
		c, a, b AnyMatrix
		opts    []Option
		want    plan.Problem
		plain   bool
	}{
		{name: "rows", c: f32(3, 7, 9), a: f32(3, 5, 6), b: f32(5, 7, 8), plain: true,
			want: plan.Problem{M: 3, N: 7, K: 5, PitchA: 24, PitchB: 32, PitchC: 36}},
		{name: "A and B transposed", c: f32(3, 7, 7), a: f32(5, 3, 4).T(), b: f32(7, 5, 6).T(), plain: true,
			want: plan.Problem{M: 3, N: 7, K: 5, PitchA: 16, PitchB: 24, PitchC: 28, TransA: true, FormB: plan.AlongK}},
		{name: "C transposed", c: f32(7, 3, 4).T(), a: f32(3, 5, 6), b: f32(5, 7, 8), plain: true, // C' = B'·A'
			want: plan.Problem{M: 7, N: 3, K: 5, PitchA: 32, PitchB: 24, PitchC: 16, TransA: true, FormB: plan.AlongK}},
		{name: "packed", c: f32(3, 77, 77), a: f32(3, 5, 5), b: packed, plain: true,
			want: plan.Problem{M: 3, N: 77, K: 5, PitchA: 20, PitchC: 308, FormB: plan.InPanels}},
		{name: "packed, C transposed", c: f32(77, 3, 3).T(), a: f32(3, 5, 5), b: packed, plain: true,
			want: plan.Problem{M: 3, N: 77, K: 5, PitchA: 20, PitchC: 12, FormB: plan.InPanels, TransC: true}},
		{name: "a panel", c: f32(3, 7, 7), a: f32(3, 5, 5), b: panel, plain: true,
			want: plan.Problem{M: 3, N: 7, K: 5, PitchA: 20, PitchB: 4 * panel.b.kernel.NR, PitchC: 28}},
		{name: "a column", c: f32(3, 1, 1), a: f32(3, 5, 6), b: f32(5, 1, 1), plain: true, // is a row by A'
			want: plan.Problem{M: 1, N: 3, K: 5, PitchA: 20, PitchB: 24, PitchC: 12, FormB: plan.AlongK}},
		{name: "finished", c: f32(3, 7, 7), a: f32(3, 5, 5), b: f32(5, 7, 7),
			opts: []Option{WithBias(make([]float32, 7))},
			want: plan.Problem{M: 3, N: 7, K: 5, PitchA: 20, PitchB: 28, PitchC: 28}},
		{name: "added to C", c: f32(3, 7, 7), a: f32(3, 5, 5), b: f32(5, 7, 7), opts: []Option{WithBeta(1)},
			want: plan.Problem{M: 3, N: 7, K: 5, PitchA: 20, PitchB: 28, PitchC: 28}},
		{name: "8 bits", c: NewMatrix[bf16.BF16](3, 7), a: wide, b: narrow, plain: true,
			want: plan.Problem{M: 3, N: 7, K: 5, PitchA: 10, PitchB: 7, PitchC: 14, Elem: asm.BF16, ElemA: asm.BF16,
				ElemB: asm.E4M3, Out: asm.BF16}},
		{name: "a named ring", c: f32(3, 7, 7), a: f32(3, 5, 5), b: f32(5, 7, 7), plain: true,
			opts: []Option{WithTile(8, 16, 24), WithDepth(2)},
			want: plan.Problem{M: 3, N: 7, K: 5, PitchA: 20, PitchB: 28, PitchC: 28,
				Asked: plan.Asked{Depth: 2, M: 8, N: 16, K: 24, Any: true}}},
		{name: "parts", c: f32(3, 7, 7), a: f32(3, 200, 200), b: f32(200, 7, 7),
			opts: []Option{WithArithmetic(Hopper), WithSplitK(2)},
			want: plan.Problem{M: 3, N: 7, K: 200, PitchA: 800, PitchB: 28, PitchC: 28, Part: 128}},
	} {
		in, _, err := sharedEngine.prepared(tc.c, tc.a, tc.b, tc.opts)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		got, want := in.Problem, tc.want
		if want.Elem == 0 && want.ElemB == 0 {
			want.Elem, want.ElemA, want.ElemB, want.Out = asm.F32, asm.F32, asm.F32, asm.F32
		}
		if tc.b == AnyMatrix(panel) && got.Kernel.Unpacked(asm.F32) == nil {
			want.FormB = plan.InPanels
		}
		want.Kernel, want.On = got.Kernel, plan.Here.Tuned(got.Kernel)
		want.Plain, want.Workers, want.Procs = tc.plain, 1, 1
		want.LineA = line(in.a.ptr)
		if want.FormB == plan.InPanels {
			want.PitchB = got.PitchB // of no meaning
		}
		if got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tc.name, got, want)
		}
	}
}

func line(p unsafe.Pointer) uint8 { return uint8(uintptr(p) % plan.LineBytes) }
