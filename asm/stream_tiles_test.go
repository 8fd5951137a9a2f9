package asm

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// forTiles runs f for every stream kernel of AMX.
func forTiles(t *testing.T, f func(t *testing.T, kern *Kernel, kContiguous bool)) {
	forStreams(t, func(t *testing.T, kern *Kernel, _ Type, kContiguous bool) {
		if kern.step == amxStep {
			f(t, kern, kContiguous)
		}
	})
}

// flushed makes words whose products are mostly subnormal, of either sign: they become zeros, and the sign of a zero
// says what came last. As float32 many of the words are -0, or subnormals that become it, so that the sign reaches
// the result.
func flushed(r *rand.Rand, _ int) uint32 {
	halves := []uint32{0, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x1f80, 0x9f80, 0x2000, 0xa000, 0x1fc0, 0x9fc0,
		0x8000, 0x8001}
	return halves[r.IntN(len(halves))]<<16 | halves[r.IntN(len(halves))]
}

// TestStreamTilesFlush has products that are subnormal in every length of the last tile.
func TestStreamTilesFlush(t *testing.T) {
	forTiles(t, func(t *testing.T, kern *Kernel, kContiguous bool) {
		const maxK, maxN = 72, 70
		mem := newStreamMemory(t, kern, BF16, maxK, maxN)
		r := rand.New(rand.NewPCG(16, 17))
		for k := 1; k <= maxK; k++ {
			for _, m := range []int{1, 2, 4, 5, 8} {
				for _, add := range []bool{false, true} {
					if raceEnabled && (k+m)%5 != 0 {
						continue
					}
					c := streamCase{kern, BF16, kContiguous, k, m, 1 + r.IntN(maxN), add, false}
					if err := c.check(mem, r, flushed, kern.Mul); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

// TestStreamTilesDot compares single tiles with dotTile for the operands that the model was checked with.
func TestStreamTilesDot(t *testing.T) {
	forTiles(t, func(t *testing.T, kern *Kernel, kContiguous bool) {
		r := rand.New(rand.NewPCG(18, 19))
		for i := range 10 * tileKinds {
			c := newTileCase(r, i%tileKinds)
			var b [2 * amxStep * amxNR]uint16 // as it lies before it is packed
			// bytes between rows, elements from one of K to the next and between columns
			stride, along, across := amxNR*2, amxNR, 1
			if kContiguous {
				stride, along, across = amxStep*4, 1, 2*amxStep
			}
			for j, w := range c.b {
				at := j/amxNR*2*along + j%amxNR*across
				b[at], b[at+along] = uint16(w), uint16(w>>16)
			}
			var out [amxMR * amxNR]uint32
			rows := kern.StreamRows(BF16, kContiguous)
			for i := 0; i < amxMR; i += rows {
				kern.Stream(BF16, kContiguous)(2*amxStep, rows, amxNR, unsafe.Add(unsafe.Pointer(&c.a), i*amxStep*4),
					unsafe.Pointer(&b), stride, unsafe.Add(unsafe.Pointer(&out), i*amxNR*4), amxNR*4, false)
			}
			for e, got := range out {
				_, row, column := c.element(e/amxNR, e%amxNR)
				if want := dotTile(0, row, column); !sameBits(math.Float32frombits(got), want) {
					t.Fatalf("kind %d: dotTile(0, %#x, %#x) = %x, streamed %#x", i%tileKinds, *row, *column, want, got)
				}
			}
		}
	})
}

// multiplied returns the bits of x·y as the processor multiplies; inlined, the compiler would.
//
//go:noinline
func multiplied(x, y float32) uint32 { return math.Float32bits(x * y) }

// TestStreamTilesControl checks that the caller's subnormals are not flushed after a call.
func TestStreamTilesControl(t *testing.T) {
	forTiles(t, func(t *testing.T, kern *Kernel, kContiguous bool) {
		const k, n = 40, 33
		a, b, c := aligned(kern.PanelA(kern.Words(BF16, k))), aligned(2*kern.PanelB(kern.Words(BF16, k))),
			aligned(kern.MR*n*4)
		flushes := func(m int) {
			if in, out := multiplied(0x3p-149, 1<<20), multiplied(0x1p-100, 0x1p-40); in != 3<<20 || out != 1<<9 {
				t.Fatalf("after %d rows subnormals are flushed: %#x, %#x", m, in, out)
			}
		}
		for m := 1; m <= kern.StreamRows(BF16, kContiguous); m++ {
			words := kern.Words(BF16, k)
			kern.Stream(BF16, kContiguous)(k, m, n, a, b, max(k, n)*2, c, n*4, false)
			flushes(m)
			kern.StreamPanels(BF16)(words, m, n, a, b, kern.PanelB(words), c, n*4, false)
			flushes(m)
		}
	})
}

// TestStreamTilesSlots has one and two rows, whose columns are in two slots, by whole tiles of less and of more than
// two blocks of sums.
func TestStreamTilesSlots(t *testing.T) {
	forTiles(t, func(t *testing.T, kern *Kernel, kContiguous bool) {
		const maxK, n = 1120, 70
		mem := newStreamMemory(t, kern, BF16, maxK, n)
		r := rand.New(rand.NewPCG(20, 21))
		for _, k := range []int{512, 544, 896, 1024, maxK} {
			for m := 1; m <= 2; m++ {
				c := streamCase{kern, BF16, kContiguous, k, m, n, m == 2, false}
				if err := c.check(mem, r, operands[0].word, kern.Mul); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
