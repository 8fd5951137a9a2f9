package gemm_test

import (
	"fmt"
	"math"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
)

// TestCuBLASTF32AndFP8 checks the products that cuBLAS computed on an H100 in tf32 and, with scales and bias, in fp8. Without fast accumulation its sums begin anew every 128 of K, which WithPromotion does.
func TestCuBLASTF32AndFP8(t *testing.T) {
	var files [2][]byte
	for i, name := range []string{"cublas_fp8_tf32.json", "cublas_fp8_tf32_rows.bin.gz"} {
		var err error
		if files[i], err = golden.Read("../hopper/testdata/" + name); err != nil {
			t.Fatal(err)
		}
	}
	products, err := golden.ParseScaledProducts(files[0], files[1])
	if err != nil {
		t.Fatal(err)
	}
	eachHopperKernel(t, asm.F32, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		limit, want := int64(1<<30), 195 // 1024x1024x1024
		switch {
		case testing.Short() || raceEnabled || slowKernel(k.Name):
			limit, want = 1<<21, 72
		case k != bestHopper(t):
			limit, want = 1<<24, 96
		case *long:
			limit, want = math.MaxInt64, len(products)
		}
		e, err := gemm.New(opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ran := 0
		for i := range products {
			p := &products[i]
			if int64(p.M)*int64(p.N)*int64(p.K) > limit {
				continue
			}
			ran++
			name := fmt.Sprintf("%s*%s/%dx%dx%d/%s/%s/scales=%s/bias=%v/promoted=%v",
				p.A, p.B, p.M, p.N, p.K, p.Layout, p.Out, p.Scales, p.Bias, p.Promoted)
			t.Run(name, func(t *testing.T) {
				switch p.A + p.B {
				case "tf32tf32":
					checkScaled[float32, float32](t, e, p, golden.TF32Element, golden.TF32Element)
				case "e4m3e4m3":
					checkScaled[fp8.E4M3, fp8.E4M3](t, e, p, e4m3, e4m3)
				case "e4m3e5m2":
					checkScaled[fp8.E4M3, fp8.E5M2](t, e, p, e4m3, e5m2)
				case "e5m2e4m3":
					checkScaled[fp8.E5M2, fp8.E4M3](t, e, p, e5m2, e4m3)
				default:
					t.Fatal("a pair of types that no record had")
				}
			})
		}
		if ran != want {
			t.Errorf("%d products, want %d", ran, want)
		}
	})
}

func e4m3(i, seed uint32) fp8.E4M3 { return fp8.E4M3FromFloat32(golden.Element(i, seed)) }
func e5m2(i, seed uint32) fp8.E5M2 { return fp8.E5M2FromFloat32(golden.Element(i, seed)) }

func checkScaled[A, B gemm.Element](
	t *testing.T, e *gemm.Engine, p *golden.ScaledProduct, fromA func(i, seed uint32) A, fromB func(i, seed uint32) B,
) {
	a, b := gemm.NewMatrix[A](p.M, p.K), gemm.NewMatrix[B](p.K, p.N)
	if p.Layout == "NT" {
		b = gemm.NewMatrix[B](p.N, p.K).T()
	}
	for i := range a.Data {
		a.Data[i] = fromA(uint32(i), golden.SeedA)
	}
	for i := range b.Data {
		b.Data[i] = fromB(uint32(i), golden.SeedB)
	}
	if p.Out == "bf16" {
		checkScaledC[bf16.BF16](t, e, p, a, b)
	} else {
		checkScaledC[float32](t, e, p, a, b)
	}
}

func checkScaledC[C gemm.Output](t *testing.T, e *gemm.Engine, p *golden.ScaledProduct, a, b gemm.AnyMatrix) {
	c := gemm.NewMatrix[C](p.M, p.N)
	scaleA, scaleB, bias := p.ScalesAndBias()
	if err := e.Multiply(c, a, b, gemm.WithSplitK(p.Parts()), gemm.WithPromotion(p.Promotion()),
		gemm.WithScales(scaleA, scaleB), gemm.WithBias(bias)); err != nil {
		t.Fatal(err)
	}
	size := len(p.Row) / p.N
	for j := range p.N {
		want := uint32(0)
		for i := range size {
			want |= uint32(p.Row[j*size+i]) << (8 * i)
		}
		if got := bitsOf(c.Data[j]); got != want {
			t.Fatalf("column %d of the first row is %#0*x, cuBLAS has %#0*x", j, 2*size, got, 2*size, want)
		}
	}
	if got := checksum(c.Data); got != p.CRC {
		t.Errorf("the first row agrees, but the CRC-32 of C is %d, cuBLAS has %d", got, p.CRC)
	}
}

// TestLinear checks torch.nn.functional.linear(x, W, bias) of bfloat16, that is x·W' + bias: the checksums are those of an H100
// (PyTorch 2.11, CUDA 13.0, driver 580.159.04).
func TestLinear(t *testing.T) {
	element := func(i, seed uint32) bf16.BF16 { return bf16.FromFloat32(golden.Element(i, seed)) }
	for n, want := range map[int]uint32{128: 3820357946, 512: 2488688206} {
		if n > 128 && (testing.Short() || raceEnabled || slowKernel(bestHopper(t).Name)) {
			continue
		}
		x, w, y := gemm.NewMatrix[bf16.BF16](n, n), gemm.NewMatrix[bf16.BF16](n, n), gemm.NewMatrix[bf16.BF16](n, n)
		bias := make([]float32, n)
		for i := range x.Data {
			x.Data[i], w.Data[i] = element(uint32(i), golden.SeedA), element(uint32(i), golden.SeedB)
		}
		for j := range bias {
			bias[j] = element(uint32(j), golden.SeedBias).Float32()
		}
		if err := gemm.Multiply(y, x, w.T(), gemm.WithArithmetic(gemm.Hopper), gemm.WithBias(bias)); err != nil {
			t.Fatal(err)
		}
		if got := checksum(y.Data); got != want {
			t.Errorf("%d: the CRC-32 of y is %d, PyTorch had %d", n, got, want)
		}
	}
}
