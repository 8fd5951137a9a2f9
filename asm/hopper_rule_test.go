package asm

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestHopperRule compares whole small products of every kernel with the rule of internal/hopper, over all pairs of
// kinds of operands and accumulators.
func TestHopperRule(t *testing.T) {
	forArithmetic(t, Hopper, func(t *testing.T, kern *Kernel) {
		for typ := range hopperTypes {
			for i, oa := range hopperOperands {
				for j, ob := range hopperOperands {
					if (raceEnabled || testing.Short()) && (i+2*j)%5 != 0 {
						continue
					}
					r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					for l, acc := range hopperAccumulators {
						m, n, k := 1+r.IntN(2*kern.MR), 1+r.IntN(kern.NR+5), 1+r.IntN(80)
						a, b := newHopperMatrix(r, typ, m, k, oa), newHopperMatrix(r, typ, n, k, ob)
						if typ.Size() == 1 && l%2 == 0 {
							b = newHopperMatrix(r, E4M3+E5M2-typ, n, k, ob) // the other of the two
						}
						var c []float32
						if l > 0 {
							for range m * n {
								c = append(c, math.Float32frombits(acc.bits(r)))
							}
						}
						start := c
						if l == 0 {
							start = make([]float32, m*n)
						}
						want := product(a, b, start)
						got := hopperProduct{a.typ, b.typ, m, n, k, true, unsafe.Pointer(&a.bytes[0]),
							unsafe.Pointer(&b.bytes[0]), 1 + r.IntN(k)}.run(kern, c)
						for e := range want {
							if math.Float32bits(got[e]) != math.Float32bits(want[e]) {
								t.Fatalf("%v: A %s, B %s, C %s, %d×%d×%d: row %d column %d is %#08x, "+
									"the rule says %#08x", typ, oa.name, ob.name, acc.name,
									m, n, k, e/n, e%n, math.Float32bits(got[e]), math.Float32bits(want[e]))
							}
						}
					}
				}
			}
		}
	})
}

// TestHopperZeros: the exponent of a zero does not count, however large what it is multiplied by, where the other
// products add up to subnormal numbers.
func TestHopperZeros(t *testing.T) {
	forArithmetic(t, Hopper, func(t *testing.T, kern *Kernel) {
		r := rand.New(rand.NewPCG(39, 40))
		for _, typ := range []Type{BF16, F32} {
			const m, k = 5, 64
			at := 0
			alternate := func(even, odd int) hopperElements {
				return hopperElements{bits: func(r *rand.Rand, t Type) uint32 {
					field := []int{even, odd}[at%2]
					if at++; field < 0 {
						return r.Uint32() & signBit(t)
					}
					return element(r, t, field)
				}}
			}
			for _, fields := range [][4]int{{-1, 2, 254, 107}, {254, 2, -1, 107}} {
				a := newHopperMatrix(r, typ, m, k, alternate(fields[0], fields[1]))
				b := newHopperMatrix(r, typ, kern.NR, k, alternate(fields[2], fields[3]))
				want := product(a, b, make([]float32, m*b.rows))
				got := hopperProduct{typ, typ, m, b.rows, k, true, unsafe.Pointer(&a.bytes[0]),
					unsafe.Pointer(&b.bytes[0]), k}.run(kern, nil)
				for e := range want {
					if math.Float32bits(got[e]) != math.Float32bits(want[e]) {
						t.Fatalf("%v, %v: element %d is %#08x, the rule says %#08x", typ, fields, e,
							math.Float32bits(got[e]), math.Float32bits(want[e]))
					}
				}
			}
		}
	})
}
