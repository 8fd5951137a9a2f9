package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestLanes compares the kernels that sum blocks of K side by side with their twins and, element by element, with
// tiles, between pages that fault.
func TestLanes(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		chain := chainFMA
		switch {
		case kern.Name == "go":
			chain = chainGo
		case kern.step == amxStep:
			chain = chainTiles
		case kern.KPack == 2:
			chain = chainBF16
		}
		for _, typ := range []Type{BF16, F16, F32} {
			if got, want := kern.Lanes(typ) != nil, kern.Accepts(typ); got != want {
				t.Fatalf("%v: it has lanes: %v, want %v", typ, got, want)
			} else if got {
				twin := lanesGeneric(typ, kern.KPack, chain)
				t.Run(typ.String(), func(t *testing.T) { testLanes(t, kern, typ, twin) })
			}
		}
	})
}

func testLanes(t *testing.T, kern *Kernel, typ Type, twin LanesFunc) {
	const most, deep = 8, 48 // vectors, words
	lanes, size, kpack := kern.Lanes(typ), typ.Size(), kern.KPack
	r := rand.New(rand.NewPCG(5, 6))
	mem := [3]guarded{newGuarded(t, 1<<19), newGuarded(t, 1<<19), newGuarded(t, most*most*Lanes*4)}
	room := newGuarded(t, 2*most*kpack*1024)
	for _, values := range operands {
		for n := range 60 {
			k, blocks := kern.Words(typ, kpack*(1+r.IntN(deep))), 1+r.IntN(Lanes)
			var v [2]Vectors
			aside := 0
			whole := (k + 15) &^ 15 * kpack // elements that may be read
			block := (whole+8)*most + r.IntN(40)
			for i := range v {
				apart := whole + r.IntN(9)
				v[i] = Vectors{N: 1 + r.IntN(most), Apart: apart * size, Step: size, Block: block * size}
				end := (v[i].N-1)*apart + whole
				if r.IntN(2) == 0 { // beside each other
					step := v[i].N + r.IntN(most-v[i].N+1)
					v[i].Apart, v[i].Step, end = size, step*size, step*whole
				}
				end = (blocks-1)*v[i].Block + end*size
				if v[i].At = mem[i].last(end); n%2 == 0 {
					v[i].At = mem[i].first(end)
				}
				filler(kern, r, values.word)(v[i].At, end, 4/size)
				aside += max(v[i].N, v[i].Step/size) * kpack * 1024
			}
			count := v[0].N * v[1].N * Lanes
			sums := mem[2].last(count * 4)
			got := unsafe.Slice((*float32)(sums), count)
			for l := range got {
				got[l] = r.Float32() * float32(n%3)
			}
			from, want := append([]float32(nil), got...), append([]float32(nil), got...)
			lanes(k, blocks, v[0], v[1], sums, room.last(aside))
			twin(k, blocks, v[0], v[1], unsafe.Pointer(unsafe.SliceData(want)), nil)
			what := fmt.Sprintf("%s: k %d, %d blocks of %+v", values.name, k, blocks, v)
			for e, x := range got {
				if e%Lanes < blocks && !sameBits(x, want[e]) {
					t.Fatalf("%s: lane %d of %d is %v, want %v", what, e%Lanes, e/Lanes, x, want[e])
				}
			}
			// One of them as an element of a tile.
			i, j, l := r.IntN(v[0].N), r.IntN(v[1].N), r.IntN(blocks)
			e := (i*v[1].N+j)*Lanes + l
			panelA, panelB := make([]uint32, kern.MR*k), make([]uint32, kern.NR*k)
			kern.PackA(typ, v[0].Step == size)(unsafe.Pointer(&panelA[0]),
				unsafe.Add(v[0].At, l*v[0].Block+i*v[0].Apart), v[0].Step, 1, k*kpack)
			kern.PackB(typ, v[1].Step == size)(unsafe.Pointer(&panelB[0]),
				unsafe.Add(v[1].At, l*v[1].Block+j*v[1].Apart), v[1].Step, 1, k*kpack)
			tile := make([]float32, kern.MR*kern.NR)
			tile[0] = from[e]
			at, pitch := unsafe.Pointer(unsafe.SliceData(tile)), kern.NR*4
			kern.Ref(k, 1, unsafe.Pointer(&panelA[0]), unsafe.Pointer(&panelB[0]), at, pitch, at, pitch)
			if !sameBits(got[e], tile[0]) {
				t.Fatalf("%s: lane %d is %v, in a tile %v", what, l, got[e], tile[0])
			}
		}
	}
}
