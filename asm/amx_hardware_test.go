//go:build linux && amd64 && !purego

package asm

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hardwareAMX returns the kernel, or skips.
func hardwareAMX(t testing.TB) *Kernel {
	k, err := Select(BF16, "amx")
	if err != nil {
		t.Skip(err)
	}
	return k
}

// rivals are other ways in which a processor could add the products of a tile. Where the model is wrong, the test
// says which of them is right.
var rivals = []struct {
	name string
	dot  func(acc float32, a, b *[amxStep]uint32) float32
}{
	{"odd and even apart from 0, their sum, then acc", dotTile},
	{"the same without any flush of subnormals", func(acc float32, a, b *[amxStep]uint32) float32 {
		var s [2]float32
		for w := range a {
			for h := range s {
				s[h] = fma32(half(a[w], h), half(b[w], h), s[h])
			}
		}
		return acc + (s[0] + s[1])
	}},
	{"a chain from acc, odd before even (VDPBF16PS)", func(acc float32, a, b *[amxStep]uint32) float32 {
		for w := range a {
			acc = dotBF16(acc, a[w], b[w])
		}
		return acc
	}},
	{"a chain from acc, even before odd", func(acc float32, a, b *[amxStep]uint32) float32 {
		for w := range a {
			acc = dotBF16(acc, a[w]>>16|a[w]<<16, b[w]>>16|b[w]<<16)
		}
		return acc
	}},
	{"a chain from 0, odd before even, then acc", func(acc float32, a, b *[amxStep]uint32) float32 {
		var s float32
		for w := range a {
			s = dotBF16(s, a[w], b[w])
		}
		return sumFlush(float64(s), flushInput(acc))
	}},
	{"a chain from 0, even before odd, then acc", func(acc float32, a, b *[amxStep]uint32) float32 {
		var s float32
		for w := range a {
			s = dotBF16(s, a[w]>>16|a[w]<<16, b[w]>>16|b[w]<<16)
		}
		return sumFlush(float64(s), flushInput(acc))
	}},
	{"odd and even apart, even from acc", func(acc float32, a, b *[amxStep]uint32) float32 {
		return apart(acc, 0, a, b)
	}},
	{"odd and even apart, odd from acc", func(acc float32, a, b *[amxStep]uint32) float32 {
		return apart(0, acc, a, b)
	}},
	{"each pair rounded once, chain from acc", func(acc float32, a, b *[amxStep]uint32) float32 {
		acc = flushInput(acc)
		for w := range a {
			acc = sumFlush(float64(pair(a[w], b[w], 0)), acc)
		}
		return acc
	}},
	{"each pair with the sum rounded once, chain from acc", func(acc float32, a, b *[amxStep]uint32) float32 {
		acc = flushInput(acc)
		for w := range a {
			acc = pair(a[w], b[w], acc)
		}
		return acc
	}},
	{"each pair with the sum rounded once, chain from 0, then acc", func(acc float32, a, b *[amxStep]uint32) float32 {
		var s float32
		for w := range a {
			s = pair(a[w], b[w], s)
		}
		return sumFlush(float64(s), flushInput(acc))
	}},
	{"odd and even apart from 0, acc to even, then odd", func(acc float32, a, b *[amxStep]uint32) float32 {
		even, odd := sums(0, 0, a, b)
		return sumFlush(float64(sumFlush(float64(even), flushInput(acc))), odd)
	}},
	{"odd and even apart from 0, acc to odd, then even", func(acc float32, a, b *[amxStep]uint32) float32 {
		even, odd := sums(0, 0, a, b)
		return sumFlush(float64(sumFlush(float64(odd), flushInput(acc))), even)
	}},
	{"odd and even apart from the last word to the first", func(acc float32, a, b *[amxStep]uint32) float32 {
		var ra, rb [amxStep]uint32
		for w := range a {
			ra[w], rb[w] = a[amxStep-1-w], b[amxStep-1-w]
		}
		return dotTile(acc, &ra, &rb)
	}},
}

func half(w uint32, h int) float32 { return math.Float32frombits(w >> (16 * h) << 16) }

// sums returns the sums of the even and of the odd products.
func sums(even, odd float32, a, b *[amxStep]uint32) (float32, float32) {
	even, odd = flushInput(even), flushInput(odd)
	for w := range a {
		even = sumFlush(bf16Input(a[w]<<16)*bf16Input(b[w]<<16), even)
		odd = sumFlush(bf16Input(a[w]&0xffff0000)*bf16Input(b[w]&0xffff0000), odd)
	}
	return even, odd
}

func apart(even, odd float32, a, b *[amxStep]uint32) float32 {
	even, odd = sums(even, odd, a, b)
	return sumFlush(float64(even), odd)
}

// pair returns acc plus both products of a pair, rounded once.
func pair(a, b uint32, acc float32) float32 {
	p, q := bf16Input(a<<16)*bf16Input(b<<16), bf16Input(a&0xffff0000)*bf16Input(b&0xffff0000)
	s := p + q + float64(acc)
	if s-s != 0 || s == 0 {
		return float32(s)
	}
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(700).SetFloat64(x) }
	sum := exact(p)
	f, _ := sum.Add(sum, exact(q)).Add(sum, exact(float64(acc))).Float32()
	return flushInput(f)
}

// run returns what a kernel makes of the case.
func (c *tileCase) run(mul KernelFunc) (out [caseRows * amxNR]uint32) {
	mul(amxStep, caseRows/amxMR, unsafe.Pointer(&c.a), unsafe.Pointer(&c.b), unsafe.Pointer(&c.acc), amxNR*4,
		unsafe.Pointer(&out), amxNR*4)
	return out
}

// TestDotTileHardware compares the model with TDPBF16PS.
func TestDotTileHardware(t *testing.T) {
	k := hardwareAMX(t)
	tiles := 40
	if raceEnabled || testing.Short() {
		tiles = 4
	}
	r := rand.New(rand.NewPCG(16, 17))
	bad, elements := 0, 0
	var first string
	var failed []*tileCase
	for kind := range tileKinds {
		badHere := 0
		for range tiles {
			c := newTileCase(r, kind)
			got, want := c.run(k.Mul), c.run(mulTiles)
			wrong := false
			for i := range got {
				elements++
				if sameBits(math.Float32frombits(got[i]), math.Float32frombits(want[i])) {
					continue
				}
				badHere, wrong = badHere+1, true
				if first == "" {
					acc, a, b := c.element(i/amxNR, i%amxNR)
					first = fmt.Sprintf("kind %d, row %d, column %d: TDPBF16PS gives %#08x, the model %#08x, "+
						"of acc %#08x\na %#08x\nb %#08x",
						kind, i/amxNR, i%amxNR, got[i], want[i], math.Float32bits(acc), *a, *b)
				}
			}
			if wrong && len(failed) < 30 {
				failed = append(failed, c)
			}
		}
		bad += badHere
		t.Logf("kind %2d: %d of %d elements differ", kind, badHere, tiles*caseRows*amxNR)
	}
	if bad == 0 {
		return
	}
	var table strings.Builder
	for _, rival := range rivals {
		same, total := 0, 0
		for _, c := range failed {
			got := c.run(k.Mul)
			for i := 0; i < len(got); i += 7 {
				acc, a, b := c.element(i/amxNR, i%amxNR)
				if sameBits(rival.dot(acc, a, b), math.Float32frombits(got[i])) {
					same++
				}
				total++
			}
		}
		fmt.Fprintf(&table, "%7d of %d agree: %s\n", same, total, rival.name)
	}
	t.Errorf("%d of %d elements differ from the model; first: %s\nin tiles that differ, every seventh element:\n%s",
		bad, elements, first, &table)
}

var recordTile = flag.String("record-tdpbf16ps", "",
	"write to this file what this processor's TDPBF16PS gives, for testdata/tdpbf16ps.bin")

// TestRecordTiles writes the golden file where it is asked to.
func TestRecordTiles(t *testing.T) {
	if *recordTile == "" {
		t.Skip("-record-tdpbf16ps is not given")
	}
	k, err := Select(BF16, "amx")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	goldenTiles(func(kind int, c *tileCase) {
		result := c.run(k.Mul)
		for i := range 16 {
			binary.Write(&out, binary.LittleEndian, result[i*amxNR:][:16])
		}
	})
	if err := os.WriteFile(*recordTile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTilesSurvive multiplies on locked threads while signals of the kind that preempts goroutines rain on them and the
// garbage collector runs, and checks every result.
func TestTilesSurvive(t *testing.T) {
	k := hardwareAMX(t)
	const depth, m = 256, 8
	time1 := 400 * time.Millisecond
	if testing.Short() {
		time1 = 100 * time.Millisecond
	}
	r := rand.New(rand.NewPCG(18, 19))
	pa, pb := aligned(k.PanelA(depth)*m), aligned(k.PanelB(depth))
	for _, p := range [][]uint32{unsafe.Slice((*uint32)(pa), k.PanelA(depth)*m/4),
		unsafe.Slice((*uint32)(pb), k.PanelB(depth)/4)} {
		for i := range p {
			p[i] = r.Uint32()&0x80ff80ff | 0x3f003f00
		}
	}
	size := m * k.MR * k.NR
	want := make([]float32, size)
	k.Mul(depth, m, pa, pb, nil, 0, unsafe.Pointer(&want[0]), k.NR*4)

	workers := runtime.GOMAXPROCS(0)
	var tids sync.Map
	var calls, signals, wrong atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			tids.Store(unix.Gettid(), true)
			got := make([]float32, size)
			for {
				select {
				case <-stop:
					return
				default:
				}
				clear(got)
				k.Mul(depth, m, pa, pb, nil, 0, unsafe.Pointer(&got[0]), k.NR*4)
				calls.Add(1)
				for i := range got {
					if got[i] != want[i] {
						wrong.Add(1)
						break
					}
				}
			}
		})
	}
	wg.Go(func() {
		pid := unix.Getpid()
		for {
			select {
			case <-stop:
				return
			default:
			}
			tids.Range(func(tid, _ any) bool {
				unix.Tgkill(pid, tid.(int), unix.SIGURG)
				signals.Add(1)
				return true
			})
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	time.Sleep(time1)
	close(stop)
	wg.Wait()
	t.Logf("%d calls under %d signals", calls.Load(), signals.Load())
	if wrong.Load() > 0 || calls.Load() == 0 {
		t.Errorf("%d of %d calls gave wrong results", wrong.Load(), calls.Load())
	}
}
