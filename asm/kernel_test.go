package asm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// raceEnabled thins out the tests: under the race detector the plain-Go twins are many times slower.
const raceEnabled = race.Enabled

// requireEnv names a kernel that must run in the tests; see [forKernels].
const requireEnv = "LEAFHOPPER_REQUIRE_KERNEL"

// forKernels runs f for every native kernel, and says aloud which it could not run. With
// LEAFHOPPER_REQUIRE_KERNEL=name not being able to run that one is a failure.
func forKernels(t *testing.T, f func(t *testing.T, k *Kernel)) {
	forArithmetic(t, Native, f)
}

// forArithmetic is forKernels for the kernels of an arithmetic.
func forArithmetic(t *testing.T, arith Arithmetic, f func(t *testing.T, k *Kernel)) {
	required := os.Getenv(requireEnv)
	for _, k := range Kernels() {
		if k.Arithmetic != arith {
			if k.Name == required {
				required = ""
			}
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			err := k.Supported()
			if k.Name == required {
				required = ""
				if err != nil {
					t.Fatalf("%s requires it, but %v", requireEnv, err)
				}
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "asm: NOT TESTED: kernel %s: %v\n", k.Name, err)
				t.Skip(err)
			}
			f(t, k)
		})
	}
	if required != "" {
		t.Errorf("%s=%q names no kernel", requireEnv, required)
	}
}

// wordA returns the place in a panel of A of word kd of row i.
func wordA(k *Kernel, kd, i int) int {
	if k.step == amxStep {
		return (kd/amxStep*k.MR+i)*amxStep + kd%amxStep
	}
	return kd*k.MR + i
}

// A strip is the operands of one call of a kernel, at the end of guarded memory.
type strip struct{ a, b, src, dst guarded }

func newStrip(t *testing.T, k *Kernel, maxK, maxM int) strip {
	sizeC := maxM * k.MR * (k.NR*k.Word + 76)
	return strip{newGuarded(t, maxM*k.PanelA(maxK)), newGuarded(t, k.PanelB(maxK)), newGuarded(t, sizeC),
		newGuarded(t, sizeC)}
}

func TestConformance(t *testing.T) {
	const maxK, maxM = 70, 7
	forKernels(t, func(t *testing.T, k *Kernel) {
		s := newStrip(t, k, maxK, maxM)
		for _, o := range operands {
			t.Run(o.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				for depth := range maxK + 1 {
					if depth%k.KStep(BF16) != 0 {
						continue
					}
					for _, m := range []int{1, 2, 3, maxM} {
						if (raceEnabled || testing.Short()) && (depth/k.KStep(BF16)%9 > 2 || m == maxM) {
							continue
						}
						if m == maxM && depth > 16 && depth%5 > 0 && k.KStep(BF16) == 1 {
							continue // long strips of all remainders of a turn, but not of all depths
						}
						for source := range sources(k) {
							conformAny(t, k, s, r, o.word, depth, m, source)
						}
						if t.Failed() {
							t.FailNow()
						}
					}
				}
			})
		}
	})
}

// TestDeep is TestConformance for panels so deep that most turns of the loop over K do nothing but multiply.
func TestDeep(t *testing.T) {
	const maxK, maxM = 272, 3
	forKernels(t, func(t *testing.T, k *Kernel) {
		s := newStrip(t, k, maxK, maxM)
		r := rand.New(rand.NewPCG(5, 6))
		for _, depth := range []int{71, 96, 130, 193, 259} {
			for m := 1; m <= maxM; m++ {
				conformAny(t, k, s, r, operands[0].word, roundUp(depth, k.KStep(BF16)), m, m-1)
				conformAny(t, k, s, r, operands[0].word, roundUp(depth, k.KStep(BF16)), m, 2+m%(sources(k)-2))
			}
		}
	})
}

// sources returns how many things a kernel may do with src: 0 there is none, 1 start from dst, 2 from another place,
// 3 add dst, 4 another place, 5 start from another place and add dst.
func sources(k *Kernel) int {
	if k.Onto() {
		return 6
	}
	return 5
}

// signed returns lds as the kernel takes it.
func signed(lds, source int) int {
	switch {
	case source == 5:
		return EndChain(lds)
	case source > 2:
		return EndBlock(lds)
	}
	return lds
}

// conformAny is conform for words of any size.
func conformAny(
	t *testing.T, k *Kernel, s strip, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32, depth, m, source int,
) {
	t.Helper()
	if k.Sum == F64 {
		conform(t, k, float64s(k), s, r, func() uint64 { return double(r, word) }, depth, m, source)
	} else {
		conform(t, k, float32s(k), s, r, func() uint32 { return word(r, k.KPack) }, depth, m, source)
	}
}

// conform compares Mul and Ref with the formula, for one shape and one of the sources.
func conform[W wordBits](
	t *testing.T, k *Kernel, f formula[W], s strip, r *rand.Rand, word func() W, depth, m, source int,
) {
	t.Helper()
	rows, size := m*k.MR, k.Word
	lds, ldd := pitches(r, k, source)
	span := func(pitch int) int { return (rows-1)*pitch + k.NR*size }
	fill := func(p unsafe.Pointer, n int) []W {
		ws := unsafe.Slice((*W)(p), n)
		for i := range ws {
			ws[i] = word()
		}
		return ws
	}
	as, bs := fill(s.a.last(rows*depth*size), rows*depth), fill(s.b.last(k.NR*depth*size), k.NR*depth)
	before := fill(s.dst.last(span(ldd)), span(ldd)/size)
	var src unsafe.Pointer
	start := make([]W, 0) // the tiles before the product, lds apart
	switch source {
	case 1, 3:
		src, start = s.dst.last(span(ldd)), append(start, before...)
	case 2, 4, 5:
		src = s.src.last(span(lds))
		start = fill(src, span(lds)/size)
	}
	before = append([]W(nil), before...)

	want := append([]W(nil), before...)
	row, columns := make([]W, depth), make([]W, depth*k.NR)
	for i, w := range bs {
		columns[i%k.NR*depth+i/k.NR] = w
	}
	for i := range rows {
		panel := as[i/k.MR*k.MR*depth:]
		for kd := range row {
			row[kd] = panel[wordA(k, kd, i%k.MR)]
		}
		for j := range k.NR {
			var acc, total W
			if source > 0 {
				acc = start[i*lds/size+j]
			}
			switch {
			case source == 5:
				total = before[i*ldd/size+j]
			case source > 2:
				acc, total = 0, acc
			}
			if acc = f.chain(acc, row, columns[j*depth:][:depth]); source > 2 {
				acc = f.plus(acc, total)
			}
			want[i*ldd/size+j] = acc
		}
	}

	for _, impl := range []struct {
		name string
		mul  KernelFunc
	}{{"Mul", k.Mul}, {"Ref", k.Ref}} {
		dst := s.dst.last(span(ldd))
		got := unsafe.Slice((*W)(dst), span(ldd)/size)
		copy(got, before)
		impl.mul(depth, m, unsafe.Pointer(unsafe.SliceData(as)), unsafe.Pointer(unsafe.SliceData(bs)), src,
			signed(lds, source), dst, ldd)
		for i := range got {
			inTile := i*size%ldd < k.NR*size
			if got[i] != want[i] && !(inTile && f.same(got[i], want[i])) {
				t.Errorf("%s k=%d m=%d source=%d lds=%d ldd=%d: row %d column %d is %#x, want %#x", impl.name, depth, m,
					source, lds, ldd, i*size/ldd, i*size%ldd/size, got[i], want[i])
				break
			}
		}
	}
}

// TestCutK checks that the bits of a tile do not depend on where K is cut.
func TestCutK(t *testing.T) {
	forKernels(t, func(t *testing.T, k *Kernel) {
		every := k.KStep(BF16)
		depth := (70 + every - 1) / every * every
		r := rand.New(rand.NewPCG(3, 4))
		a, b := aligned(k.PanelA(depth)), aligned(k.PanelB(depth))
		fill := filler(k, r, operands[0].word)
		fill(a, k.PanelA(depth), k.KPack)
		fill(b, k.PanelB(depth), k.KPack)
		size, row := k.MR*k.NR*k.Word, k.NR*k.Word
		whole, cut := aligned(size), aligned(size)
		k.Mul(depth, 1, a, b, nil, 0, whole, row)
		for at1 := 0; at1 <= depth; at1 += every {
			for _, at2 := range []int{at1, (at1 + depth) / 2 / every * every, depth} {
				k.Mul(at1, 1, a, b, nil, 0, cut, row)
				k.Mul(at2-at1, 1, unsafe.Add(a, k.PanelA(at1)), unsafe.Add(b, k.PanelB(at1)), cut, row, cut, row)
				k.Mul(depth-at2, 1, unsafe.Add(a, k.PanelA(at2)), unsafe.Add(b, k.PanelB(at2)), cut, row, cut, row)
				got, want := unsafe.Slice((*byte)(cut), size), unsafe.Slice((*byte)(whole), size)
				if i := mismatch(got, want); i >= 0 {
					t.Fatalf("cut at %d and %d: byte %d is %#x, uncut %#x", at1, at2, i, got[i], want[i])
				}
			}
		}
	})
}

// TestPeak checks that the peak loops end and count whole multiply-adds, and logs their speed.
func TestPeak(t *testing.T) {
	forKernels(t, func(t *testing.T, k *Kernel) {
		k.Peak(0)
		done := make(chan bool)
		go func() { k.Peak(10); close(done) }() // peaks are measured on several cores at once
		k.Peak(10)
		<-done
		if k.PeakFlops <= 0 || k.PeakFlops%(2*k.KPack) != 0 {
			t.Errorf("PeakFlops = %d, want a multiple of %d", k.PeakFlops, 2*k.KPack)
		}
		if !raceEnabled {
			t.Logf("%s: %.1f GFLOP/s", k.Name, peakFlops(k)/1e9)
		}
	})
}

// pitches returns distances in bytes between the rows of src and of dst: one if source says that they are the same.
func pitches(r *rand.Rand, k *Kernel, source int) (lds, ldd int) {
	pitch := func() int { return k.NR*k.Word + []int{0, 4, 12, 64, 76}[r.IntN(5)]/k.Word*k.Word }
	lds, ldd = pitch(), pitch()
	if source == 1 || source == 3 {
		lds = ldd
	}
	return lds, ldd
}
