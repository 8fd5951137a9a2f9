package asm

import (
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

// TestHopperRuleF16 compares MulF16 and its twin with the rule of internal/hopper, over all pairs of kinds of operands and
// all kinds of accumulators. It counts how often accumulators become subnormal and infinite.
func TestHopperRuleF16(t *testing.T) {
	forArithmetic(t, Hopper, func(t *testing.T, kern *Kernel) {
		subnormal, infinite := 0, 0
		for _, types := range [][2]Type{{F16, F16}, {E4M3, E4M3}, {E4M3, E5M2}, {E5M2, E4M3}, {E5M2, E5M2}} {
			spec := hopperSpec(types[0], types[1])
			spec.Acc, spec.Frac = hopper.F16, 10
			for i, oa := range hopperOperands {
				for j, ob := range hopperOperands {
					if (i+2*j)%5 != 0 || (raceEnabled || testing.Short()) && i%2 == 0 {
						continue
					}
					r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					for l, acc := range f16Accumulators {
						m, k := 1+r.IntN(2*kern.MR), (1+r.IntN(4))*spec.L
						a, b := newHopperMatrix(r, types[0], m, k, oa), newHopperMatrix(r, types[1], kern.NR, k, ob)
						switch {
						case acc.name == "subnormal": // with products that are, too
							scaleDown(a, 0x93)
							scaleDown(b, 0x93)
						case l%2 == 1: // within the range of f16, so that not all results are infinite
							scaleDown(a, 0xbf)
						}
						tiles := (m + kern.MR - 1) / kern.MR
						pa, pb := aligned(tiles*kern.PanelA(k)), aligned(kern.PanelB(k))
						kern.PackA(a.typ, true)(pa, unsafe.Pointer(&a.bytes[0]), k*a.typ.Size(), m, k)
						kern.PackB(b.typ, true)(pb, unsafe.Pointer(&b.bytes[0]), k*b.typ.Size(), kern.NR, k)
						n := tiles * kern.MR * kern.NR
						src, dst := aligned(4*n), aligned(4*n)
						c, got := unsafe.Slice((*uint32)(src), n), unsafe.Slice((*uint32)(dst), n)
						for e := range c {
							c[e] = widenF16(acc.bits(r))
						}
						from := src
						if l == 0 {
							from = nil
							clear(c)
						}
						var columns [][]hopper.Word
						for j := range kern.NR {
							columns = append(columns, b.words(j))
						}
						want := make([]uint16, m*kern.NR)
						for e := range want {
							x, y, u := a.words(e/kern.NR), columns[e%kern.NR], uint32(f16Narrow(c[e]))
							for k0 := 0; k0 < k; k0 += spec.L {
								u = spec.Step(u, x[k0:k0+spec.L], y[k0:k0+spec.L])
								switch {
								case u&0x7fff == 0x7c00:
									infinite++
								case u&0x7c00 == 0 && u != 0:
									subnormal++
								}
							}
							want[e] = uint16(u)
						}
						for name, mul := range map[string]KernelFunc{"MulF16": kern.MulF16, "RefF16": kern.RefF16} {
							mul(k, tiles, pa, pb, from, 4*kern.NR, dst, 4*kern.NR)
							for e, u := range want {
								if f16Narrow(got[e]) != u || u != 0x7fff && got[e] != widenF16(u) {
									t.Fatalf("%s %v: A %s, B %s, C %s, K %d: row %d column %d is %#08x, the rule says %#04x",
										name, types, oa.name, ob.name, acc.name, k, e/kern.NR, e%kern.NR, got[e], u)
								}
							}
						}
					}
				}
			}
		}
		if subnormal < 1000 || infinite < 1000 {
			t.Errorf("%d accumulators were subnormal, %d infinite: it tests too little", subnormal, infinite)
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
