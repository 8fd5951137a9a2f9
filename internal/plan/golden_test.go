package plan

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
)

var update = flag.Bool("update", false, "write the golden files of decisions anew")

// goldenShapes are M, N and K of the products.
func goldenShapes() (shapes [][3]int) {
	for _, n := range []int{
		8, 16, 24, 32, 48, 64, 80, 96, 100, 128, 160, 192, 256, 384, 512, 768, 1000, 1024, 1536, 2048, 4096,
	} {
		shapes = append(shapes, [3]int{n, n, n})
	}
	for _, m := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 31, 32, 48, 64, 100, 128, 192, 512} {
		for _, nk := range [][2]int{
			{256, 256}, {768, 768}, {1024, 1024}, {2048, 2048}, {4096, 4096}, {4096, 1024}, {11008, 4096},
		} {
			shapes = append(shapes, [3]int{m, nk[0], nk[1]})
		}
	}
	return append(shapes, [][3]int{
		{3, 3, 3}, {1000, 1, 1000}, {10000, 1, 384}, {1000000, 1, 3}, {1, 1000000, 3}, {100, 100, 1000},
		{64, 64, 8192}, {4096, 4096, 64}, {64, 3136, 576}, {128, 784, 1152}, {256, 196, 2304}, {512, 49, 4608},
		{32, 12544, 27}, {2048, 16, 256}, {16, 2048, 256}, {768, 768, 64}, {512, 64, 64}, {4095, 4097, 4093},
		{2048, 64, 2048}, {4096, 128, 128}, {16384, 32, 512}, {8192, 8192, 8192},
		// Few columns, or elements, by a deep K:
		{1, 64, 8192}, {4, 96, 16384}, {16, 96, 8192}, {2, 2, 300000}, {4, 2, 4096}, {3, 5, 1000000}, {16, 24, 500000},
	}...)
}

// TestGolden compares what is decided, on pretended machines, with what was. It changes with
//
//	go test ./internal/plan -update
//
// and gunzip -c internal/plan/testdata/golden/zen5.txt.gz shows it: for every number of workers how the product is
// computed, and how it is cut.
func TestGolden(t *testing.T) {
	for _, m := range Machines {
		t.Run(m.Name, func(t *testing.T) {
			if best(t, &m, asm.F32).Mul == nil {
				t.Skip("this build has no assembly, which decides, too")
			}
			on := m.Machine.Tune()
			var lines []string
			for _, elem := range []asm.Type{asm.BF16, asm.F32, asm.F16, asm.E4M3, asm.F64} {
				k := best(t, &m, elem)
				for _, layout := range []string{"NN", "NT", "TN", "NP"} {
					lines = append(lines, goldenLines(on, k, elem, layout, "")...)
				}
				for _, form := range slices.Sorted(maps.Keys(variants)) {
					lines = append(lines, goldenLines(on, k, elem, "NN", form)...)
				}
			}
			if exact := asm.Named("hopper-avx512"); m.Name == "zen5" {
				lines = append(lines, goldenLines(on, exact, asm.BF16, "NN", "")...)
			}
			compareGolden(t, filepath.Join("testdata", "golden", m.Name+".txt.gz"), lines)
		})
	}
}

// best returns the kernel that m has for elements of type elem.
func best(t *testing.T, m *Pretended, elem asm.Type) *asm.Kernel {
	t.Helper()
	k, err := m.Kernel(elem, "")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// variants are what C may be besides float32 in rows that holds the sums as they are.
var variants = map[string]func(q *Problem){
	"rounded":    func(q *Problem) { q.Out, q.PitchC = asm.BF16, q.N*2 }, // but for float64
	"scaled":     func(q *Problem) { q.Plain = false },
	"transposed": func(q *Problem) { q.TransC, q.PitchC = true, q.M*q.Kernel.Word },
	"apart":      func(q *Problem) { q.PitchA, q.PitchB, q.PitchC = q.PitchA+4, q.PitchB+4, q.PitchC+4 },
}

// goldenLines returns what is decided for each shape, one line for some workers after the other unless the
// next decide the same. Few shapes will do for f16, fp8 and float64, and for variants.
func goldenLines(on *Machine, k *asm.Kernel, elem asm.Type, layout, form string) (lines []string) {
	for i, shape := range goldenShapes() {
		if elem == asm.F64 && form == "rounded" {
			break
		}
		if (elem == asm.F16 || elem == asm.E4M3 || elem == asm.F64 || form != "") && i%4 > 0 {
			continue
		}
		line := strings.TrimSpace(fmt.Sprintf("%s %v %s %s", k.Name, elem, layout, form))
		line += fmt.Sprintf(" %dx%dx%d:", shape[0], shape[1], shape[2])
		before := ""
		for _, workers := range []int{1, 2, 4, 16, 32} {
			q := posed(on, k, elem, layout, shape[0], shape[1], shape[2])
			if form != "" {
				variants[form](&q)
			}
			q.Staff(workers, workers, false)
			g := Choose(&q)
			// The sum is of all that the plan has, also of what its text leaves out.
			if d := fmt.Sprintf("%v #%04x", &g, crc32.ChecksumIEEE(fmt.Appendf(nil, "%+v", g))>>16); d != before {
				line += fmt.Sprintf("  %d: %s", workers, d)
				before = d
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// compareGolden compares lines with those of a file.
func compareGolden(t *testing.T, file string, lines []string) {
	var was string
	if data, err := os.ReadFile(file); err == nil {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		was = string(text)
	} else if !*update {
		t.Fatal(err)
	}
	now := strings.Join(lines, "\n") + "\n"
	if was == now {
		return
	}
	old := strings.Split(was, "\n")
	differ := 0
	for i, line := range lines {
		before := ""
		if i < len(old) {
			before = old[i]
		}
		if line == before {
			continue
		}
		if differ++; differ <= 10 && !*update {
			t.Errorf("it was  %s\nit is   %s", before, line)
		}
	}
	t.Logf("%d of %d lines differ", differ, len(lines))
	if !*update {
		t.Error("see TestGolden on how to accept them")
		return
	}
	var z bytes.Buffer
	w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression)
	io.WriteString(w, now)
	w.Close()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, z.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// posed returns the problem of a product whose rows lie side by side, as package gemm poses it.
func posed(on *Machine, k *asm.Kernel, elem asm.Type, layout string, m, n, depth int) Problem {
	q := Problem{
		M: m, N: n, K: depth, Kernel: k, On: on.Tuned(k), Workers: 1, Procs: 1,
		Elem: elem, ElemA: elem, ElemB: elem, Out: k.Sum, TransA: layout[0] == 'T', Plain: true,
	}
	switch layout[1] {
	case 'T':
		q.FormB = AlongK
	case 'P':
		if q.FormB = InPanels; Lies(k, elem, depth, n) {
			q.FormB = InRows // a panel is, too
		}
	}
	if n == 1 { // a column is a row of the transpose
		q.M, q.N, q.TransA, q.FormB = 1, m, false, AlongK
		if layout[0] == 'T' {
			q.FormB = InRows
		}
	}
	q.PitchA, q.PitchB, q.PitchC = q.K*elem.Size(), q.N*elem.Size(), q.N*q.Out.Size()
	if q.TransA {
		q.PitchA = q.M * elem.Size()
	}
	switch {
	case q.FormB == AlongK:
		q.PitchB = q.K * elem.Size()
	case layout[1] == 'P' && q.FormB == InRows && n > 1:
		q.PitchB = k.NR * elem.Size()
	}
	return q
}

// TestVBMI has a machine stream fp8 if it has AVX512-VBMI, whatever this one has.
func TestVBMI(t *testing.T) {
	k := asm.Named("avx512")
	if k.Mul == nil {
		t.Skip("this build has no assembly")
	}
	for _, vbmi := range []bool{false, true} {
		m := Machine{Name: "zen4", L2: 1 << 20, L3: 32 << 20, VBMI: vbmi}.Tune()
		for _, layout := range []string{"NN", "NT", "NP"} {
			for _, elem := range []asm.Type{asm.BF16, asm.E4M3, asm.E5M2} {
				q := posed(m, k, elem, layout, 1, 4096, 4096)
				q.Staff(1, 1, false)
				g := Choose(&q)
				if got, want := g.B == StreamedB, vbmi || elem == asm.BF16; got != want {
					t.Errorf("VBMI %v: %v %s: %v", vbmi, elem, layout, &g)
				}
			}
		}
	}
}

// TestStrays packs tall operands that tiles of few rows would wait for, and has up to half of a tile's rows multiplied
// by two panels, one after the other, as by rows.
func TestStrays(t *testing.T) {
	k := asm.Named("avx512")
	if k.Mul == nil {
		t.Skip("this build has no assembly")
	}
	on := Machine{Name: "zen5", L2: 1 << 20, L3: 32 << 20, VBMI: true}.Tune()
	for _, tc := range []struct {
		layout  string
		m, n, k int
		want    bool
	}{
		{"TN", 4096, 8, 64, true}, // rows of K share sets
		{"TN", 4100, 8, 64, false}, {"TN", 4096, 9, 64, false}, {"TN", 4096, 8, 15, false}, {"NN", 4096, 8, 64, false},
		{"TN", 70000, 24, 64, true}, // in memory
		{"TN", 60000, 24, 64, false}, {"NN", 70000, 24, 64, false}, {"TN", 70000, 24, 256, false},
		{"NP", 70000, 8, 64, true}, // and B apart
		{"NP", 70000, 24, 64, false}, {"NP", 60000, 8, 64, false},
		{"NP", 4, 48, 1000, false}, {"NP", 5, 48, 1000, true}, {"NP", 4, 49, 1000, true}, {"NP", 1, 33, 1000, false},
	} {
		q := posed(on, k, asm.F32, tc.layout, tc.m, tc.n, tc.k)
		q.Staff(1, 1, false)
		if g := Choose(&q); (g.B != UnpackedB) != tc.want {
			t.Errorf("%+v: %v", tc, &g)
		}
	}
}

// TestLies has panels read as rows where a tile is wide enough for all columns, and caches hold the panel.
func TestLies(t *testing.T) {
	for _, tc := range []struct {
		kernel     string
		elem       asm.Type
		rows, cols int
		want       bool
	}{
		{"avx512", asm.F32, 8192, 32, true}, {"avx512", asm.F32, 8193, 32, false}, {"avx512", asm.F32, 100, 33, false},
		{"avx512", asm.F16, 100, 3, false}, {"avx2", asm.F32, 100, 16, true}, {"avx2", asm.F32, 100, 17, false},
		{"hopper-go", asm.F32, 100, 3, false},
	} {
		k := asm.Named(tc.kernel)
		if got, want := Lies(k, tc.elem, tc.rows, tc.cols), tc.want && k.Mul != nil; got != want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}
