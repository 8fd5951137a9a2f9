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
		for _, typ := range []Type{BF16, F16, F32, F64} {
			if got, want := kern.Lanes(typ) != nil, kern.Accepts(typ); got != want {
				t.Fatalf("%v: it has lanes: %v, want %v", typ, got, want)
			} else if !got {
				continue
			}
			t.Run(typ.String(), func(t *testing.T) {
				if typ == F64 {
					testLanes(t, kern, typ, lanesGeneric(typ, 1, float64s(kern).chain), sameBits64)
				} else {
					testLanes(t, kern, typ, lanesGeneric(typ, kern.KPack, chain(kern)), sameBits)
				}
			})
		}
	})
}

func testLanes[F float](t *testing.T, kern *Kernel, typ Type, twin LanesFunc, same func(x, y F) bool) {
	const most, deep = 8, 48 // vectors, words
	lanes, size, kpack := kern.Lanes(typ), typ.Size(), kern.KPack
	side := kpack * 16 * Lanes * kern.Word // what is put side by side of a vector
	r := rand.New(rand.NewPCG(5, 6))
	mem := [3]guarded{newGuarded(t, 1<<19), newGuarded(t, 1<<19), newGuarded(t, most*most*Lanes*kern.Word)}
	room := newGuarded(t, 2*most*side)
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
				aside += max(v[i].N, v[i].Step/size) * side
			}
			count := v[0].N * v[1].N * Lanes
			sums := mem[2].last(count * kern.Word)
			got := unsafe.Slice((*F)(sums), count)
			for l := range got {
				got[l] = F(r.Float64()) * F(n%3)
			}
			from, want := append([]F(nil), got...), append([]F(nil), got...)
			lanes(k, blocks, v[0], v[1], sums, room.last(aside))
			twin(k, blocks, v[0], v[1], unsafe.Pointer(unsafe.SliceData(want)), nil)
			what := fmt.Sprintf("%s: k %d, %d blocks of %+v", values.name, k, blocks, v)
			for e, x := range got {
				if e%Lanes < blocks && !same(x, want[e]) {
					t.Fatalf("%s: lane %d of %d is %v, want %v", what, e%Lanes, e/Lanes, x, want[e])
				}
			}
			// One of them as an element of a tile.
			i, j, l := r.IntN(v[0].N), r.IntN(v[1].N), r.IntN(blocks)
			e := (i*v[1].N+j)*Lanes + l
			panelA, panelB := aligned(kern.PanelA(k)), aligned(kern.PanelB(k))
			kern.PackA(typ, v[0].Step == size)(panelA,
				unsafe.Add(v[0].At, l*v[0].Block+i*v[0].Apart), v[0].Step, 1, k*kpack)
			kern.PackB(typ, v[1].Step == size)(panelB,
				unsafe.Add(v[1].At, l*v[1].Block+j*v[1].Apart), v[1].Step, 1, k*kpack)
			tile := make([]F, kern.MR*kern.NR)
			tile[0] = from[e]
			at, pitch := unsafe.Pointer(unsafe.SliceData(tile)), kern.NR*kern.Word
			kern.Ref(k, 1, panelA, panelB, at, pitch, at, pitch)
			if !same(got[e], tile[0]) {
				t.Fatalf("%s: lane %d is %v, in a tile %v", what, l, got[e], tile[0])
			}
		}
	}
}

// TestAddUp adds in order: in another the sums would be 0.
func TestAddUp(t *testing.T) {
	f32 := []float32{1, 3, 1e30, -1e30, -1e30, 1e30, 2, 5, 9}
	if AddUp(F32, unsafe.Pointer(&f32[0]), 2, 4); f32[0] != 2 || f32[1] != 5 || f32[8] != 9 {
		t.Error(f32)
	}
	f64 := []float64{1, 1e300, -1e300, 4}
	if AddUp(F64, unsafe.Pointer(&f64[0]), 1, 4); f64[0] != 4 {
		t.Error(f64)
	}
}
