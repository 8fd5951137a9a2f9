package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/golden"
)

// finishedBytes returns f(alpha·A·B + beta·C + bias), step by step.
func finishedBytes[T gemm.Output](
	t *testing.T, m, n, k int, alpha, beta float32, bias bool, activation string, round func(float32) T,
	widen func(T) float32,
) []byte {
	sums := gemm.NewMatrix[float32](m, n)
	a, b := gemm.NewMatrix[T](m, k), gemm.NewMatrix[T](n, k)
	from := func(i, seed uint32) T { return round(golden.Element(i, seed)) }
	for i := range a.Data {
		a.Data[i] = from(uint32(i), golden.SeedA)
	}
	for i := range b.Data {
		b.Data[i] = from(uint32(i), golden.SeedB)
	}
	if err := gemm.Multiply(sums, a, b.T(), gemm.WithArithmetic(gemm.Hopper)); err != nil {
		t.Fatal(err)
	}
	c := make([]T, m*n)
	for i, x := range sums.Data {
		old := widen(from(uint32(i), golden.SeedC))
		switch beta {
		case 0:
			x *= alpha
		case 1:
			x = widen(round(alpha*x)) + old
		default:
			x = float32(math.FMA(float64(alpha), float64(x), float64(float32(beta*old))))
		}
		if bias {
			x += widen(from(uint32(i%n), golden.SeedBias))
		}
		switch activation {
		case "relu":
			x = max(x, 0)
		case "gelutanh":
			asm.ActivateHopper(unsafe.Pointer(&x), 4, unsafe.Pointer(&x), 4, 1, 1, asm.Vector{}, asm.GELUTanh)
		}
		c[i] = round(x)
	}
	data, err := binary.Append(nil, binary.LittleEndian, c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEpilogues replays a recording as a GPU would make it that did what gemm says, and others of which a checksum or
// a row is wrong.
func TestEpilogues(t *testing.T) {
	const m, n, k = 9, 20, 96
	var entries []string
	var rows []byte
	add := func(dtype string, alpha, beta float32, bias bool, activation string) {
		var data []byte
		if dtype == "bf16" {
			data = finishedBytes(t, m, n, k, alpha, beta, bias, activation, bf16.FromFloat32, bf16.BF16.Float32)
		} else {
			data = finishedBytes(t, m, n, k, alpha, beta, bias, activation, float16.Fromfloat32,
				float16.Float16.Float32)
		}
		entries = append(entries, fmt.Sprintf(
			`{"a":"%[1]s","b":"%[1]s","out":"%[1]s","m":%d,"n":%d,"k":%d,"layout":"NT","scales":"none","alpha":%v,`+
				`"beta":%v,"bias":%v,"activation":"%s","crc32":%d,"row_off":%d}`,
			dtype, m, n, k, alpha, beta, bias, activation, crc32.ChecksumIEEE(data), len(rows)))
		rows = append(rows, data[:2*n]...)
	}
	for _, dtype := range []string{"bf16", "f16"} {
		add(dtype, 1, 1, false, "identity")
		add(dtype, 0.75, -1.5, false, "identity")
		add(dtype, 1, 0, true, "relu")
		add(dtype, 1, 0, true, "gelutanh")
	}
	replay := func(entries []string) (int, string) {
		dir := place(t, map[string][]byte{
			"cublas_epilogue.json":     []byte("[" + strings.Join(entries, ",") + "]"),
			"cublas_epilogue_rows.bin": rows,
		})
		code, stdout, stderr := check(t, dir)
		return code, stdout + stderr
	}
	if code, text := replay(entries); code != cli.OK || !strings.Contains(text, "8          0  cublas_epilogue.json") {
		t.Errorf("exit %d:\n%s", code, text)
	}
	for i, wrong := range []struct{ old, new, first string }{
		{`"beta":1,`, `"beta":2,`, "record 0, bf16*bf16 9x20x96 NT bf16 alpha 1 beta 2: C(0, 0) in bf16 is"},
		{`"alpha":0.75,`, `"alpha":0.5,`, "record 1, bf16*bf16 9x20x96 NT bf16 alpha 0.5 beta -1.5: C(0, 0) in bf16 is"},
		{"relu", "gelutanh", "record 2, bf16*bf16 9x20x96 NT bf16 bias gelutanh: C(0, "},
		{"gelutanh", "relu", "record 3, bf16*bf16 9x20x96 NT bf16 bias relu: C(0, "},
		{`"bias":false`, `"bias":true`, "record 4, f16*f16 9x20x96 NT f16 alpha 1 beta 1 bias: C(0, 0) in f16 is"},
		{`"crc32":\d+`, `"crc32":1`,
			"record 5, f16*f16 9x20x96 NT f16 alpha 0.75 beta -1.5: the first row agrees, but the checksum"},
	} {
		changed := slices.Clone(entries)
		changed[i] = regexp.MustCompile(wrong.old).ReplaceAllString(changed[i], wrong.new)
		if code, text := replay(changed); code != exitDifferent || !strings.Contains(text, wrong.first) {
			t.Errorf("exit %d without %q:\n%s", code, wrong.first, text)
		}
	}
}
