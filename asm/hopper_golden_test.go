package asm

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/golden"
)

var hopperLong = flag.Bool("hopper-long", false, "compare products of all sizes with cuBLAS, not only the small ones")

// A hopperProduct is C += A·B over packed panels. A is m × k and B k × n, or Bᵀ if nt.
type hopperProduct struct {
	a, b    Type
	m, n, k int
	nt      bool
	pa, pb  unsafe.Pointer // row-major without gaps
	depth   int            // of a stage of K
}

// run returns C, whose elements start as those of c, or as zero if it is nil.
func (p hopperProduct) run(k *Kernel, c []float32) []float32 {
	rows, columns := roundUp(p.m, k.MR), roundUp(p.n, k.NR)
	tiles := unsafe.Slice((*float32)(aligned(rows*columns*4)), rows*columns)
	for i := range len(c) / p.n {
		copy(tiles[i*columns:], c[i*p.n:][:p.n])
	}
	step, sizeA, sizeB := k.KStep(p.a), p.a.Size(), p.b.Size()
	depth := roundUp(min(p.depth, p.k), step)
	pa, pb := aligned(rows/k.MR*k.PanelA(depth)), aligned(columns/k.NR*k.PanelB(depth))
	for k0 := 0; k0 < p.k; k0 += depth {
		n := min(p.k-k0, depth)
		words := roundUp(n, step)
		k.PackA(p.a, true)(pa, unsafe.Add(p.pa, k0*sizeA), p.k*sizeA, p.m, n)
		if p.nt {
			k.PackB(p.b, true)(pb, unsafe.Add(p.pb, k0*sizeB), p.k*sizeB, p.n, n)
		} else {
			k.PackB(p.b, false)(pb, unsafe.Add(p.pb, k0*p.n*sizeB), p.n*sizeB, p.n, n)
		}
		for j := range columns / k.NR {
			dst := unsafe.Pointer(&tiles[j*k.NR])
			src := dst
			if k0 == 0 && c == nil {
				src = nil
			}
			k.Mul(words, rows/k.MR, pa, unsafe.Add(pb, j*k.PanelB(words)), src, columns*4, dst, columns*4)
		}
	}
	out := make([]float32, 0, p.m*p.n)
	for i := range p.m {
		out = append(out, tiles[i*columns:][:p.n]...)
	}
	return out
}

// TestHopperGolden compares one step with what an H200 computed. The instruction ignores the low bits of float32, which
// packing would round.
func TestHopperGolden(t *testing.T) {
	for _, file := range []struct {
		name string
		a, b Type
	}{{"bf16", BF16, BF16}, {"f16", F16, F16}, {"tf32", F32, F32}, {"e4m3", E4M3, E4M3}, {"e5m2", E5M2, E5M2},
		{"e4m3xe5m2", E4M3, E5M2}} {
		records, err := golden.Records("../wgmma/testdata/wgmma_"+file.name+".bin.gz", golden.ParseWGMMAs)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(file.name, func(t *testing.T) {
			forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
				for r := range records {
					tile := &records[r]
					a, b := tile.A, tile.B
					if file.a == F32 {
						dropLow(a[:])
						dropLow(b[:])
					}
					var c, d []float32
					for i := range tile.C {
						for j := range tile.C[i] {
							c = append(c, math.Float32frombits(tile.C[i][j]))
							d = append(d, math.Float32frombits(tile.D[i][j]))
						}
					}
					p := hopperProduct{file.a, file.b, golden.WGMMARows, golden.WGMMAColumns,
						golden.WGMMARowBytes / file.a.Size(), true,
						unsafe.Pointer(&a), unsafe.Pointer(&b), 64}
					for i, got := range p.run(k, c) {
						if math.Float32bits(got) != math.Float32bits(d[i]) {
							t.Fatalf("tile %d row %d column %d: %#08x, the GPU has %#08x", r, i/8, i%8,
								math.Float32bits(got), math.Float32bits(d[i]))
						}
					}
				}
			})
		})
	}
}

// dropLow clears the bits of float32 that tf32 has not.
func dropLow(rows [][golden.WGMMARowBytes]byte) {
	for i := range rows {
		for k := 0; k < golden.WGMMARowBytes; k += 4 {
			rows[i][k] = 0
			rows[i][k+1] &= 0xe0
		}
	}
}

// cublasOperand returns the elements of an operand of the products in cublas.json.
func cublasOperand(typ Type, seed uint32, n int) []uint16 {
	out := make([]uint16, n)
	for i := range out {
		x := uint32(i)*2654435761 + seed*40503
		x = (x>>16 ^ x) * 0x45d9f3b
		x = (x>>16 ^ x) * 0x45d9f3b
		x = x>>16 ^ x
		v := float32(int32(x&0xffff)-32768) / 32768
		if typ == BF16 {
			out[i] = uint16(bf16.FromFloat32(v))
		} else {
			out[i] = float16.Fromfloat32(v).Bits()
		}
	}
	return out
}

// TestHopperCuBLAS compares whole products with what cuBLAS computed on an H200.
func TestHopperCuBLAS(t *testing.T) {
	text, err := os.ReadFile("../hopper/testdata/cublas.json")
	if err != nil {
		t.Fatal(err)
	}
	var products []struct {
		DType    string
		M, N, K  int
		Layout   string
		CRC32    uint32
		CRC32F32 uint32 `json:"crc32_f32"`
	}
	if err := json.Unmarshal(text, &products); err != nil {
		t.Fatal(err)
	}
	if len(products) != 50 {
		t.Fatalf("%d products, want 50", len(products))
	}
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		limit := int64(1 << 28) // 512³ and all that is smaller
		switch {
		case *hopperLong:
			limit = 1 << 62
		case raceEnabled || testing.Short():
			limit = 1 << 21
		case k.Name == "hopper-go":
			limit = 1 << 24
		}
		ran := 0
		for _, c := range products {
			splitK := c.N == 4096 && c.M == 32 || c.K == 8192 && c.M == 64 // cuBLAS adds partial sums there
			if int64(c.M)*int64(c.N)*int64(c.K) > limit || splitK {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%s/%dx%dx%d/%s", c.DType, c.M, c.N, c.K, c.Layout), func(t *testing.T) {
				typ := BF16
				if c.DType == "f16" {
					typ = F16
				}
				a, b := cublasOperand(typ, 1, c.M*c.K), cublasOperand(typ, 2, c.K*c.N)
				p := hopperProduct{typ, typ, c.M, c.N, c.K, c.Layout == "NT", unsafe.Pointer(&a[0]),
					unsafe.Pointer(&b[0]), 256}
				var words, halves []byte
				for _, v := range p.run(k, nil) {
					words = binary.LittleEndian.AppendUint32(words, math.Float32bits(v))
					h := uint16(bf16.FromFloat32(v))
					if typ == F16 {
						h = float16.Fromfloat32(v).Bits()
					}
					halves = binary.LittleEndian.AppendUint16(halves, h)
				}
				if got := crc32.ChecksumIEEE(words); got != c.CRC32F32 {
					t.Errorf("CRC-32 of C in f32 is %d, cuBLAS has %d", got, c.CRC32F32)
				}
				if got := crc32.ChecksumIEEE(halves); got != c.CRC32 {
					t.Errorf("CRC-32 of C in %s is %d, cuBLAS has %d", c.DType, got, c.CRC32)
				}
			})
		}
		if ran < 6 {
			t.Errorf("%d products ran, want at least 6", ran)
		}
	})
}
