package asm

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestSweep compares calls of Sweep that follow each other, some of which pack the first piece of the next, with
// packing all columns and then multiplying them: any number of rows, strips with gaps, operands at the ends of their
// memory.
func TestSweep(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		if !kern.Sweeps(BF16) {
			t.Skip("does not sweep")
		}
		const maxM, maxPieces, maxStride, maxGap, words = 200, 4, 8192 + 6, 192, SweepK / 2
		tiles := func(m int) int { return (m + kern.MR - 1) / kern.MR }
		row, tile := kern.NR*4, kern.MR*kern.NR*4
		sizeC := maxPieces * SweepN / kern.NR * (tiles(maxM)*tile + maxGap)
		a, b, room := newGuarded(t, tiles(maxM)*kern.PanelA(words)), newGuarded(t, SweepK*maxStride),
			newGuarded(t, SweepRoom)
		acc, want := newGuarded(t, sizeC), newGuarded(t, sizeC)
		panel := newGuarded(t, kern.PanelB(words)).last(kern.PanelB(words))
		sweeps := map[string]func(s *Sweep){"Sweep": kern.Sweep, "twin": sweepGeneric(kern, kern.Ref)}
		r := rand.New(rand.NewPCG(61, 3))
		turns := 80
		if raceEnabled || testing.Short() || !assembled || kern.Name == "goamx" {
			turns = 20
		}
		for i := range turns {
			for _, g := range []guarded{a, b, acc} {
				fill := filler(kern, r, operands[i%len(operands)].word)
				fill(g.first(len(g.mem)), len(g.mem), kern.KPack)
			}
			m, stride := 1+r.IntN(maxM), []int{maxPieces * SweepN * 2, 4096, 4096 + 64, 8192, maxStride}[r.IntN(5)]
			strip := tiles(m)*tile + []int{0, 4, maxGap}[r.IntN(3)]
			span := (maxPieces*SweepN/kern.NR-1)*strip + tiles(m)*tile
			to := acc.last(span)
			var calls []Sweep
			for pieces := 1 + r.IntN(maxPieces); pieces > 0; pieces = r.IntN(maxPieces + 1) {
				n := pieces * SweepN
				calls = append(calls, Sweep{N: n, First: r.IntN(2) == 0, B: b.last((SweepK-1)*stride + n*2), Acc: to})
			}
			before := bytes.Clone(acc.mem)
			for _, c := range calls {
				for j := 0; j < c.N; j += kern.NR {
					at := unsafe.Add(c.Acc, j/kern.NR*strip)
					kern.PackB(BF16, false)(panel, unsafe.Add(c.B, j*2), stride, kern.NR, SweepK)
					src := at
					if c.First {
						src = nil
					}
					kern.Ref(words, tiles(m), a.last(tiles(m)*kern.PanelA(words)), panel, src, row, at, row)
				}
			}
			copy(want.mem, acc.mem)
			for name, sweep := range sweeps {
				copy(acc.mem, before)
				s := Sweep{A: a.last(tiles(m) * kern.PanelA(words)), M: m, Stride: stride, Strip: strip,
					Room: room.last(SweepRoom)}
				for k, c := range calls {
					s.N, s.First, s.B, s.Acc, s.Next = c.N, c.First, c.B, c.Acc, nil
					if k+1 < len(calls) && (i+k)%3 > 0 {
						s.Next = calls[k+1].B
					}
					asked := s
					sweep(&s)
					if asked.ready, asked.half = s.ready, s.half; s != asked {
						t.Fatalf("%s changed what was asked for: %+v, was %+v", name, s, asked)
					}
					if s.ready != (s.Next != nil) {
						t.Fatalf("%s: a piece is there: %v, want %v", name, s.ready, s.Next != nil)
					}
				}
				from := len(acc.mem) - span
				for at := from; at < len(acc.mem); at += strip { // rows of A that do not exist may stay as they are
					copy(acc.mem[at+m*row:at+tiles(m)*tile], want.mem[at+m*row:])
				}
				if at, got, want := mismatchC(kern, acc.mem, want.mem, from, span, strip, tiles(m)*tile); at >= 0 {
					t.Fatalf("%s, m=%d stride=%d strip=%d, %d calls: byte %d of strip %d is %#x, want %#x", name, m,
						stride, strip, len(calls), (at-from)%strip, (at-from)/strip, got, want)
				}
			}
		}
	})
}

// TestSweeps checks which kernels sweep.
func TestSweeps(t *testing.T) {
	for _, kern := range Kernels() {
		for typ := range Type(numTypes + 2) {
			want := typ == BF16 && (kern.Name == "goamx" || assembled && kern.Name == "amx")
			if got := kern.Sweeps(typ); got != want {
				t.Errorf("%s sweeps over %v: %v, want %v", kern.Name, typ, got, want)
			}
		}
	}
}
