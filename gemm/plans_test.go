package gemm

import (
	"testing"
	"unsafe"

	"example.com/leafhopper/internal/plan"
)

// TestPlansKept plans the products of a model's layers for many batch sizes, and wants most of them kept.
func TestPlansKept(t *testing.T) {
	if size := unsafe.Sizeof(planned{}); size > 520 {
		t.Errorf("a plan takes %d bytes", size)
	}
	layers := [][2]int{{768, 768}, {768, 2304}, {768, 3072}, {3072, 768}, {4096, 4096}, {4096, 11008}, {11008, 4096},
		{4096, 32000}}
	var kept plans
	var all []*planned
	for batch := 1; batch <= 64; batch++ {
		for _, l := range layers {
			k, n := l[0], l[1]
			q := plan.Problem{M: batch, N: n, K: k, PitchA: 2 * k, PitchB: 2 * n, PitchC: 4 * n, Workers: 1, Procs: 1}
			all = append(all, &planned{Problem: q})
		}
	}
	for range 2 {
		for _, p := range all {
			if kept.of(&p.Problem) == nil {
				kept.add(p)
			}
		}
	}
	lost := 0
	for _, p := range all {
		if got := kept.of(&p.Problem); got == nil {
			lost++
		} else if got != p {
			t.Fatalf("%+v has the plan of %+v", p.Problem, got.Problem)
		}
	}
	if lost > len(all)/20 {
		t.Errorf("%d of %d plans are lost", lost, len(all))
	}
	t.Logf("%d of %d plans are lost", lost, len(all))
}
