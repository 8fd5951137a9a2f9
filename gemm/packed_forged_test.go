package gemm_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

// packable calls f for each kernel that multiplies elements of T here, with the options that choose it and an
// engine that has them.
func packable[T gemm.Element](t testing.TB, f func(k *asm.Kernel, e *gemm.Engine, opts []gemm.Option)) {
	t.Helper()
	for _, k := range asm.Kernels() {
		opts := []gemm.Option{gemm.WithArithmetic(k.Arithmetic), gemm.WithKernel(k.Name)}
		if _, err := gemm.Pack(gemm.Matrix[T]{}, opts...); err != nil {
			continue // another type, or cannot run
		}
		e, err := gemm.New(opts...)
		if err != nil {
			t.Fatal(err)
		}
		f(k, e, opts)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestForged changes whatever a panel says of its elements, and repairs the checksum.
func TestForged(t *testing.T) {
	t.Run("bf16", testForged[bf16.BF16])
	t.Run("f16", testForged[float16.Float16])
	t.Run("f32", testForged[float32])
	t.Run("f64", testForged[float64])
	t.Run("e4m3", testForged[fp8.E4M3])
	t.Run("e5m2", testForged[fp8.E5M2])
}

func testForged[T gemm.Element](t *testing.T) {
	const rows, stage, header = 70, 64, 64
	packable[T](t, func(k *asm.Kernel, e *gemm.Engine, opts []gemm.Option) {
		if k.Arithmetic != gemm.Hopper {
			return
		}
		b := gemm.NewMatrix[T](rows, k.NR+1)
		for i := range b.Data {
			b.Data[i] = from[T](float32(1 + i%7))
		}
		good := marshal(t, pack(t, b, opts...))
		panel := k.StoredB(typeOf[T](), stage)
		forge := func(what string, want string, edit func(d []byte)) {
			t.Helper()
			d := slices.Clone(good)
			edit(d)
			var q gemm.Packed[T]
			err := q.UnmarshalBinary(seal(d))
			if bytes.Equal(d, good) {
				return
			}
			checkError(t, err, "UnmarshalBinary", "forged", want)
			if q.Kernel() != "" {
				t.Errorf("%s: %s: a Packed along with %v", k.Name, what, err)
			}
		}
		for i, at := range []int{atPanels, atPanels + panel, atPanels + 2*panel} { // the third is of the second stage
			where := fmt.Sprintf("row %d and column %d ", i/2*stage, i%2*k.NR)
			for word := 0; word < header; word += 4 {
				for _, v := range []uint32{
					0, 1, 3, 7, 33, 1 << 20, math.MaxInt32, math.MinInt32 & math.MaxUint32, math.MaxUint32,
				} {
					forge(fmt.Sprintf("word %d = %#x", word/4, v), where, func(d []byte) {
						binary.LittleEndian.PutUint32(d[at+word:], v)
					})
				}
			}
		}
		depth := k.Words(typeOf[T](), stage)
		values := atPanels + header
		exponents := values + depth*k.NR*4
		r := rand.New(rand.NewPCG(1, uint64(k.NR)))
		for range 50 {
			at, bit := r.IntN(depth*k.NR), byte(1<<r.IntN(8))
			forge("exponent", "row 0 and column 0 ", func(d []byte) { d[exponents+at] ^= bit })
			forge("bits that no element has", "row 0 and column 0 ", func(d []byte) { d[values+4*at] ^= bit })
		}
		// The elements are free as far as all else fits: with their signs the product changes its own.
		d, want := slices.Clone(good), gemm.NewMatrix[float32](3, k.NR+1)
		a := gemm.NewMatrix[T](3, rows)
		for i := range a.Data {
			a.Data[i] = from[T](float32(1 + i%5))
		}
		var p gemm.Packed[T]
		for i := range depth * k.NR {
			d[values+4*i+3] ^= 0x80
			d[values+panel+4*i+3] ^= 0x80
		}
		for at := atPanels + 2*panel; at < len(d)-4; at += (len(d) - 4 - atPanels - 2*panel) / 2 {
			for i := range k.Words(typeOf[T](), rows-stage) * k.NR {
				d[at+header+4*i+3] ^= 0x80
			}
		}
		if err := p.UnmarshalBinary(seal(d)); err != nil {
			t.Fatal(err)
		}
		got := gemm.NewMatrix[float32](3, k.NR+1)
		if err := e.Multiply(got, a, &p); err != nil {
			t.Fatal(err)
		}
		if err := e.Multiply(want, a, b); err != nil {
			t.Fatal(err)
		}
		for i, w := range want.Data {
			if got.Data[i] != -w || w == 0 {
				t.Fatalf("%s: element %d is %v, want %v with the other sign, and not 0", k.Name, i, got.Data[i], w)
			}
		}
	})
}

// FuzzUnmarshalPacked feeds bytes to UnmarshalBinary: as they are, or with a right checksum, or with what panels say
// of their elements right as well. What it takes must marshal to the same bytes, and multiply where an access
// beside the panels is a fault.
func FuzzUnmarshalPacked(f *testing.F) {
	seedPacked[bf16.BF16](f, 0)
	seedPacked[float16.Float16](f, 1)
	seedPacked[float32](f, 2)
	seedPacked[fp8.E4M3](f, 3)
	seedPacked[fp8.E5M2](f, 4)
	f.Add([]byte("LHPACKED"), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, typ, repair uint8) {
		switch typ % 5 {
		case 0:
			fuzzPacked[bf16.BF16](t, data, repair)
		case 1:
			fuzzPacked[float16.Float16](t, data, repair)
		case 2:
			fuzzPacked[float32](t, data, repair)
		case 3:
			fuzzPacked[fp8.E4M3](t, data, repair)
		case 4:
			fuzzPacked[fp8.E5M2](t, data, repair)
		}
	})
}

// seedPacked adds small matrices of every kernel here.
func seedPacked[T gemm.Element](f *testing.F, typ uint8) {
	packable[T](f, func(k *asm.Kernel, _ *gemm.Engine, opts []gemm.Option) {
		for _, d := range [][2]int{{0, 0}, {1, 1}, {3, 33}, {65, 2}, {0, 9}, {9, 0}} {
			data := marshal(f, pack(f, gemm.NewMatrix[T](d[0], d[1]), opts...))
			for repair := range uint8(3) {
				f.Add(data, typ, repair)
			}
		}
	})
}

func fuzzPacked[T gemm.Element](t *testing.T, data []byte, repair uint8) {
	if repair %= 3; repair > 0 && len(data) >= 4 {
		data = seal(slices.Clone(data))
		if repair > 1 {
			gemm.RestorePacked[T](data)
			seal(data)
		}
	}
	var p gemm.Packed[T]
	if err := p.UnmarshalBinary(data); err != nil {
		if p.Kernel() != "" {
			t.Errorf("a Packed for %s along with %v", p.Kernel(), err)
		}
		return
	}
	if p.Size() > len(data) {
		t.Fatalf("%d bytes of panels from %d", p.Size(), len(data))
	}
	if again := marshal(t, &p); !bytes.Equal(again, data) {
		t.Errorf("%x\nmarshals to %x", data, again)
	}
	if p.Rows() > 1<<10 || p.Cols() > 1<<10 {
		return
	}
	memory, free := fenced[byte](t, p.Size(), true)
	defer free()
	gemm.MovePacked(&p, memory)
	k := asm.Named(p.Kernel())
	e, err := gemm.New(gemm.WithArithmetic(k.Arithmetic), gemm.WithKernel(k.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, rows := range []int{1, k.MR + 1} {
		a := gemm.NewMatrix[T](rows, p.Rows())
		for i := range a.Data {
			a.Data[i] = from[T](float32(i%7 - 3))
		}
		c := gemm.NewMatrix[float32](rows, p.Cols())
		if err := e.Multiply(c, a, &p); err != nil {
			t.Error(err)
		}
		if len(a.Data) > 0 && len(c.Data) > 0 {
			if _, err := gemm.OnRing(e, c, a, &p); err != nil {
				t.Error(err)
			}
		}
	}
}

// BenchmarkUnmarshalBinary reads a Packed of every kernel, and its checksum alone.
func BenchmarkUnmarshalBinary(b *testing.B) {
	packable[bf16.BF16](b, func(k *asm.Kernel, _ *gemm.Engine, opts []gemm.Option) {
		p := pack(b, gemm.NewMatrix[bf16.BF16](1024, 1024), opts...)
		data := marshal(b, p)
		b.Run(k.Name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := p.UnmarshalBinary(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("checksum", func(b *testing.B) {
		data := make([]byte, 2<<20)
		b.SetBytes(int64(len(data)))
		table := crc32.MakeTable(crc32.Castagnoli)
		for b.Loop() {
			crc32.Checksum(data, table)
		}
	})
}
