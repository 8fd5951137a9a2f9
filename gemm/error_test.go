package gemm_test

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/pipeline"
)

type (
	matF32  = gemm.Matrix[float32]
	matBF16 = gemm.Matrix[bf16.BF16]
)

// TestErrors makes each mistake in an otherwise right product of 3x4 and 4x5.
func TestErrors(t *testing.T) {
	var none context.Context
	for _, tc := range []struct {
		name string
		edit func(c *matF32, a, b *matBF16)
		opt  gemm.Option
		want []string // parts of the error
	}{
		{name: "A negative rows", edit: func(_ *matF32, a, _ *matBF16) { a.Rows = -3 }, want: []string{"A ", "-3x4"}},
		{name: "A negative columns", edit: func(_ *matF32, a, _ *matBF16) { a.Cols = -1 },
			want: []string{"A ", "3x-1"}},
		{name: "B negative", edit: func(_ *matF32, _, b *matBF16) { b.Cols = -5 }, want: []string{"B ", "4x-5"}},
		{name: "C negative", edit: func(c *matF32, _, _ *matBF16) { c.Rows = -3 }, want: []string{"C ", "-3x5"}},
		{name: "A stride", edit: func(_ *matF32, a, _ *matBF16) { a.Stride = 3 },
			want: []string{"A ", "stride 3", "4"}},
		{name: "A stride 0", edit: func(_ *matF32, a, _ *matBF16) { a.Stride = 0 },
			want: []string{"A ", "stride 0", "4"}},
		{name: "B stride negative", edit: func(_ *matF32, _, b *matBF16) { b.Stride = -5 },
			want: []string{"B ", "stride -5", "5"}},
		{name: "C stride", edit: func(c *matF32, _, _ *matBF16) { c.Stride = 4 },
			want: []string{"C ", "stride 4", "5"}},
		{name: "A' stride", edit: func(_ *matF32, a, _ *matBF16) {
			*a = matBF16{Rows: 4, Cols: 3, Stride: 2, Data: a.Data}.T()
		}, want: []string{"A ", "stride 2", "3"}},
		{name: "A short", edit: func(_ *matF32, a, _ *matBF16) { a.Data = a.Data[:11] },
			want: []string{"A ", "3x4", "stride 4", "11"}},
		{name: "A nil", edit: func(_ *matF32, a, _ *matBF16) { a.Data = nil },
			want: []string{"A ", "3x4", "0 elements"}},
		{name: "B short", edit: func(_ *matF32, _, b *matBF16) { b.Stride = 6 },
			want: []string{"B ", "4x5", "stride 6", "20"}},
		{name: "C short", edit: func(c *matF32, _, _ *matBF16) { c.Data = c.Data[:14] },
			want: []string{"C ", "3x5", "14"}},
		{name: "C' short", edit: func(c *matF32, _, _ *matBF16) {
			*c = matF32{Rows: 5, Cols: 3, Stride: 4, Data: c.Data}.T()
		}, want: []string{"C ", "3x5", "stride 4", "15"}},
		{name: "A overflow", edit: func(_ *matF32, a, _ *matBF16) { a.Stride = math.MaxInt },
			want: []string{"A ", "12"}},
		{name: "A huge", edit: func(_ *matF32, a, _ *matBF16) { a.Rows, a.Stride = math.MaxInt, math.MaxInt },
			want: []string{"A ", "12"}},
		{name: "B huge", edit: func(_ *matF32, _, b *matBF16) { b.Rows = math.MaxInt/2 + 1; b.Stride = 1 << 3 },
			want: []string{"B ", "20"}},
		{name: "C huge", edit: func(c *matF32, _, _ *matBF16) {
			n := math.MaxInt>>(bits.UintSize/2-1) + 1
			c.Rows, c.Cols, c.Stride = n, n, n
		}, want: []string{"C ", "15"}},
		{name: "K", edit: func(_ *matF32, a, _ *matBF16) { a.Cols = 3 }, want: []string{"A is 3x3", "B is 4x5", "K"}},
		{name: "K of A'", edit: func(_ *matF32, a, _ *matBF16) { *a = a.T() },
			want: []string{"A is 4x3", "B is 4x5", "K"}},
		{name: "M", edit: func(c *matF32, _, _ *matBF16) { c.Rows = 2 }, want: []string{"C is 2x5", "A is 3x4", "M"}},
		{name: "N", edit: func(c *matF32, _, _ *matBF16) { c.Cols = 4 }, want: []string{"C is 3x4", "B is 4x5", "N"}},
		{name: "C'", edit: func(c *matF32, _, _ *matBF16) {
			*c = matF32{Rows: 3, Cols: 5, Stride: 5, Data: c.Data}.T()
		}, want: []string{"C is 5x3", "A is 3x4"}},
		{name: "unknown kernel", opt: gemm.WithKernel("sse9"), want: []string{`"sse9"`, "choices", "go"}},
		{name: "workers", opt: gemm.WithWorkers(-1), want: []string{"WithWorkers", "-1", "1024"}},
		{name: "too many workers", opt: gemm.WithWorkers(gemm.MaxWorkers + 1),
			want: []string{"WithWorkers", "1025", "1024"}},
		{name: "depth", opt: gemm.WithDepth(-2), want: []string{"WithDepth", "-2", "16"}},
		{name: "too deep", opt: gemm.WithDepth(gemm.MaxDepth + 1), want: []string{"WithDepth", "17", "16"}},
		{name: "tile m", opt: gemm.WithTile(-1, 0, 0), want: []string{"WithTile", "m = -1"}},
		{name: "tile n", opt: gemm.WithTile(0, gemm.MaxTile+1, 0), want: []string{"WithTile", "n = 16385"}},
		{name: "tile k", opt: gemm.WithTile(0, 0, math.MinInt),
			want: []string{"WithTile", fmt.Sprint("k = ", math.MinInt)}},
		{name: "zero option", opt: gemm.Option{}, want: []string{"zero Option"}},
		{name: "nil context", opt: gemm.WithContext(none), want: []string{"WithContext", "nil"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := build[float32, bf16.BF16](t, size(3, 5, 4))
			defer o.free()
			memory := o.c.Data // the edit may cut o.c.Data
			opts := []gemm.Option{gemm.WithWorkers(1)}
			if tc.edit != nil {
				tc.edit(&o.c, &o.a, &o.b)
			} else {
				opts = append(opts, tc.opt)
			}
			err := gemm.Multiply(o.c, o.a, o.b, opts...)
			checkError(t, err, tc.want...)
			untouched(t, memory)
			if tc.edit == nil {
				return
			}
			checkError(t, testEngine.Multiply(o.c, o.a, o.b), tc.want...)
			untouched(t, memory)
		})
	}
}

func checkError(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	for _, w := range append(want, "gemm: ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func untouched[T gemm.Element](t *testing.T, data []T) {
	t.Helper()
	for i := range data {
		if bitsOf(data[i]) != bitsOf(canary[T]()) {
			t.Fatalf("Data[%d] of C was written", i)
		}
	}
}

// TestKernelErrors pins kernels for types that they do not multiply.
func TestKernelErrors(t *testing.T) {
	c, f, h := gemm.NewMatrix[float32](2, 2), gemm.NewMatrix[float32](2, 2), gemm.NewMatrix[float16.Float16](2, 2)
	for _, name := range []string{"gobf16", "avx512bf16"} {
		checkError(t, gemm.Multiply(c, f, f, gemm.WithKernel(name)), name, "f32", "choices", "go")
		checkError(t, gemm.Multiply(c, h, h, gemm.WithKernel(name)), name, "f16", "choices", "go")
	}
	// Empty products are checked all the same.
	a, c := gemm.NewMatrix[float32](0, 2), gemm.NewMatrix[float32](0, 2)
	checkError(t, gemm.Multiply(c, a, f, gemm.WithKernel("x")), `"x"`)
	_, err := gemm.New(gemm.WithKernel("nonesuch"))
	checkError(t, err, "nonesuch", "choices", "go")
	if _, err = gemm.New(gemm.WithKernel("gobf16")); err != nil {
		t.Errorf("a kernel for bf16 alone: %v", err)
	}
}

// TestKernelEnv runs itself with LEAFHOPPER_KERNEL set, because the variable is read once per process: New says
// what is wrong with it, unless it names a kernel itself, or the variable one of the other arithmetic.
func TestKernelEnv(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		for _, opts := range [][]gemm.Option{nil, {gemm.WithKernel("go")}, {gemm.WithArithmetic(gemm.Hopper)}} {
			e, err := gemm.New(opts...)
			if err == nil {
				err = e.Close()
			}
			fmt.Println(err)
		}
		return
	}
	const usable, bad = "<nil>", `gemm: asm: kernel "nonesuch" (from LEAFHOPPER_KERNEL) is unknown; choices: `
	for name, want := range map[string][3]string{
		"nonesuch":  {bad, usable, bad},
		"gobf16":    {usable, usable, usable}, // New does not know what will be multiplied
		"hopper-go": {usable, usable, usable},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKernelEnv$")
		cmd.Env = append(os.Environ(), childEnv+"=1", asm.KernelEnv+"="+name)
		out, err := cmd.CombinedOutput()
		lines := strings.Split(string(out), "\n")
		if err != nil || len(lines) < len(want) {
			t.Fatalf("%s=%s: %v\n%s", asm.KernelEnv, name, err, out)
		}
		for i, w := range want {
			if !strings.HasPrefix(lines[i], w) {
				t.Errorf("%s=%s: New %d: %q, want %q", asm.KernelEnv, name, i, lines[i], w)
			}
		}
	}
}

// TestEngineErrors makes the mistakes that only an Engine allows.
func TestEngineErrors(t *testing.T) {
	b, h := gemm.NewMatrix[bf16.BF16](2, 2), gemm.NewMatrix[float16.Float16](2, 2)
	f, c := gemm.NewMatrix[float32](2, 2), gemm.NewMatrix[float32](2, 2)
	for i := range c.Data {
		c.Data[i] = canary[float32]()
	}
	checkError(t, testEngine.Multiply(c, b, h), "A holds bf16", "B holds f16")
	checkError(t, testEngine.Multiply(c, f, b), "A holds f32", "B holds bf16")
	checkError(t, testEngine.Multiply(nil, b, b), "nil")
	checkError(t, testEngine.Multiply(c, nil, b), "nil")
	checkError(t, testEngine.Multiply(c, b, nil), "nil")
	short := gemm.Matrix[float32]{Rows: 3, Cols: 5, Stride: 6, Data: make([]float32, 15)}
	checkError(t, testEngine.Multiply(c, &short, f), "A is 3x5 with stride 6 but its Data holds only 15 elements, not 17")
	short.Rows, short.Stride = math.MaxInt, math.MaxInt
	checkError(t, testEngine.Multiply(c, &short, f), "holds only 15 elements")
	cuts := []gemm.Option{gemm.WithPromotion(64), gemm.WithSplitK(2)}
	e, err := gemm.New(cuts...) // neither has an effect
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		t.Error(err)
	}
	_, err = gemm.New(append(cuts, gemm.WithArithmetic(gemm.Hopper))...)
	checkError(t, err, "WithPromotion(64) and WithSplitK(2) cut K in different ways")
	var zero gemm.Engine
	checkError(t, zero.Multiply(c, b, b), "zero Engine")
	checkError(t, zero.Close(), "zero Engine")
	var none *gemm.Engine
	checkError(t, none.Multiply(c, b, b), "nil or zero Engine")
	checkError(t, none.Close(), "nil or zero Engine")
	untouched(t, c.Data)

	var st gemm.Stats
	for _, tc := range []struct {
		opt  gemm.Option
		want string
	}{
		{gemm.Option{}, "zero Option"},
		{gemm.WithContext(t.Context()), "WithContext"},
		{gemm.WithStats(&st), "WithStats"},
		{gemm.WithStats(nil), "WithStats"},
		{gemm.WithWorkers(-1), "WithWorkers"},
		{gemm.WithDepth(99), "WithDepth"},
		{gemm.WithTile(0, -1, 0), "WithTile"},
	} {
		e, err := gemm.New(tc.opt)
		checkError(t, err, tc.want)
		if e != nil {
			t.Errorf("New returned an engine along with %v", err)
		}
	}
}

// TestStages asks for tiles so small that their stages cannot be counted, which leaves an earlier trace as it was.
func TestStages(t *testing.T) {
	var tr gemm.Trace
	lanes := func() string {
		var w strings.Builder
		if err := tr.WriteLanes(&w, 80); err != nil {
			t.Fatal(err)
		}
		return w.String()
	}
	x := gemm.NewMatrix[float32](40, 40)
	if err := gemm.Multiply(gemm.NewMatrix[float32](40, 40), x, x, gemm.WithTrace(&tr), gemm.WithDepth(2)); err != nil {
		t.Fatal(err)
	}
	was := lanes()
	const n = 1 << 13 // of memory that nobody touches
	a, c := gemm.NewMatrix[float32](n, n), gemm.NewMatrix[float32](n, n)
	err := gemm.Multiply(c, a, a, gemm.WithKernel("go"), gemm.WithTile(1, 1, 1), gemm.WithWorkers(1), gemm.WithTrace(&tr))
	checkError(t, err, "gemm: WithTile(1, 1, 1)", "8192x8192x8192", "stages",
		fmt.Sprint(min(uint64(pipeline.MaxItems), math.MaxInt)))
	if now := lanes(); now != was {
		t.Errorf("the trace was\n%s\nand is\n%s", was, now)
	}
}
