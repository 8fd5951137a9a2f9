package gemm_test

import (
	"math"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
)

// TestMatmuls checks the products that cuBLASLt computed: on an H100 in tf32 and, with scales and bias, in fp8, on an
// H200 with alpha, beta, bias and activation.
func TestMatmuls(t *testing.T) {
	if raceEnabled {
		t.Skip("numbers, which every other build replays")
	}
	for _, file := range []struct {
		name               string
		quick, other, best int // products that are small enough to replay
	}{
		{"cublas_fp8_tf32", 72, 96, 195},
		{"cublas_epilogue", 40, 40, 160},
	} {
		data, err := golden.Read("../hopper/testdata/" + file.name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := golden.Read("../hopper/testdata/" + file.name + "_rows.bin.gz")
		if err != nil {
			t.Fatal(err)
		}
		products, err := golden.ParseMatmuls(data, rows)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(file.name, func(t *testing.T) {
			eachHopperKernel(t, asm.F32, func(t *testing.T, k *asm.Kernel, _ []gemm.Option) {
				limit, want := int64(1<<30), file.best // 1024x1024x1024
				switch {
				case testing.Short() || slowKernel(k.Name):
					limit, want = 1<<21, file.quick
				case k != bestHopper(t):
					limit, want = 1<<24, file.other
				case *long:
					limit, want = math.MaxInt64, len(products)
				}
				ran := 0
				for i := range products {
					p := &products[i]
					if int64(p.M)*int64(p.N)*int64(p.K) > limit {
						continue
					}
					ran++
					text, err := replay.Matmul(p, p.Parts(), gemm.WithKernel(k.Name))
					if err != nil {
						t.Fatal(err)
					}
					if text != "" {
						t.Errorf("%+v: %s", *p, text)
					}
				}
				if ran != want {
					t.Errorf("%d products, want %d", ran, want)
				}
			})
		})
	}
}

// TestLinear checks torch.nn.functional.linear(x, W, bias) of bfloat16, that is x·W' + bias: the checksums are those
// of an H100 (PyTorch 2.11, CUDA 13.0, driver 580.159.04).
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
