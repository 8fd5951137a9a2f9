package gemm_test

import (
	"testing"

	"example.com/leafhopper/gemm"
)

// FuzzMultiply compares products of any shape, layout, factors and cut, with B
// packed or K split or neither, with the definition in float64, on operands between
// guard pages.
func FuzzMultiply(f *testing.F) {
	f.Add(uint64(1), uint8(8), uint8(32), uint8(16),
		uint16(0), uint8(0), uint8(0), uint32(0), uint8(0))
	f.Add(uint64(2), uint8(33), uint8(65), uint8(70),
		uint16(0xffff), uint8(0x35), uint8(0x21), uint32(0x102010), uint8(4))
	f.Add(uint64(3), uint8(0), uint8(1), uint8(200),
		uint16(0x101), uint8(0x14), uint8(0xf7), uint32(0x010101), uint8(13))
	f.Add(uint64(4), uint8(90), uint8(7), uint8(0),
		uint16(0x2f2), uint8(0x52), uint8(0x13), uint32(0x40c003), uint8(8))
	f.Add(uint64(6), uint8(20), uint8(70), uint8(250),
		uint16(0x012), uint8(0), uint8(0x22), uint32(0x1000000), uint8(2))
	f.Add(uint64(7), uint8(70), uint8(40), uint8(255),
		uint16(0x003), uint8(2), uint8(0x32), uint32(0x6101010), uint8(1))
	f.Add(uint64(5), uint8(17), uint8(100), uint8(39),
		uint16(0x0d7), uint8(0x01), uint8(0x45), uint32(0x088018), uint8(30))
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k uint8, layout uint16, factors, crew uint8, tile uint32, kind uint8) {
		choices := []float32{1, 0, -1, 0.5, 3, -0.3}
		p := pairings[int(kind)%len(pairings)]
		names := kernels(p.in)
		name := names[int(kind)/len(pairings)%len(names)]
		if slowKernel(name) {
			m, n, k = m%24, n%48, k%40
		}
		s := size(int(m), int(n), int(k),
			gemm.WithKernel(name), gemm.WithDepth(int(crew>>4)), gemm.WithWorkers(int(crew&15)),
			gemm.WithTile(int(tile>>16&0xff), int(tile>>8&0xff), int(tile&0xff)))
		s.seed, s.naive = seed, true
		s.ta, s.tb, s.tc = layout&1 != 0, layout&2 != 0, layout&4 != 0
		s.atStart = layout&8 != 0
		s.ring = layout&16 != 0 && s.m*s.n*s.k > 0
		if layout&32 != 0 {
			s.value = peculiar
		}
		if s.packed = tile>>24&1 != 0; !s.packed {
			s.opts = append(s.opts, gemm.WithSplitK(1+int(tile>>25&7)))
		}
		s.padA, s.padB, s.padC = int(layout>>6&7), int(layout>>9&7), int(layout>>12)
		s.alpha, s.beta = choices[int(factors&15)%len(choices)], choices[(1+int(factors>>4))%len(choices)]
		p.verify(t, s)
	})
}
