package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestLanes compares the kernels that sum blocks of K side by side with their twins and, lane by lane, with tiles, between pages
// that fault.
func TestLanes(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		add := map[int]func(float32, uint32, uint32) float32{1: addFMA, 2: dotBF16}[kern.KPack]
		if kern.Name == "go" {
			add = addGo
		}
		lanes := kern.lanes
		if kern.step == amxStep {
			if lanes != nil {
				t.Fatal("tiles have no lanes")
			}
			return
		}
		twin := lanesGeneric(kern.NR, add)
		r := rand.New(rand.NewPCG(5, 6))
		row := kern.NR * 4
		mem := [3]guarded{newGuarded(t, 64*4*row), newGuarded(t, 64*4*row), newGuarded(t, row)}
		want, tile := make([]float32, kern.NR), make([]float32, kern.MR*kern.NR)
		for _, values := range operands {
			fill := filler(r, values.word)
			for n := range 200 {
				k, stepA, stepB := 1+r.IntN(64), row*(1+r.IntN(3)), row*(1+r.IntN(3))
				sizeA, sizeB := (k-1)*stepA+row, (k-1)*stepB+row
				a, b, sums := mem[0].last(sizeA), mem[1].last(sizeB), mem[2].last(row)
				if n%2 == 0 {
					a, b, sums = mem[0].first(sizeA), mem[1].first(sizeB), mem[2].first(row)
				}
				fill(a, sizeA, kern.KPack)
				fill(b, sizeB, kern.KPack)
				got := unsafe.Slice((*float32)(sums), kern.NR)
				for l := range got {
					got[l] = r.Float32() * float32(n%3)
				}
				from := append([]float32(nil), got...)
				copy(want, got)
				lanes(k, a, stepA, b, stepB, sums, uintptr(a), uintptr(b))
				twin(k, a, stepA, b, stepB, unsafe.Pointer(unsafe.SliceData(want)), 0, 0)
				what := fmt.Sprintf("%s: k %d, steps of %d and %d", values.name, k, stepA/row, stepB/row)
				for l, x := range got {
					if !sameBits(x, want[l]) {
						t.Fatalf("%s: lane %d is %v, want %v", what, l, x, want[l])
					}
				}
				l := r.IntN(kern.NR) // as an element of a tile
				panelA, panelB := make([]uint32, kern.MR*k), make([]uint32, kern.NR*k)
				for kd := range k {
					panelA[kd*kern.MR] = *(*uint32)(unsafe.Add(a, kd*stepA+l*4))
					panelB[kd*kern.NR+l] = *(*uint32)(unsafe.Add(b, kd*stepB+l*4))
				}
				clear(tile)
				tile[l] = from[l]
				at := unsafe.Pointer(unsafe.SliceData(tile))
				kern.Ref(k, 1, unsafe.Pointer(unsafe.SliceData(panelA)), unsafe.Pointer(unsafe.SliceData(panelB)), at, row, at, row)
				if !sameBits(got[l], tile[l]) {
					t.Fatalf("%s: lane %d is %v, in a tile %v", what, l, got[l], tile[l])
				}
			}
		}
	})
}
