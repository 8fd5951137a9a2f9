package asm

import (
	"fmt"
	"testing"
	"time"
	"unsafe"
)

// aligned returns n bytes that start on a cache line.
func aligned(n int) unsafe.Pointer {
	b := make([]uint64, n/8+16)
	p := unsafe.Pointer(&b[0])
	return unsafe.Add(p, -uintptr(p)&63)
}

// runnable calls f for every native kernel that runs here.
func runnable(b *testing.B, f func(b *testing.B, k *Kernel)) {
	for _, k := range Kernels() {
		if k.Arithmetic != Native {
			continue
		}
		b.Run("kernel="+k.Name, func(b *testing.B) {
			if err := k.Supported(); err != nil {
				b.Skip(err)
			}
			f(b, k)
		})
	}
}

// peakFlops measures the peak of k in flop/s, in about a millisecond.
func peakFlops(k *Kernel) float64 {
	n := 1000
	for {
		start := time.Now()
		k.Peak(n)
		if t := time.Since(start); t > 500*time.Microsecond {
			return float64(n*k.PeakFlops) / t.Seconds()
		}
		n *= 2
	}
}

// BenchmarkMul multiplies a block of A that lies in L2 by a panel of B.
func BenchmarkMul(b *testing.B) {
	const depth, rows = 256, 240
	runnable(b, func(b *testing.B, k *Kernel) {
		m := rows / k.MR
		pa, pb := aligned(m*k.PanelA(depth)), aligned(k.PanelB(depth))
		row := k.NR * k.Word
		pc := aligned(rows * row)
		var peak float64
		for range 5 {
			peak = max(peak, peakFlops(k))
		}
		n := 0
		for b.Loop() {
			k.Mul(depth, m, pa, pb, pc, row, pc, row)
			n++
		}
		flops := float64(n) * float64(2*m*k.MR*k.NR*depth*k.KPack) / b.Elapsed().Seconds()
		b.ReportMetric(flops/1e9, "GFLOP/s")
		b.ReportMetric(100*flops/peak, "%peak")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkPack packs a source that lies in L2 with its panels, and compares with what copy does with as many bytes.
// Bytes are those read and those written.
func BenchmarkPack(b *testing.B) {
	const k = 512
	runnable(b, func(b *testing.B, kern *Kernel) {
		for _, side := range []struct {
			name  string
			width int
			pack  func(Type, bool) PackFunc
		}{{"A", kern.MR, kern.PackA}, {"B", kern.NR, kern.PackB}} {
			for t := range Type(numTypes) {
				for _, kContiguous := range []bool{true, false} {
					pack := side.pack(t, kContiguous)
					if pack == nil {
						continue
					}
					r := 96
					stride, size := (r+32)*t.Size(), (r+32)*k*t.Size()
					if kContiguous {
						stride, size = (k+32)*t.Size(), (k+32)*r*t.Size()
					}
					b.Run(fmt.Sprintf("side=%s/type=%v/kContiguous=%v", side.name, t, kContiguous), func(b *testing.B) {
						bytes := r*k*t.Size() + r*k*kern.Word/kern.KPack
						dst, src := aligned(r*k*kern.Word), aligned(size)
						from, to := unsafe.Slice((*byte)(aligned(bytes/2)), bytes/2),
							unsafe.Slice((*byte)(aligned(bytes/2)), bytes/2)
						n := 0
						var packing, copying time.Duration
						for b.Loop() {
							// Turn by turn, because on a shared machine the speed of both changes from one moment to
							// the next.
							const turns = 10
							start := time.Now()
							for range turns {
								pack(dst, src, stride, r, k)
							}
							mid := time.Now()
							for range turns {
								copy(to, from)
							}
							packing, copying, n = packing+mid.Sub(start), copying+time.Since(mid), n+turns
						}
						b.ReportMetric(float64(n*bytes)/1e9/packing.Seconds(), "GB/s")
						b.ReportMetric(float64(n*(bytes/2*2))/1e9/copying.Seconds(), "copyGB/s")
						b.ReportMetric(copying.Seconds()/packing.Seconds(), "ofcopy")
						b.ReportMetric(0, "ns/op")
					})
				}
			}
		}
	})
}

// BenchmarkMulPack multiplies 32 rows by a panel of B and packs the next, from rows in L2 that lie so many bytes
// apart, and compares with multiplying alone and with packing alone.
func BenchmarkMulPack(b *testing.B) {
	const words, rows, panels = 128, 32, 16
	runnable(b, func(b *testing.B, kern *Kernel) {
		for t := range Type(numTypes) {
			for _, along := range []bool{false, true} {
				if kern.PackDepth(t, along) == 0 {
					continue
				}
				for _, stride := range []int{8192, 8320} {
					b.Run(fmt.Sprintf("type=%v/kContiguous=%v/stride=%d", t, along, stride), func(b *testing.B) {
						k, m, ldc := words*kern.KPack, rows/kern.MR, kern.NR*4
						a, c := aligned(rows*words*4), aligned(rows*kern.NR*4)
						source, next := max(k, (panels+2)*kern.NR)*stride, kern.NR*t.Size()
						if along {
							next = kern.NR * stride
						}
						from, panel := aligned(source),
							[2]unsafe.Pointer{aligned(kern.PanelB(words)), aligned(kern.PanelB(words))}
						// or all rows are the one page of zeros of the system
						clear(unsafe.Slice((*byte)(from), source))
						packer := kern.PackB(t, along)
						var packing, mul, both time.Duration
						for b.Loop() {
							// Turn by turn, because on a shared machine the speed of all changes from one moment to
							// the next.
							times := [4]time.Time{0: time.Now()}
							for j := range panels {
								packer(panel[j&1], unsafe.Add(from, j*next), stride, kern.NR, k)
							}
							times[1] = time.Now()
							for j := range panels {
								kern.Mul(words, m, a, panel[j&1], nil, 0, c, ldc)
							}
							times[2] = time.Now()
							for j := range panels {
								at := unsafe.Add(from, j*next)
								pack := Packing{B: at, Stride: stride, KContiguous: along, K: k, Panel: panel[(j+1)&1],
									Next: unsafe.Add(at, 2*next), Pitch: stride}
								kern.MulPack(t, words, m, a, panel[j&1], nil, 0, c, ldc, &pack)
							}
							times[3] = time.Now()
							packing, mul, both = packing+times[1].Sub(times[0]), mul+times[2].Sub(times[1]),
								both+times[3].Sub(times[2])
						}
						b.ReportMetric(packing.Seconds()/mul.Seconds(), "pack/mul")
						b.ReportMetric(both.Seconds()/mul.Seconds(), "both/mul")
						b.ReportMetric(0, "ns/op")
					})
				}
			}
		}
	})
}
