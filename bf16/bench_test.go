package bf16

import (
	"flag"
	"testing"
	"time"

	"github.com/klauspost/cpuid/v2"
	"github.com/x448/float16"
)

var bar = flag.Float64("bar", 0, "let BenchmarkBandwidth fail below this fraction of copy's bandwidth")

// BenchmarkBandwidth measures the conversions, on every path, on data that stays
// in the L2 cache, in bytes read plus bytes written. Beside each, by turns so that
// both see the same clock and the same neighbours, it runs Go's copy over as many
// bytes; the metric of-copy is the fraction of copy's bandwidth that the
// conversion reaches:
//
//	go test -bench=Bandwidth ./bf16
func BenchmarkBandwidth(b *testing.B) {
	n := elements()
	f, v, h := make([]float32, n), make([]BF16, n), make([]float16.Float16, n)
	for i := range f {
		f[i] = float32(i) - float32(n)/3
	}
	Encode(v, f)
	EncodeFloat16(h, f)
	from, to := make([]byte, 3*n), make([]byte, 3*n)
	copying := func() { copy(to, from) }

	measure := func(b *testing.B, run func()) (ofCopy float64) {
		b.SetBytes(int64(6 * n))
		for b.Loop() {
			run()
		}
		ofCopy = speed(run, copying)
		b.ReportMetric(ofCopy, "of-copy")
		return ofCopy
	}
	b.Run("copy", func(b *testing.B) { measure(b, copying) })

	best := true // the first path the processor can take is the one it takes
	for path, ok := range paths() {
		if !ok {
			continue
		}
		for _, c := range []struct {
			name string
			run  func()
		}{
			{"Encode", func() { Encode(v, f) }},
			{"Decode", func() { Decode(f, v) }},
			{"EncodeFloat16", func() { EncodeFloat16(h, f) }},
			{"DecodeFloat16", func() { DecodeFloat16(f, h) }},
		} {
			b.Run(c.name+"/"+path, func(b *testing.B) {
				if r := measure(b, c.run); best && r < *bar {
					b.Errorf("%.2f of copy's bandwidth, below %.2f", r, *bar)
				}
			})
		}
		best = false
	}
}

// BenchmarkShort measures the cost of a call on few elements.
func BenchmarkShort(b *testing.B) {
	var f [37]float32
	var v [37]BF16
	b.Run("Encode", func(b *testing.B) {
		for b.Loop() {
			Encode(v[:], f[:])
		}
	})
	b.Run("Decode", func(b *testing.B) {
		for b.Loop() {
			Decode(f[:], v[:])
		}
	})
}

// elements returns how many make the 6 bytes per element that a conversion reads
// and writes fill half of the L2 cache.
func elements() int {
	l2 := cpuid.CPU.Cache.L2
	if l2 <= 0 {
		l2 = 512 << 10
	}
	return l2 / 2 / 6 &^ 63
}

// speed returns how often run does its work in the time of ref. Both run by
// turns, some 100 µs each; the fastest turn of each counts.
func speed(run, ref func()) float64 {
	calls := 1
	turn := func(f func()) time.Duration {
		start := time.Now()
		for range calls {
			f()
		}
		return time.Since(start)
	}
	for turn(ref) < 100*time.Microsecond {
		calls *= 2
	}
	fastRun, fastRef := turn(run), turn(ref)
	for range 500 {
		fastRun = min(fastRun, turn(run))
		fastRef = min(fastRef, turn(ref))
	}
	return float64(fastRef) / float64(fastRun)
}
