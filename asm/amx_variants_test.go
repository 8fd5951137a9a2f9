//go:build linux && amd64 && !purego

package asm

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"
)

var amxTable = flag.Bool("amx-table", false, "time the candidates for the AMX kernel, in about half a minute")

// An amxVariant is a candidate: mr rows, and panels of B that are nr/32 panels of 32 columns, one after the other.
type amxVariant struct {
	name   string
	mr, nr int
	mul    KernelFunc
}

var amxVariants = []amxVariant{
	{"2x2", 32, 32, mulAMXSquare},
	{"2x2 A+2 B+2 C", 32, 32, mulAMXSquareA2},
	{"2x2 A+4 B+2 C", 32, 32, mulAMXSquareA4},
	{"2x2 A+2 nextB C", 32, 32, mulAMXSquareNext},
	{"2x2 A T1 B+2 C", 32, 32, mulAMXSquareT1},
	{"2x2 snake A+2 B+2 C", 32, 32, mulAMXSnake},
	{"1x4", 16, 64, mulAMXWide},
	{"1x4 A+2 B+2 C", 16, 64, mulAMXWideA2},
	{"1x4 A+8 B+2 C", 16, 64, mulAMXWideA8},
	{"1x4 A+4 nextB C", 16, 64, mulAMXWideNext},
	{"1x6 A+4 B+2 C", 16, 96, mulAMXWiderA4},
}

// TestAMXVariantsExact compares every candidate with the formula, on guarded memory.
func TestAMXVariantsExact(t *testing.T) {
	hardwareAMX(t)
	for _, v := range amxVariants {
		t.Run(strings.ReplaceAll(v.name, " ", "_"), func(t *testing.T) {
			const maxDepth, maxM = 80, 3
			r := rand.New(rand.NewPCG(20, 21))
			a, b := newGuarded(t, v.mr*maxDepth*maxM*4), newGuarded(t, v.nr*maxDepth*4)
			pitch := v.nr*4 + 64
			src, dst := newGuarded(t, maxM*v.mr*pitch), newGuarded(t, maxM*v.mr*pitch)
			for depth := 0; depth <= maxDepth; depth += amxStep {
				for m := 1; m <= maxM; m++ {
					for _, from := range []string{"zero", "dst", "src"} {
						fill := func(g guarded, n int) (unsafe.Pointer, []uint32) {
							p := g.last(n * 4)
							ws := unsafe.Slice((*uint32)(p), n)
							for i := range ws {
								ws[i] = r.Uint32()&0x80ff80ff | 0x3f003f00
							}
							return p, ws
						}
						pa, as := fill(a, v.mr*depth*m)
						pb, bs := fill(b, v.nr*depth)
						n := ((m*v.mr-1)*pitch + v.nr*4) / 4
						ps, start := fill(src, n)
						pd, got := fill(dst, n)
						switch from {
						case "zero":
							ps = nil
							start = make([]uint32, n)
						case "dst":
							ps, start = pd, append([]uint32(nil), got...)
						}
						v.mul(depth, m, pa, pb, ps, pitch, pd, pitch)
						for i := range m * v.mr {
							for j := range v.nr {
								acc := math.Float32frombits(start[i*pitch/4+j])
								for kd := 0; kd < depth; kd += amxStep {
									var y [amxStep]uint32
									for w := range y {
										y[w] = bs[j/32*32*depth+(kd+w)*32+j%32]
									}
									row := as[i/v.mr*v.mr*depth+(kd/amxStep*v.mr+i%v.mr)*amxStep:]
									acc = dotTile(acc, (*[amxStep]uint32)(row), &y)
								}
								if g := got[i*pitch/4+j]; g != math.Float32bits(acc) {
									t.Fatalf("depth %d, m %d, from %s: row %d column %d is %#x, want %#x", depth, m, from, i, j, g, math.Float32bits(acc))
								}
							}
						}
					}
				}
			}
		})
	}
}

// A shape says where the operands of a timing lie: rows of A, columns of B, and bytes from one row of C to the next.
type shape struct {
	name       string
	rows, cols int
	pitch      int
}

var amxShapes = []shape{
	{"L1: one panel of A, of B", 0, 0, 0},
	{"strip: 512 rows, one panel of B", 512, 0, 0},
	{"slab: 128 rows x 960 columns, C pitch 4 KB", 128, 960, 4096},
	{"block: 512 x 576, C pitch 2.3 KB", 512, 576, 576 * 4},
	{"matrix: 512 x 576, C pitch 8 KB", 512, 576, 8192},
}

const (
	amxRoomA = 512 * 1024 * 2
	amxRoomB = 960 * 1024 * 2
	amxRoomC = 512 * 8192
)

// A bencher times on one processor with memory of its own.
type bencher struct{ a, b, c unsafe.Pointer }

func newBencher(t testing.TB, r *rand.Rand) *bencher {
	const total = amxRoomA + amxRoomB + amxRoomC
	const huge = 2 << 20
	mem, err := unix.Mmap(-1, 0, total+huge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	p := unsafe.Pointer(unsafe.SliceData(mem))
	skip := int(-uintptr(p) & (huge - 1))
	unix.Madvise(mem[skip:skip+total&^(huge-1)], unix.MADV_HUGEPAGE)
	p = unsafe.Add(p, skip)
	words := unsafe.Slice((*uint32)(p), (amxRoomA+amxRoomB)/4)
	for i := range words {
		words[i] = r.Uint32()&0x80ff80ff | 0x3f003f00
	}
	clear(unsafe.Slice((*byte)(unsafe.Add(p, amxRoomA+amxRoomB)), amxRoomC))
	return &bencher{p, unsafe.Add(p, amxRoomA), unsafe.Add(p, amxRoomA+amxRoomB)}
}

// turn multiplies a shape once and returns the flops.
func (x *bencher) turn(v amxVariant, s shape, depth int) float64 {
	rows, cols, pitch := max(s.rows, v.mr)/v.mr*v.mr, max(s.cols, v.nr)/v.nr*v.nr, s.pitch
	if pitch == 0 {
		pitch = v.nr * 4
	}
	times := 1
	if s.rows == 0 {
		times = 32 // so short that reading the clock would count
	}
	for range times {
		for j := 0; j < cols; j += v.nr {
			c := unsafe.Add(x.c, j*4)
			v.mul(depth, rows/v.mr, x.a, unsafe.Add(x.b, j*depth*4), c, pitch, c, pitch)
		}
	}
	return float64(times) * float64(rows) * float64(cols) * float64(depth) * 4
}

// speed returns the flop/s of the best of three spells of turns.
func speed(spell time.Duration, turn func() float64) (best float64) {
	turn()
	for range 3 {
		start, flops := time.Now(), 0.0
		for time.Since(start) < spell {
			flops += turn()
		}
		best = max(best, flops/time.Since(start).Seconds())
	}
	return best
}

// everywhere returns the sum of the flop/s of all benchers, each on a processor of its own, over one spell.
func everywhere(cpus []int, benchers []*bencher, spell time.Duration, turn func(x *bencher) float64) float64 {
	var wg, ready sync.WaitGroup
	begin := make(chan struct{})
	rates := make([]float64, len(cpus))
	ready.Add(len(cpus))
	for i, c := range cpus {
		wg.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with its affinity
			var set unix.CPUSet
			set.Set(c)
			unix.SchedSetaffinity(0, &set)
			turn(benchers[i])
			ready.Done()
			<-begin
			start, flops := time.Now(), 0.0
			for time.Since(start) < spell {
				flops += turn(benchers[i])
			}
			rates[i] = flops / time.Since(start).Seconds()
		})
	}
	ready.Wait()
	close(begin)
	wg.Wait()
	total := 0.0
	for _, r := range rates {
		total += r
	}
	return total
}

// processors returns the processors this process may use, and one of each core.
func processors() (all, cores []int) {
	var set unix.CPUSet
	unix.SchedGetaffinity(0, &set)
	for c := range 1024 {
		if !set.IsSet(c) {
			continue
		}
		all = append(all, c)
		data, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", c))
		first := strings.FieldsFunc(string(data), func(r rune) bool { return r == ',' || r == '-' || r == '\n' })
		if n, e := strconv.Atoi(strings.Join(first[:min(1, len(first))], "")); err != nil || e != nil || n == c {
			cores = append(cores, c)
		}
	}
	return all, cores
}

// TestAMXTable prints GFLOP/s of every candidate.
func TestAMXTable(t *testing.T) {
	if !*amxTable {
		t.Skip("-amx-table is not given")
	}
	k := hardwareAMX(t)
	r := rand.New(rand.NewPCG(22, 23))
	all, cores := processors()
	benchers := make([]*bencher, len(all))
	for i := range benchers {
		benchers[i] = newBencher(t, r)
	}
	x := benchers[0]
	begun := time.Now()
	fmt.Printf("%s, family %d model %#x, caches L1d %d L2 %d L3 %d, %d processors, %d cores %v\n", cpuid.CPU.BrandName, cpuid.CPU.Family, cpuid.CPU.Model,
		cpuid.CPU.Cache.L1D, cpuid.CPU.Cache.L2, cpuid.CPU.Cache.L3, len(all), len(cores), cores)
	peak := func(*bencher) float64 { k.Peak(2000); return float64(2000 * k.PeakFlops) }
	const spell = 12 * time.Millisecond
	fmt.Printf("peak: 1 processor %.0f GFLOP/s", speed(spell, func() float64 { return peak(nil) })/1e9)
	fmt.Printf(", one of each core %.0f", everywhere(cores, benchers, 40*time.Millisecond, peak)/1e9)
	fmt.Printf(", all %.0f\n", everywhere(all, benchers, 40*time.Millisecond, peak)/1e9)

	depths := []int{64, 96, 128, 160, 192, 256, 384, 512} // words: half the elements of K
	head := func(title string, depths []int) {
		fmt.Printf("\n%s; GFLOP/s by depth in words\n%-22s", title, "")
		for _, d := range depths {
			fmt.Printf("%7d", d)
		}
		fmt.Println()
	}
	for _, s := range amxShapes {
		head("1 processor, "+s.name, depths)
		for _, v := range amxVariants {
			fmt.Printf("%-22s", v.name)
			for _, d := range depths {
				fmt.Printf("%7.0f", speed(spell/2, func() float64 { return x.turn(v, s, d) })/1e9)
			}
			fmt.Println()
		}
	}
	depths = []int{64, 128, 192, 256, 512}
	for _, where := range []struct {
		name string
		cpus []int
	}{{"one processor of each core", cores}, {"all processors", all}} {
		for _, s := range amxShapes[1:] {
			head(where.name+", "+s.name, depths)
			for _, v := range amxVariants {
				fmt.Printf("%-22s", v.name)
				for _, d := range depths {
					fmt.Printf("%7.0f", everywhere(where.cpus, benchers, 15*time.Millisecond, func(x *bencher) float64 { return x.turn(v, s, d) })/1e9)
				}
				fmt.Println()
			}
		}
	}
	fmt.Printf("\nThe table took %.0f s.\n", time.Since(begun).Seconds())
}
