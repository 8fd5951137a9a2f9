package gemm_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// BenchmarkDots computes products of few elements and a deep K on one worker and on two, in turns with a loop in Go
// of four accumulators and with as many readers of the same bytes. It reports the medians of the ratios within a turn:
// how many times as fast as the loop, or as the readers, the product is.
func BenchmarkDots(b *testing.B) {
	for _, d := range [][2]int{{1, 1}, {1, 2}, {2, 2}, {3, 1}} {
		for _, k := range []int{1e5, 3e5, 1e6, 4e6} {
			for layout, name := range []string{"NN", "NT", "TN", "TT"} {
				s := size(d[0], d[1], k)
				s.ta, s.tb = layout&2 != 0, layout&1 != 0
				s.value = func(r *rand.Rand) float32 { return float32(r.IntN(2)*2 - 1) }
				name = fmt.Sprintf("/%dx%dx%d/%s", s.m, s.n, k, name)
				b.Run("f32"+name, func(b *testing.B) { benchmarkDots[float32](b, s, loopDot[float32]) })
				b.Run("f64"+name, func(b *testing.B) { benchmarkDots[float64](b, s, loopDot[float64]) })
				b.Run("bf16"+name, func(b *testing.B) { benchmarkDots[float32](b, s, loopDotBF16) })
				b.Run("f16"+name, func(b *testing.B) { benchmarkDots[float32](b, s, loopDotF16) })
			}
		}
	}
}

func benchmarkDots[O gemm.Output, I gemm.Element](
	b *testing.B, s spec, dot func(x []I, stepX int, y []I, stepY, n int) O,
) {
	o := build[O, I](b, s)
	defer o.free()
	multiply := func(workers int) func() {
		return func() {
			if err := gemm.Multiply(o.c, o.a, o.b, gemm.WithWorkers(workers)); err != nil {
				b.Fatal(err)
			}
		}
	}
	read := func(readers int) func() {
		return func() {
			var others sync.WaitGroup
			for i := range readers - 1 {
				others.Go(func() { readPart(o, i, readers) })
			}
			readPart(o, readers-1, readers)
			others.Wait()
		}
	}
	ways := []func(){multiply(1), multiply(2), read(1), read(2)}
	ways = append(ways, func() {
		stepA, nextA, stepB, nextB := 1, s.k, s.n, 1
		if s.ta {
			stepA, nextA = s.m, 1
		}
		if s.tb {
			stepB, nextB = 1, s.k
		}
		for i := range s.m {
			for j := range s.n {
				o.c.Set(i, j, dot(o.a.Data[i*nextA:], stepA, o.b.Data[j*nextB:], stepB, s.k))
			}
		}
	})
	ratios := map[string][]float64{}
	for turn := 0; b.Loop(); turn++ {
		took := make([]float64, len(ways))
		for i := range ways {
			i = (i + turn) % len(ways)
			ways[i]() // the last of another way may be under way yet
			start, n := time.Now(), 0
			for ; n == 0 || time.Since(start) < time.Millisecond; n++ {
				ways[i]()
			}
			took[i] = float64(time.Since(start)) / float64(n)
		}
		for w := range 2 {
			for i, of := range took[2:] {
				if i == 1-w {
					continue // other readers than workers
				}
				unit := fmt.Sprintf("%s/%d", []string{"read", "read", "loop"}[i], w+1)
				ratios[unit] = append(ratios[unit], of/took[w])
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for unit, r := range ratios {
		slices.Sort(r)
		b.ReportMetric(r[len(r)/2], unit)
	}
}

// noByte is in no element of BenchmarkDots, which are 1 and -1.
const noByte = 0x55

// readPart reads a part of A and of B.
func readPart[O gemm.Output, I gemm.Element](o operands[O, I], i, parts int) {
	for _, data := range [][]I{o.a.Data, o.b.Data} {
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*int(unsafe.Sizeof(data[0])))
		bytes.IndexByte(mem[len(mem)*i/parts:len(mem)*(i+1)/parts], noByte)
	}
}

// loopDot is the loop.
func loopDot[F float32 | float64](x []F, stepX int, y []F, stepY, n int) F {
	var s0, s1, s2, s3 F
	if stepX == 1 && stepY == 1 {
		x, y := x[:n], y[:n]
		for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
			s0 += x[0] * y[0]
			s1 += x[1] * y[1]
			s2 += x[2] * y[2]
			s3 += x[3] * y[3]
		}
		return s0 + s1 + s2 + s3
	}
	for k := 0; k+4 <= n; k += 4 {
		s0 += x[k*stepX] * y[k*stepY]
		s1 += x[(k+1)*stepX] * y[(k+1)*stepY]
		s2 += x[(k+2)*stepX] * y[(k+2)*stepY]
		s3 += x[(k+3)*stepX] * y[(k+3)*stepY]
	}
	return s0 + s1 + s2 + s3
}

// loopDotBF16 is the same of bfloat16, which it widens, as a program would write it: with a type parameter the two
// types of 16 bits would share code that calls their conversions by a table.
func loopDotBF16(x []bf16.BF16, stepX int, y []bf16.BF16, stepY, n int) float32 {
	var s0, s1, s2, s3 float32
	if stepX == 1 && stepY == 1 {
		x, y := x[:n], y[:n]
		for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
			s0 += x[0].Float32() * y[0].Float32()
			s1 += x[1].Float32() * y[1].Float32()
			s2 += x[2].Float32() * y[2].Float32()
			s3 += x[3].Float32() * y[3].Float32()
		}
		return s0 + s1 + s2 + s3
	}
	for k := 0; k+4 <= n; k += 4 {
		s0 += x[k*stepX].Float32() * y[k*stepY].Float32()
		s1 += x[(k+1)*stepX].Float32() * y[(k+1)*stepY].Float32()
		s2 += x[(k+2)*stepX].Float32() * y[(k+2)*stepY].Float32()
		s3 += x[(k+3)*stepX].Float32() * y[(k+3)*stepY].Float32()
	}
	return s0 + s1 + s2 + s3
}

// loopDotF16 is the same of half precision, which it widens.
func loopDotF16(x []float16.Float16, stepX int, y []float16.Float16, stepY, n int) float32 {
	var s0, s1, s2, s3 float32
	if stepX == 1 && stepY == 1 {
		x, y := x[:n], y[:n]
		for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
			s0 += x[0].Float32() * y[0].Float32()
			s1 += x[1].Float32() * y[1].Float32()
			s2 += x[2].Float32() * y[2].Float32()
			s3 += x[3].Float32() * y[3].Float32()
		}
		return s0 + s1 + s2 + s3
	}
	for k := 0; k+4 <= n; k += 4 {
		s0 += x[k*stepX].Float32() * y[k*stepY].Float32()
		s1 += x[(k+1)*stepX].Float32() * y[(k+1)*stepY].Float32()
		s2 += x[(k+2)*stepX].Float32() * y[(k+2)*stepY].Float32()
		s3 += x[(k+3)*stepX].Float32() * y[(k+3)*stepY].Float32()
	}
	return s0 + s1 + s2 + s3
}
