package asm

import (
	"bytes"
	"fmt"
	"testing"
	"time"
	"unsafe"
)

// BenchmarkStream multiplies a few rows by a matrix of 4096 columns or, kContiguous, by its transpose, from L2, L3
// and DRAM, and reads as many bytes one after the other beside it. GB/s are those of B; %peak is of the kernel's
// peak.
func BenchmarkStream(b *testing.B) {
	buf := make([]byte, 128<<20)
	for i := 0; i < len(buf); i += 4096 {
		buf[i] = 1 // have the page
	}
	runnable(b, func(b *testing.B, kern *Kernel) {
		for _, typ := range []Type{BF16, F32, F64} {
			for _, kContiguous := range []bool{false, true} {
				f := kern.Stream(typ, kContiguous)
				if f == nil || kern.KPack == 1 && typ == BF16 {
					continue
				}
				for _, size := range []int{512 << 10, 16 << 20, 32 << 20, 128 << 20} {
					for _, m := range []int{1, 4, 8, 16} {
						if m > kern.StreamRows(typ, kContiguous) {
							continue
						}
						name := fmt.Sprintf("type=%v/kContiguous=%v/bytes=%d/m=%d", typ, kContiguous, size, m)
						b.Run(name, func(b *testing.B) { benchmarkStream(b, kern, f, typ, kContiguous, buf[:size], m) })
					}
				}
			}
		}
	})
}

func benchmarkStream(b *testing.B, kern *Kernel, f StreamFunc, typ Type, kContiguous bool, buf []byte, m int) {
	row := min(4096, len(buf)/512) // elements
	stride := row * typ.Size()
	k, n := len(buf)/stride, row
	if kContiguous {
		k, n = n, k
	}
	pa, pc := aligned(2*kern.PanelA(kern.Words(typ, k))), aligned(16*n*kern.Word)
	var peak float64
	for range 5 {
		peak = max(peak, peakFlops(kern))
	}
	// The best of all turns: on a shared machine the mean says more of the neighbours.
	multiplying, reading := time.Hour, time.Hour
	for b.Loop() {
		start := time.Now()
		f(k, m, n, pa, unsafe.Pointer(&buf[0]), stride, pc, n*kern.Word, false)
		multiplying = min(multiplying, time.Since(start))
		start = time.Now()
		if bytes.IndexByte(buf, 0xff) >= 0 {
			b.Fatal("found what is not there")
		}
		reading = min(reading, time.Since(start))
	}
	b.ReportMetric(float64(len(buf))/1e9/multiplying.Seconds(), "GB/s")
	b.ReportMetric(float64(len(buf))/1e9/reading.Seconds(), "readGB/s")
	b.ReportMetric(100*float64(2*m*k*n)/multiplying.Seconds()/peak, "%peak")
	b.ReportMetric(0, "ns/op")
}
