package gemm_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/hopper"
)

// TestFP8 compares products of 8-bit elements with the chain of wgmma steps
// that defines them: types alike and mixed, on the caller, the ring and the stream,
// packed and not.
func TestFP8(t *testing.T) {
	for _, s := range [][3]int{{5, 9, 40}, {70, 130, 200}, {3, 1100, 300}, {200, 260, 600}} {
		if (raceEnabled || testing.Short()) && s[0]*s[1]*s[2] > 1<<20 {
			continue
		}
		m, n, k := s[0], s[1], s[2]
		testFP8[fp8.E4M3, fp8.E4M3](t, m, n, k, hopper.E4M3, hopper.E4M3)
		testFP8[fp8.E5M2, fp8.E5M2](t, m, n, k, hopper.E5M2, hopper.E5M2)
		testFP8[fp8.E4M3, fp8.E5M2](t, m, n, k, hopper.E4M3, hopper.E5M2)
		testFP8[fp8.E5M2, fp8.E4M3](t, m, n, k, hopper.E5M2, hopper.E4M3)
	}
}

func testFP8[A, B fp8.E4M3 | fp8.E5M2](t *testing.T, m, n, k int, formatA, formatB hopper.Format) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(m), uint64(formatA)))
	a, b := gemm.NewMatrix[A](m, k), gemm.NewMatrix[B](n, k)
	for i := range a.Data {
		a.Data[i] = A(r.UintN(256))&0x80 | A(0x28+r.UintN(16)) // about 1, no NaN
	}
	for i := range b.Data {
		b.Data[i] = B(r.UintN(256))&0x80 | B(0x28+r.UintN(16))
	}
	a.Data[k/2], b.Data[k/3] = 1, 2 // subnormals

	spec := hopper.Spec{A: formatA, B: formatB, Acc: hopper.F32, L: 32, F: 13, Frac: 13}
	want := gemm.NewMatrix[float32](m, n)
	row, col := make([]hopper.Word, 32), make([]hopper.Word, 32)
	for i := range m {
		for j := range n {
			acc := uint32(0)
			for k0 := 0; k0 < k; k0 += 32 {
				for l := range 32 {
					row[l], col[l] = formatA.Decode(0), formatB.Decode(0)
					if k0+l < k {
						row[l] = formatA.Decode(uint32(a.Data[i*k+k0+l]))
						col[l] = formatB.Decode(uint32(b.Data[j*k+k0+l]))
					}
				}
				acc = spec.Step(acc, row, col)
			}
			want.Set(i, j, math.Float32frombits(acc))
		}
	}

	e, err := gemm.New(gemm.WithArithmetic(gemm.Hopper))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	got := gemm.NewMatrix[float32](m, n)
	check := func(how string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		for i := range m {
			for j := range n {
				if g, w := math.Float32bits(got.At(i, j)), math.Float32bits(want.At(i, j)); g != w {
					t.Fatalf("%dx%dx%d, %s: (%d, %d) is %#x, want %#x", m, n, k, how, i, j, g, w)
				}
			}
		}
		clear(got.Data)
	}
	check("plain", e.Multiply(got, a, b.T()))
	check("ring", e.Multiply(got, a, b.T(), gemm.WithDepth(2), gemm.WithTile(64, 64, 64), gemm.WithWorkers(3)))
	check("portable", e.Multiply(got, a, b.T(), gemm.WithKernel("hopper-go")))
	p, err := gemm.Pack(b.T(), gemm.WithArithmetic(gemm.Hopper))
	if err != nil {
		t.Fatal(err)
	}
	check("packed", e.Multiply(got, a, p))
	narrow := gemm.NewMatrix[bf16.BF16](m, n)
	if err := e.Multiply(narrow, a, b.T()); err != nil || narrow.At(m-1, n-1) != bf16.FromFloat32(want.At(m-1, n-1)) {
		t.Errorf("bf16 C: %v, want %v rounded; error %v", narrow.At(m-1, n-1), want.At(m-1, n-1), err)
	}
}

func TestFP8Errors(t *testing.T) {
	a, b, c := gemm.NewMatrix[fp8.E4M3](2, 2), gemm.NewMatrix[float32](2, 2), gemm.NewMatrix[float32](2, 2)
	e, err := gemm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, x := range []struct {
		err  error
		want string
	}{
		{e.Multiply(a, c, c), "C holds e4m3"},
		{e.Multiply(c, a, b, gemm.WithArithmetic(gemm.Hopper)),
			"A holds e4m3 but B holds f32: one of 8 bits and one of more are multiplied in native arithmetic only"},
		{e.Multiply(c, b, pack(t, a, gemm.WithKernel("gobf16"))),
			`packed for other operands: asm: kernel "gobf16" does not multiply f32; choices: `},
	} {
		if x.err == nil || !strings.HasPrefix(x.err.Error(), "gemm: ") || !strings.Contains(x.err.Error(), x.want) {
			t.Errorf("error %v, want one that says %q", x.err, x.want)
		}
	}
}
