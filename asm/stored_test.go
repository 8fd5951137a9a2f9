package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestStoreB packs stored panels, to which the packer of panels must do what it does to the source, with both at the
// end of their memory.
func TestStoreB(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		for typ := range Type(numTypes) {
			if !kern.Accepts(typ) {
				continue
			}
			t.Run(fmt.Sprint(typ), func(t *testing.T) {
				const maxN, maxK = 80, 40
				src := newGuarded(t, (maxN+5)*(maxK+5)*kern.Word)
				dst := newGuarded(t, kern.StoredB(typ, maxK)*((maxN+kern.NR-1)/kern.NR))
				r := rand.New(rand.NewPCG(3, uint64(typ)))
				for range 200 {
					n, k, kContiguous := 1+r.IntN(maxN), 1+r.IntN(maxK), r.IntN(2) == 0
					lines, length := k, n
					if kContiguous {
						lines, length = n, k
					}
					stride := (length + r.IntN(5)) * typ.Size()
					from := src.last((lines-1)*stride + length*typ.Size())
					for i := range unsafe.Slice((*byte)(from), (lines-1)*stride+length*typ.Size()) {
						*(*byte)(unsafe.Add(from, i)) = byte(r.Uint32())
					}
					panels := (n + kern.NR - 1) / kern.NR
					size := kern.StoredB(typ, k)
					to := dst.last(panels * size)
					for i := range dst.mem {
						dst.mem[i] = 0xaa
					}
					kern.StoreB(typ, kContiguous)(to, from, stride, n, k)
					want := panelsOf(kern, typ, kContiguous, from, stride, n, k)
					got := slices.Clone(unsafe.Slice((*byte)(to), panels*size))
					if kern.Narrow(typ) {
						if want := kern.NR * roundUp(k, kern.KPack) * typ.Size(); size != want {
							t.Fatalf("%d bytes, want %d", size, want)
						}
						if rest := unsafe.Slice((*byte)(to),
							size)[kern.NR*k*typ.Size():]; slices.ContainsFunc(rest, func(b byte) bool {
							return b != 0
						}) {
							t.Fatal("what fills the last word is not zero")
						}
						got = nil
						for j := range panels {
							got = append(got, panelsOf(kern, typ, false, unsafe.Add(to, j*size), kern.NR*typ.Size(),
								kern.NR, k)...)
						}
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%d columns of %d elements, kContiguous %v, stride %d: not the panels of PackB", n, k,
							kContiguous, stride)
					}
				}
			})
		}
	})
}

// TestRestoreB checks that what StoreB made stays as it is, and that of any bytes at all RestoreB makes what its
// plain-Go twin makes of them, at the end of their memory.
func TestRestoreB(t *testing.T) {
	const maxK = 90
	restore := func(t *testing.T, kern *Kernel) {
		panel := newGuarded(t, kern.StoredB(kern.wordType(), roundUp(maxK, maxProducts)))
		r := rand.New(rand.NewPCG(31, 32))
		for typ := range Type(numTypes) {
			if !kern.Accepts(typ) {
				continue
			}
			for _, o := range hopperOperands {
				k := 1 + r.IntN(maxK)
				n := kern.StoredB(typ, k)
				p := panel.last(n)
				made := unsafe.Slice((*byte)(p), n)
				src := aligned(kern.NR * k * 8)
				o.fill(r, typ, src, kern.NR*k*typ.Size())
				kern.StoreB(typ, false)(p, src, kern.NR*typ.Size(), 1+r.IntN(kern.NR), k)
				before := slices.Clone(made)
				if kern.RestoreB(typ, p, k); !slices.Equal(made, before) {
					t.Fatalf("%v %s, %d elements of K: not as StoreB left it", typ, o.name, k)
				}
				o.fill(r, F32, p, n/4*4)
				before = slices.Clone(made)
				kern.RestoreB(typ, p, k)
				if kern.hopper == nil {
					if kern.Narrow(typ) {
						clear(before[kern.NR*k*typ.Size():])
					}
					if !slices.Equal(made, before) {
						t.Fatalf("%v %s, %d elements of K: changed, though all bytes are elements", typ, o.name, k)
					}
					continue
				}
				twin := unsafe.Slice((*byte)(aligned(n)), n)
				copy(twin, before)
				depth := kern.Words(typ, k)
				parts := kern.hopper.panelAt(unsafe.Pointer(&twin[0]), sideB, depth)
				for i := range depth * kern.NR {
					*(*uint32)(unsafe.Add(parts.values, 4*i)) &= uint32(keepBits(typ))
				}
				kern.hopper.finishGo(parts, typ, sideB, depth)
				if !slices.Equal(made, twin) {
					t.Fatalf("%v %s, %d elements of K: not what the twin makes of the same bytes", typ, o.name, k)
				}
			}
		}
	}
	forKernels(t, restore)
	forArithmetic(t, Hopper, restore)
}

// TestRestoredMul multiplies panels of any bytes once they are restored: Mul has the bits of Ref, whose loops and
// shifts are bounded by the same header.
func TestRestoredMul(t *testing.T) {
	const maxK, maxM = 96, 3
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		maxPitch := k.NR*4 + 76
		s := strip{newGuarded(t, maxM*k.PanelA(maxK)), newGuarded(t, k.PanelB(maxK)), newGuarded(t, maxM*k.MR*maxPitch),
			newGuarded(t, maxM*k.MR*maxPitch)}
		r := rand.New(rand.NewPCG(33, 34))
		rounds := 20
		if raceEnabled || testing.Short() {
			rounds = 4
		}
		for typ := range hopperTypes {
			for i, oa := range hopperOperands {
				for round := range rounds {
					ob := hopperOperands[(i+round)%len(hopperOperands)]
					depth, m := (1+r.IntN(maxK/k.KStep(typ)))*k.KStep(typ), 1+r.IntN(maxM)
					pa, pb := s.a.last(m*k.PanelA(depth)), s.b.last(k.PanelB(depth))
					a := newHopperMatrix(r, typ, m*k.MR, depth, oa)
					k.PackA(typ, true)(pa, unsafe.Pointer(&a.bytes[0]), depth*typ.Size(), m*k.MR, depth)
					ob.fill(r, F32, pb, k.PanelB(depth)/4*4)
					k.RestoreB(typ, pb, depth)
					acc := hopperAccumulators[round%len(hopperAccumulators)]
					if err := hopperMulCase(k, k.Mul, k.Ref, s, r, acc.bits, depth, m, round%3, pa, pb); err != nil {
						t.Fatalf("%v %s, B %s of float32, C %s, k=%d m=%d: %v", typ, oa.name, ob.name, acc.name, depth,
							m, err)
					}
				}
			}
		}
	})
}

// panelsOf returns what PackB makes of a source.
func panelsOf(kern *Kernel, t Type, kContiguous bool, src unsafe.Pointer, stride, n, k int) []byte {
	panels := make([]byte, kern.PanelB(kern.Words(t, k))*((n+kern.NR-1)/kern.NR))
	kern.PackB(t, kContiguous)(unsafe.Pointer(unsafe.SliceData(panels)), src, stride, n, k)
	return panels
}
