package gemm_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// TestExplain asks about products of all kinds on every machine, and about what there is not.
func TestExplain(t *testing.T) {
	for _, machine := range append(gemm.Machines(), "") {
		for i, size := range [][3]int{
			{8, 8, 8}, {300, 1, 300}, {16, 1024, 1024}, {1, 1, 100_000}, {700, 700, 700}, {4096, 4096, 4096},
		} {
			for _, elem := range []asm.Type{asm.F32, asm.F64} {
				q := gemm.Question{
					M: size[0], N: size[1], K: size[2], Type: elem, Out: elem,
					TransB: i%2 == 1, Packed: i == 4, Workers: i, Machine: machine,
				}
				text, err := gemm.Explain(q)
				if lines := strings.Count(text, "\n"); err != nil || lines < 7 || lines > 12 ||
					strings.Contains(text, "f64") != (elem == asm.F64) {
					t.Errorf("%+v: %d lines, error %v:\n%s", q, lines, err, text)
				}
			}
		}
	}
	for want, q := range map[string]gemm.Question{
		`gemm: Explain: a batch of -1 products, outside 0..65536`:    {M: 1, N: 1, K: 1, Batch: -1},
		`gemm: Explain: a batch of 65537 products, outside 0..65536`: {M: 1, N: 1, K: 1, Batch: 1<<16 + 1},
		`gemm: Explain: 0x1x1 has a size less than 1`:                {N: 1, K: 1},
		fmt.Sprintf(`gemm: Explain: 1x300x%d: there are no such matrices`, math.MaxInt): {
			M: 1, N: 300, K: math.MaxInt, Machine: "zen5",
		},
		fmt.Sprintf(`gemm: Explain: %dx1048576x1048576: there are no such matrices`, math.MaxInt): {
			M: math.MaxInt, N: 1 << 20, K: 1 << 20, Type: asm.F32, Out: asm.F32, TransB: true, Machine: "amx",
		},
		`gemm: Explain: 268435456x1073741824x1024: there are no such matrices`: { // of 2^68 multiply-adds
			M: 1 << 28, N: 1 << 30, K: 1 << 10, Type: asm.F32, Out: asm.F32, Machine: "zen4",
		},
		`gemm: Explain: there is no machine "z80"; machines: zen3, zen4, zen5, intel, amx, go`: {
			M: 1, N: 1, K: 1, Machine: "z80",
		},
		`gemm: Explain: C holds e4m3; it may hold bf16, f16, f32 or f64`:    {M: 1, N: 1, K: 1, Out: asm.E4M3},
		`gemm: Explain: C holds Type(9); it may hold bf16, f16, f32 or f64`: {M: 1, N: 1, K: 1, Out: 9},
		`gemm: Explain: A and B hold f64 and C f32: if one holds f64, all have to`: {
			M: 1, N: 1, K: 1, Type: asm.F64, Out: asm.F32,
		},
		`gemm: Explain: A and B hold bf16 and C f64: if one holds f64, all have to`: {M: 1, N: 1, K: 1, Out: asm.F64},
		fmt.Sprintf(`gemm: Explain: -1 workers, outside 0..%d`, gemm.MaxWorkers):    {M: 1, N: 1, K: 1, Workers: -1},
	} {
		if _, err := gemm.Explain(q); err == nil || err.Error() != want {
			t.Errorf("%+v: error %v, want %s", q, err, want)
		}
	}
}

// TestExplainTransposes wants tall products by few columns to be those of the transpose where that is faster.
func TestExplainTransposes(t *testing.T) {
	if asm.Named("avx512").StreamRows(asm.F32, false) == 0 {
		t.Skip("without assembly no kernel streams B")
	}
	for q, want := range map[gemm.Question]bool{
		{N: 16, Type: asm.F32, TransA: true}:  true,
		{N: 17, Type: asm.F32, TransA: true}:  false,
		{N: 16, Type: asm.BF16, TransA: true}: true,
		{N: 8, Type: asm.F64, TransA: true}:   true,
		{N: 9, Type: asm.F64, TransA: true}:   false,
		{N: 16, Type: asm.F32}:                true,
		{N: 4, Type: asm.F32, Kernel: "go"}:   false,
	} {
		q.M, q.K, q.Workers, q.Machine, q.Out = 1000, 1100, 1, "zen4", asm.F32
		if q.Type == asm.F64 {
			q.Out = asm.F64
		}
		text, err := gemm.Explain(q)
		if got := strings.Contains(text, " as its transpose, "); err != nil || got != want {
			t.Errorf("%+v: the transpose is %v, want %v (%v)\n%s", q, got, want, err, text)
		}
	}
}

// TestExplainBatch wants a line on how workers compute a batch, and then one of its products as they do.
func TestExplainBatch(t *testing.T) {
	for want, q := range map[string]gemm.Question{
		"batch    64 products, each one worker's, in 32 slabs for 2 workers\nproduct  64x64x64,": {M: 64, Batch: 64},
		"batch    4 products, each one worker's, in 1 slab for 2 workers\nproduct  8x8x8,":       {M: 8, Batch: 4},
		"batch    3 products, one after the other\nproduct  2048x2048x2048,":                     {M: 2048, Batch: 3},
		"product  512x512x512,": {M: 512, Batch: 1},
	} {
		q.N, q.K, q.Type, q.Out, q.Workers, q.Machine = q.M, q.M, asm.F32, asm.F32, 2, "zen4"
		text, err := gemm.Explain(q)
		if err != nil || !strings.HasPrefix(text, want) {
			t.Errorf("%+v: error %v, want %q in\n%s", q, err, want, text)
		}
		q.Batch = 0
		if strings.Contains(want, "each one worker's") {
			q.Workers = 1
		}
		if one, err := gemm.Explain(q); err != nil || one != text[strings.Index(text, "product  "):] {
			t.Errorf("%+v: error %v, a product of the batch is not explained as\n%s\nbut\n%s", q, err, one, text)
		}
	}
}

// TestPlanKept computes a product with the plan that Explain knows, and again with the same one.
func TestPlanKept(t *testing.T) {
	a, b, c := gemm.NewMatrix[float32](64, 512), gemm.NewMatrix[float32](512, 512), gemm.NewMatrix[float32](64, 512)
	var first, again gemm.Stats
	for _, st := range []*gemm.Stats{&first, &again} {
		if err := gemm.Multiply(c, a, b, gemm.WithWorkers(1), gemm.WithStats(st)); err != nil {
			t.Fatal(err)
		}
	}
	if first.Plan == nil || first.Plan != again.Plan {
		t.Errorf("the plans are %v and %v", first.Plan, again.Plan)
	}
	text, err := gemm.Explain(gemm.Question{M: 64, N: 512, K: 512, Type: asm.F32, Out: asm.F32, Workers: 1})
	if err != nil || !strings.Contains(text, first.Plan.String()) {
		t.Errorf("error %v: no %v in\n%s", err, first.Plan, text)
	}
}
