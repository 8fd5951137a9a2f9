package asm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/internal/hopper"
)

// f16Accumulators are kinds of accumulators in f16 to start from.
var f16Accumulators = []struct {
	name string
	bits func(r *rand.Rand) uint16
}{
	{"zero", func(r *rand.Rand) uint16 { return uint16(r.Uint32()) & 0x8000 }},
	{"near1", func(r *rand.Rand) uint16 { return uint16(r.Uint32())&0x83ff | 0x3c00 }},
	{"subnormal", func(r *rand.Rand) uint16 { return uint16(r.Uint32()) & 0x83ff }},
	{"finite", func(r *rand.Rand) uint16 { return uint16(r.Uint32()) & 0xbfff }},
	{"large", func(r *rand.Rand) uint16 { return uint16(r.Uint32())&0x83ff | 0x7800 }},
	{"any", func(r *rand.Rand) uint16 { return uint16(r.Uint32()) }},
	{"rarely special", func(r *rand.Rand) uint16 {
		if r.IntN(100) == 0 {
			return []uint16{0x7c00, 0xfc00, 0x7e00, 1, 0x8001}[r.IntN(5)]
		}
		return uint16(r.Uint32())&0x83ff | 0x3c00
	}},
}

// f16Narrow returns the f16 of a float32 that is one.
func f16Narrow(u uint32) uint16 { return float16.Fromfloat32(math.Float32frombits(u)).Bits() }

// f16Results counts accumulators, by step, that are subnormal or infinite.
type f16Results struct{ subnormal, infinite int }

// check compares MulF16 of k and its twin with the rule of internal/hopper, for A of a few rows and B of a whole panel.
func (res *f16Results) check(k *Kernel, a, b hopperMatrix, zero bool, acc func() uint16) error {
	spec := hopperSpec(a.typ, b.typ)
	spec.Acc, spec.Frac = hopper.F16, 10
	tiles := (a.rows + k.MR - 1) / k.MR
	pa, pb := aligned(tiles*k.PanelA(a.k)), aligned(k.PanelB(a.k))
	k.PackA(a.typ, true)(pa, unsafe.Pointer(&a.bytes[0]), a.k*a.typ.Size(), a.rows, a.k)
	k.PackB(b.typ, true)(pb, unsafe.Pointer(&b.bytes[0]), a.k*b.typ.Size(), k.NR, a.k)
	n := tiles * k.MR * k.NR
	src, dst := aligned(4*n), aligned(4*n)
	c, got := unsafe.Slice((*uint32)(src), n), unsafe.Slice((*uint32)(dst), n)
	if zero {
		src = nil
		clear(c)
	}
	for e := 0; e < n && !zero; e++ {
		c[e] = widenF16(acc())
	}
	var columns [][]hopper.Word
	for j := range k.NR {
		columns = append(columns, b.words(j))
	}
	want := make([]uint16, a.rows*k.NR)
	for e := range want {
		x, y, u := a.words(e/k.NR), columns[e%k.NR], uint32(f16Narrow(c[e]))
		for k0 := 0; k0 < a.k; k0 += spec.L {
			u = spec.Step(u, x[k0:k0+spec.L], y[k0:k0+spec.L])
			switch {
			case u&0x7fff == 0x7c00:
				res.infinite++
			case u&0x7c00 == 0 && u != 0:
				res.subnormal++
			}
		}
		want[e] = uint16(u)
	}
	for name, mul := range map[string]KernelFunc{"MulF16": k.MulF16, "RefF16": k.RefF16} {
		mul(a.k, tiles, pa, pb, src, 4*k.NR, dst, 4*k.NR)
		for e, u := range want {
			if f16Narrow(got[e]) != u || u != 0x7fff && got[e] != widenF16(u) {
				return fmt.Errorf("%s: row %d column %d is %#08x, the rule says %#04x", name, e/k.NR, e%k.NR, got[e], u)
			}
		}
	}
	return nil
}

// TestHopperRuleF16 compares sums in f16 with the rule, over many pairs of kinds of operands and all kinds of
// accumulators.
func TestHopperRuleF16(t *testing.T) {
	forArithmetic(t, Hopper, func(t *testing.T, kern *Kernel) {
		var results f16Results
		for _, types := range [][2]Type{{F16, F16}, {E4M3, E4M3}, {E4M3, E5M2}, {E5M2, E4M3}, {E5M2, E5M2}} {
			for i, oa := range hopperOperands {
				for j, ob := range hopperOperands {
					if (i+2*j)%5 != 0 || (raceEnabled || testing.Short()) && i%2 == 0 {
						continue
					}
					r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					for l, acc := range f16Accumulators {
						m, k := 1+r.IntN(2*kern.MR), (1+r.IntN(4))*kern.KStep(types[0])
						a, b := newHopperMatrix(r, types[0], m, k, oa), newHopperMatrix(r, types[1], kern.NR, k, ob)
						switch {
						case acc.name == "subnormal": // with products that are, too
							scaleDown(a, 0x93)
							scaleDown(b, 0x93)
						case l%2 == 1: // within the range of f16, so that not all results are infinite
							scaleDown(a, 0xbf)
						}
						if err := results.check(kern, a, b, l == 0, func() uint16 { return acc.bits(r) }); err != nil {
							t.Fatalf("%v: A %s, B %s, C %s, K %d: %v", types, oa.name, ob.name, acc.name, k, err)
						}
					}
				}
			}
		}
		if results.subnormal < 1000 || results.infinite < 1000 {
			t.Errorf("%+v: it tests too little", results)
		}
	})
}

// TestHopperTiesF16: what lies far below the middle between two numbers, or above it, decides how a sum is rounded.
func TestHopperTiesF16(t *testing.T) {
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		r := rand.New(rand.NewPCG(35, 36))
		a, b := hopperMatrix{F16, k.MR, 16, make([]byte, 32*k.MR)}, hopperMatrix{F16, k.NR, 16, make([]byte, 32*k.NR)}
		set := func(m hopperMatrix, i, kk int, v float32) {
			binary.LittleEndian.PutUint16(m.bytes[2*(i*m.k+kk):], float16.Fromfloat32(v).Bits())
		}
		for i := range k.MR {
			set(a, i, 0, 1)
			set(a, i, 7, 0x1p-12)
		}
		for j := range k.NR {
			set(b, j, 0, []float32{0x1p-11, -0x1p-11}[r.IntN(2)])
			set(b, j, 7, []float32{0x1p-12, -0x1p-12, 0, 0x1p-13, 0x1p-14}[r.IntN(5)])
		}
		var results f16Results
		if err := results.check(k, a, b, false, func() uint16 {
			return uint16(r.Uint32())&0x80ff | 0x3c00
		}); err != nil {
			t.Error(err)
		}
	})
}

// scaleDown lowers the exponents of elements to those that keep has bits for.
func scaleDown(m hopperMatrix, keep byte) {
	size := m.typ.Size()
	for i := size - 1; i < len(m.bytes); i += size {
		m.bytes[i] &= keep
	}
}
