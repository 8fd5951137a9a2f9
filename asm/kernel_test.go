package asm

import (
	"fmt"
	"math"
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

// step returns the kernel's multiply-add of two words, as a formula.
func step(k *Kernel) func(acc float32, a, b uint32) float32 {
	switch {
	case k.KPack == 2:
		return dotBF16
	case k.Name == "go":
		return func(acc float32, a, b uint32) float32 {
			return acc + float32(math.Float32frombits(a)*math.Float32frombits(b))
		}
	}
	return func(acc float32, a, b uint32) float32 {
		return fma32(math.Float32frombits(a), math.Float32frombits(b), acc)
	}
}

// chain returns what the kernel adds to acc for a row of A and a column of B, as a formula.
func chain(k *Kernel) func(acc float32, a, b []uint32) float32 {
	if k.step == amxStep {
		return func(acc float32, a, b []uint32) float32 {
			for kd := 0; kd < len(a); kd += amxStep {
				acc = dotTile(acc, (*[amxStep]uint32)(a[kd:]), (*[amxStep]uint32)(b[kd:]))
			}
			return acc
		}
	}
	f := step(k)
	return func(acc float32, a, b []uint32) float32 {
		for kd := range a {
			acc = f(acc, a[kd], b[kd])
		}
		return acc
	}
}

// wordA returns the place in a panel of A of word kd of row i.
func wordA(k *Kernel, kd, i int) int {
	if k.step == amxStep {
		return (kd/amxStep*k.MR+i)*amxStep + kd%amxStep
	}
	return kd*k.MR + i
}

// operands are the kinds of values that the conformance suite feeds to kernels: each makes a word of a panel.
var operands = []struct {
	name string
	word func(r *rand.Rand, kpack int) uint32
}{
	{"near1", func(r *rand.Rand, kpack int) uint32 {
		if kpack == 2 {
			return r.Uint32()&0x80ff80ff | 0x3f003f00
		}
		return r.Uint32()&0x80ffffff | 0x3f000000
	}},
	{"wide", func(r *rand.Rand, kpack int) uint32 {
		// Exponents of all sizes, so that sums cancel, vanish, overflow and go subnormal, but no operand is NaN or Inf.
		w := r.Uint32()
		for _, shift := range []int{23, 7} {
			if w>>shift&0xff == 0xff {
				w ^= 1 << shift
			}
		}
		return w
	}},
	{"special", func(r *rand.Rand, kpack int) uint32 {
		special := []uint32{0, 0x8000, 0x3f80, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080,
			0x7f7f, 0xff7f}
		pick := func() uint32 {
			if r.IntN(8) > 0 {
				return r.Uint32()&0x80ff | 0x3f00
			}
			return special[r.IntN(len(special))]
		}
		return pick()<<16 | pick()
	}},
	{"subnormal", func(r *rand.Rand, kpack int) uint32 {
		// Products of small numbers that fall around the smallest normal.
		if kpack == 2 {
			return r.Uint32()&0x81ff81ff | 0x1f001f00
		}
		return r.Uint32()&0x81ffffff | 0x1f000000
	}},
}

func sameBits(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// A strip is the operands of one call of a kernel, at the end of guarded memory.
type strip struct{ a, b, src, dst guarded }

func TestConformance(t *testing.T) {
	const maxK, maxM = 70, 7
	forKernels(t, func(t *testing.T, k *Kernel) {
		maxPitch := k.NR*4 + 76
		s := strip{newGuarded(t, k.MR*maxK*maxM*4), newGuarded(t, k.NR*maxK*4), newGuarded(t, maxM*k.MR*maxPitch),
			newGuarded(t, maxM*k.MR*maxPitch)}
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
							word := func() uint32 { return o.word(r, k.KPack) }
							conform(t, k, s, r, word, depth, m, source)
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
		maxPitch := k.NR*4 + 76
		s := strip{newGuarded(t, k.MR*maxK*maxM*4), newGuarded(t, k.NR*maxK*4), newGuarded(t, maxM*k.MR*maxPitch),
			newGuarded(t, maxM*k.MR*maxPitch)}
		r := rand.New(rand.NewPCG(5, 6))
		for _, depth := range []int{71, 96, 130, 193, 259} {
			for m := 1; m <= maxM; m++ {
				word := func() uint32 { return operands[0].word(r, k.KPack) }
				conform(t, k, s, r, word, roundUp(depth, k.KStep(BF16)), m, m-1)
				conform(t, k, s, r, word, roundUp(depth, k.KStep(BF16)), m, 2+m%(sources(k)-2))
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

// conform compares Mul and Ref with the formula, for one shape and one of the sources.
func conform(t *testing.T, k *Kernel, s strip, r *rand.Rand, word func() uint32, depth, m, source int) {
	t.Helper()
	rows := m * k.MR
	lds, ldd := pitches(r, k, source)
	span := func(pitch int) int { return (rows-1)*pitch + k.NR*4 }
	fill := func(p unsafe.Pointer, n int) []uint32 {
		ws := unsafe.Slice((*uint32)(p), n)
		for i := range ws {
			ws[i] = word()
		}
		return ws
	}
	as, bs := fill(s.a.last(rows*depth*4), rows*depth), fill(s.b.last(k.NR*depth*4), k.NR*depth)
	before := fill(s.dst.last(span(ldd)), span(ldd)/4)
	var src unsafe.Pointer
	start := make([]uint32, 0) // the tiles before the product, lds apart
	switch source {
	case 1, 3:
		src, start = s.dst.last(span(ldd)), append(start, before...)
	case 2, 4, 5:
		src = s.src.last(span(lds))
		start = fill(src, span(lds)/4)
	}
	before = append([]uint32(nil), before...)

	want := append([]uint32(nil), before...)
	f := chain(k)
	row, columns := make([]uint32, depth), make([]uint32, depth*k.NR)
	for i, w := range bs {
		columns[i%k.NR*depth+i/k.NR] = w
	}
	for i := range rows {
		panel := as[i/k.MR*k.MR*depth:]
		for kd := range row {
			row[kd] = panel[wordA(k, kd, i%k.MR)]
		}
		for j := range k.NR {
			var acc, total float32
			if source > 0 {
				acc = math.Float32frombits(start[i*lds/4+j])
			}
			switch {
			case source == 5:
				total = math.Float32frombits(before[i*ldd/4+j])
			case source > 2:
				acc, total = 0, acc
			}
			if acc = f(acc, row, columns[j*depth:][:depth]); source > 2 {
				acc += total
			}
			want[i*ldd/4+j] = math.Float32bits(acc)
		}
	}

	for _, impl := range []struct {
		name string
		mul  KernelFunc
	}{{"Mul", k.Mul}, {"Ref", k.Ref}} {
		dst := s.dst.last(span(ldd))
		got := unsafe.Slice((*uint32)(dst), span(ldd)/4)
		copy(got, before)
		impl.mul(depth, m, unsafe.Pointer(unsafe.SliceData(as)), unsafe.Pointer(unsafe.SliceData(bs)), src,
			signed(lds, source), dst, ldd)
		for i := range got {
			inTile := i*4%ldd < k.NR*4
			if got[i] != want[i] && !(inTile && sameBits(math.Float32frombits(got[i]), math.Float32frombits(want[i]))) {
				t.Errorf("%s k=%d m=%d source=%d lds=%d ldd=%d: row %d column %d is %#x, want %#x", impl.name, depth, m,
					source, lds, ldd, i*4/ldd, i*4%ldd/4, got[i], want[i])
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
		// one more, so that their ends are addresses in them
		a, b := make([]uint32, k.MR*depth+1), make([]uint32, k.NR*depth+1)
		for _, panel := range [][]uint32{a, b} {
			for i := range panel {
				panel[i] = operands[0].word(r, k.KPack)
			}
		}
		at := func(p []uint32, i int) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(unsafe.SliceData(p)), i*4) }
		whole, cut := make([]uint32, k.MR*k.NR), make([]uint32, k.MR*k.NR)
		k.Mul(depth, 1, at(a, 0), at(b, 0), nil, 0, at(whole, 0), k.NR*4)
		for at1 := 0; at1 <= depth; at1 += every {
			for _, at2 := range []int{at1, (at1 + depth) / 2 / every * every, depth} {
				k.Mul(at1, 1, at(a, 0), at(b, 0), nil, 0, at(cut, 0), k.NR*4)
				k.Mul(at2-at1, 1, at(a, at1*k.MR), at(b, at1*k.NR), at(cut, 0), k.NR*4, at(cut, 0), k.NR*4)
				k.Mul(depth-at2, 1, at(a, at2*k.MR), at(b, at2*k.NR), at(cut, 0), k.NR*4, at(cut, 0), k.NR*4)
				for i := range cut {
					if cut[i] != whole[i] {
						t.Fatalf("cut at %d and %d: element %d is %#x, uncut %#x", at1, at2, i, cut[i], whole[i])
					}
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
	pitch := func() int { return k.NR*4 + []int{0, 4, 12, 64, 76}[r.IntN(5)] }
	lds, ldd = pitch(), pitch()
	if source == 1 || source == 3 {
		lds = ldd
	}
	return lds, ldd
}

// fillPeriod is how many words a filler draws before it repeats them, as to draw one takes longer than to multiply
// it. It is prime, so that words differ which lie rows, tiles or pages apart.
const fillPeriod = 1021

// filler returns a function that fills n bytes with words of kpack elements each.
func filler(r *rand.Rand, word func(r *rand.Rand, kpack int) uint32) func(p unsafe.Pointer, n, kpack int) {
	return func(p unsafe.Pointer, n, kpack int) {
		words := unsafe.Slice((*uint32)(p), n/4)
		for i := range min(len(words), fillPeriod) {
			words[i] = word(r, kpack)
		}
		for i := fillPeriod; i < len(words); i *= 2 {
			copy(words[i:], words[:i])
		}
	}
}
