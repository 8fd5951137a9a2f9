package gemm_test

import (
	"flag"
	"hash/crc32"
	"math"
	"testing"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
)

var long = flag.Bool("long", false, "compare products of all sizes with cuBLAS, up to 8192x8192x8192 (minutes)")

// cublas returns what cuBLAS computed on an H200.
func cublas(t *testing.T) []golden.Product {
	t.Helper()
	var files [2][]byte
	for i, name := range []string{"cublas.json", "cublas_rows.bin.gz"} {
		var err error
		if files[i], err = golden.Read("../hopper/testdata/" + name); err != nil {
			t.Fatal(err)
		}
	}
	products, err := golden.ParseProducts(files[0], files[1])
	if err != nil {
		t.Fatal(err)
	}
	if len(products) != 50 {
		t.Fatalf("%d products, want 50", len(products))
	}
	return products
}

// TestCuBLAS checks that Hopper's arithmetic has cuBLAS's bits, for both types
// of C.
func TestCuBLAS(t *testing.T) {
	if raceEnabled {
		t.Skip("numbers, which every other build replays")
	}
	products := cublas(t)
	eachHopperKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, _ []gemm.Option) {
		limit, least := int64(1<<30), 34 // 1024x1024x1024
		switch {
		case testing.Short() || slowKernel(k.Name):
			limit, least = 1<<21, 12
		case k != bestHopper(t):
			limit, least = 1<<24, 16
		case *long:
			limit, least = math.MaxInt64, 50
		}
		ran := 0
		for i := range products {
			p := &products[i]
			if int64(p.M)*int64(p.N)*int64(p.K) > limit {
				continue
			}
			ran++
			for _, m := range p.Matmuls() {
				text, err := replay.Matmul(&m, p.Parts(), gemm.WithKernel(k.Name))
				if err != nil {
					t.Fatal(err)
				}
				if text != "" {
					t.Errorf("%s %dx%dx%d %s: %s", p.DType, p.M, p.N, p.K, p.Layout, text)
				}
			}
		}
		if ran < least {
			t.Errorf("%d products, want at least %d", ran, least)
		}
	})
}

// checksum returns the CRC-32 of little-endian elements.
func checksum[T gemm.Element](data []T) uint32 {
	size := int(unsafe.Sizeof(data[0]))
	bytes := make([]byte, 0, len(data)*size)
	for _, v := range data {
		for u, i := bitsOf(v), 0; i < size; i++ {
			bytes = append(bytes, byte(u>>(8*i)))
		}
	}
	return crc32.ChecksumIEEE(bytes)
}

// bestHopper returns the kernel that is chosen for bf16.
func bestHopper(t *testing.T) *asm.Kernel {
	t.Helper()
	k, err := asm.SelectArithmetic(asm.BF16, gemm.Hopper, "")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func eachHopperKernel(t *testing.T, typ asm.Type, f func(t *testing.T, k *asm.Kernel, opts []gemm.Option)) {
	eachKernel(t, typ, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.Arithmetic != gemm.Hopper {
			t.SkipNow()
		}
		f(t, k, opts)
	})
}

// TestHopperDefault checks that nothing but WithArithmetic asks for it.
func TestHopperDefault(t *testing.T) {
	// In float32 the small term survives a sum of the large ones that cancel; the
	// tensor core has cut it off.
	a := gemm.Matrix[float32]{Rows: 1, Cols: 3, Stride: 3, Data: []float32{0x1p26, -0x1p26, 0.5}}
	b := gemm.Matrix[float32]{Rows: 3, Cols: 1, Stride: 1, Data: []float32{1, 1, 1}}
	c := gemm.NewMatrix[float32](1, 1)
	hopper, err := gemm.New(gemm.WithArithmetic(gemm.Hopper))
	if err != nil {
		t.Fatal(err)
	}
	defer hopper.Close()
	for _, tc := range []struct {
		name string
		call func() error
		want float32
	}{
		{"default", func() error { return gemm.Multiply(c, a, b) }, 0.5},
		{"native", func() error { return gemm.Multiply(c, a, b, gemm.WithArithmetic(gemm.Native)) }, 0.5},
		{"hopper", func() error { return gemm.Multiply(c, a, b, gemm.WithArithmetic(gemm.Hopper)) }, 0},
		{"engine", func() error { return hopper.Multiply(c, a, b) }, 0},
		{"engine, native", func() error { return hopper.Multiply(c, a, b, gemm.WithArithmetic(gemm.Native)) }, 0.5},
		{"the last counts", func() error {
			return gemm.Multiply(c, a, b, gemm.WithArithmetic(gemm.Hopper), gemm.WithArithmetic(gemm.Native))
		}, 0.5},
	} {
		c.Data[0] = canary[float32]()
		if err := tc.call(); err != nil || c.Data[0] != tc.want {
			t.Errorf("%s: %v, %v, want %v", tc.name, c.Data[0], err, tc.want)
		}
	}
}

// TestArithmeticErrors passes what WithArithmetic, WithSplitK and WithPromotion refuse.
func TestArithmeticErrors(t *testing.T) {
	m, c := gemm.NewMatrix[float32](2, 2), gemm.NewMatrix[float32](2, 2)
	poison(c.Data)
	for _, tc := range []struct {
		opts []gemm.Option
		want []string
	}{
		{[]gemm.Option{gemm.WithArithmetic(2)}, []string{"WithArithmetic", "Arithmetic(2)", "native", "hopper"}},
		{[]gemm.Option{gemm.WithArithmetic(255)}, []string{"WithArithmetic", "Arithmetic(255)"}},
		{[]gemm.Option{gemm.WithArithmetic(gemm.Hopper), gemm.WithKernel("go")},
			[]string{`"go"`, "native", "hopper", "hopper-go"}},
		{[]gemm.Option{gemm.WithKernel("hopper-go")}, []string{`"hopper-go"`, "hopper", "native"}},
		{[]gemm.Option{gemm.WithSplitK(0)}, []string{"WithSplitK", "0", "1024"}},
		{[]gemm.Option{gemm.WithSplitK(-3)}, []string{"WithSplitK", "-3", "1024"}},
		{[]gemm.Option{gemm.WithSplitK(gemm.MaxSplitK + 1)}, []string{"WithSplitK", "1025", "1024"}},
		{[]gemm.Option{gemm.WithSplitK(math.MaxInt)}, []string{"WithSplitK", "1024"}},
		{[]gemm.Option{gemm.WithPromotion(48)}, []string{"WithPromotion", "48", "32"}},
		{[]gemm.Option{gemm.WithPromotion(-32)}, []string{"WithPromotion", "-32", "32"}},
		{[]gemm.Option{gemm.WithPromotion(math.MaxInt)}, []string{"WithPromotion", "32"}},
	} {
		checkError(t, gemm.Multiply(c, m, m, tc.opts...), tc.want...)
		untouched(t, c.Data)
		_, err := gemm.New(tc.opts...)
		checkError(t, err, tc.want...)
	}
}
