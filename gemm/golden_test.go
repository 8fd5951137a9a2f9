package gemm

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
)

var update = flag.Bool("update", false, "write the golden files of decisions anew")

// pretended are the machines that the golden decisions are of, with the kernels that they choose.
var pretended = []struct {
	name        string
	bf16, words string // kernels, of bf16 and of other types
	machine     machine
}{
	{"zen3", "avx2", "avx2", machine{name: "zen3", l2: 512 << 10, l3: 32 << 20}},
	{"zen4", "avx512bf16", "avx512", machine{name: "zen4", l2: 1 << 20, l3: 32 << 20}},
	{"zen5", "avx512bf16", "avx512", machine{name: "zen5", l2: 1 << 20, l3: 32 << 20}},
	{"intel", "avx512", "avx512", machine{name: "intel", l2: 2 << 20, l3: 48 << 20}},
	{"amx", "amx", "avx512", machine{name: "intel", l2: 2 << 20, l3: 260 << 20}},
	{"go", "go", "go", machine{name: "other", l2: 1 << 20, l3: 32 << 20}},
}

// goldenShapes are M, N and K of the products.
func goldenShapes() (shapes [][3]int) {
	for _, n := range []int{8, 16, 24, 32, 48, 64, 80, 96, 100, 128, 160, 192, 256, 384, 512, 768, 1000, 1024, 1536, 2048, 4096} {
		shapes = append(shapes, [3]int{n, n, n})
	}
	for _, m := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 31, 32, 48, 64, 100, 128, 192, 512} {
		for _, nk := range [][2]int{{256, 256}, {768, 768}, {1024, 1024}, {2048, 2048}, {4096, 4096}, {4096, 1024}, {11008, 4096}} {
			shapes = append(shapes, [3]int{m, nk[0], nk[1]})
		}
	}
	return append(shapes, [][3]int{
		{3, 3, 3}, {1000, 1, 1000}, {10000, 1, 384}, {1000000, 1, 3}, {1, 1000000, 3}, {100, 100, 1000}, {64, 64, 8192}, {4096, 4096, 64},
		{64, 3136, 576}, {128, 784, 1152}, {256, 196, 2304}, {512, 49, 4608}, {32, 12544, 27}, {2048, 16, 256}, {16, 2048, 256}, {768, 768, 64},
		{512, 64, 64}, {4095, 4097, 4093}, {2048, 64, 2048}, {4096, 128, 128}, {16384, 32, 512}, {8192, 8192, 8192},
	}...)
}

// TestGolden compares what is decided, on pretended machines, with what was. It changes with
//
//	go test ./gemm -run Golden -update
//
// and gunzip -c gemm/testdata/golden/zen5.txt.gz shows it: for every number of workers how the product is
// computed, and how it is cut.
func TestGolden(t *testing.T) {
	for _, m := range pretended {
		t.Run(m.name, func(t *testing.T) {
			if err := asm.Named(m.words).Supported(); err != nil {
				t.Skip(err) // what it lacks decides, too
			}
			defer pretend(func(on *machine) { *on = m.machine })()
			var lines []string
			for _, elem := range []asm.Type{asm.BF16, asm.F32, asm.F16} {
				k := asm.Named(m.words)
				if elem == asm.BF16 {
					k = asm.Named(m.bf16)
				}
				for _, layout := range []string{"NN", "NT", "TN", "NP"} {
					lines = append(lines, goldenLines(k, elem, layout)...)
				}
			}
			if exact := asm.Named("hopper-avx512"); m.name == "zen5" {
				lines = append(lines, goldenLines(exact, asm.BF16, "NN")...)
			}
			compareGolden(t, filepath.Join("testdata", "golden", m.name+".txt.gz"), lines)
		})
	}
}

// goldenLines returns what is decided for each shape, one line for some workers after the other unless the
// next decide the same. Few shapes will do for f16.
func goldenLines(k *asm.Kernel, elem asm.Type, layout string) (lines []string) {
	for i, shape := range goldenShapes() {
		if elem == asm.F16 && i%4 > 0 {
			continue
		}
		line := fmt.Sprintf("%s %v %s %dx%dx%d:", k.Name, elem, layout, shape[0], shape[1], shape[2])
		before := ""
		for _, workers := range []int{1, 2, 4, 16} {
			if d := decided(k, elem, layout, shape, workers); d != before {
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

// decided says what is decided.
func decided(k *asm.Kernel, elem asm.Type, layout string, shape [3]int, workers int) string {
	m, n, depth := shape[0], shape[1], shape[2]
	a := view{rows: m, cols: depth, stride: depth, elem: elem}
	b := view{rows: depth, cols: n, stride: n, elem: elem}
	c := view{rows: m, cols: n, stride: n, elem: asm.F32}
	if layout[0] == 'T' {
		a.stride, a.trans = m, true
	}
	switch layout[1] {
	case 'T':
		b.stride, b.trans = depth, true
	case 'P':
		b = view{rows: depth, cols: n, elem: elem, packed: true}
	}
	in := &slab{product: product{a: a, b: b, c: c, problem: problem{k: depth, kernel: k, on: here.tuned(k)}, alpha: 1}}
	if b.packed {
		in.packed = packing{kernel: k, elem: elem, k: depth, n: n, bk: stageElements(k, elem)}
	}
	s := &settings{workers: workers, procs: workers, alpha: 1, splitK: 1}
	if p := &in.product; p.c.cols == 1 && p.c.rows*p.a.cols >= vectorLeast && !p.b.packed {
		p.turn(s)
		p.c, p.a = p.c.row(), p.a.row()
	}
	return describe(in, s)
}

// describe says how a product is computed.
func describe(in *slab, s *settings) string {
	e, _ := New()
	q := &in.problem
	in.pose(s)
	if in.unpacked = in.tiny(); in.unpacked != nil {
		return "caller unpacked"
	}
	g := e.plan(q, s)
	a, b := g.a.String(), "first"
	switch {
	case g.b == unpackedB:
		b = ""
		a = "unpacked"
	case g.b == streamedB:
		a = "few"
		b = ""
	case g.b == dotsOfB:
		a, b = "dots", ""
	case g.b == storedB:
		b = "·stored"
	case g.group > 1:
		b = fmt.Sprint("·group", g.group)
	default:
		b = "·first"
	}
	if q.sumsInC(g) && g.sums != inScratch && b != "" {
		b += " inC"
	}
	switch g.share {
	case byCaller:
		return "caller " + a + b
	case bySlabs:
		cut := fmt.Sprintf("slabs %s w%d %dx%d/%d", a+b, g.workers, g.slabs.rows, g.slabs.cols, g.slabs.count)
		if g.slabs.ranges > 1 {
			cut += fmt.Sprintf(" k%d/%d", g.slabs.span, g.slabs.ranges)
		}
		return cut
	case byColumns:
		mode := map[sourceB]string{packedB: "panels", storedB: "panels", behindB: "swept", sweptB: "pieces", alongB: "along", streamedB: "inplace"}[g.b]
		if g.b == streamedB && q.formB == inPanels {
			mode = "stored"
		}
		c := &g.columns
		group := c.block
		if g.b == sweptB || g.group > 1 {
			group = g.group * q.kernel.NR
		}
		return fmt.Sprintf("columns %s %d/%d/%d k%d %d/%d", mode, c.cols, c.block, group, g.depth, c.items, c.slabs)
	}
	r := &g.ring
	b = "slots"
	switch {
	case g.b == storedB:
		b = "stored"
	case g.b == packedB && q.crowd(q.workers) == wide && !q.narrow():
		b = "each"
	case g.b == packedB:
		b = "late"
	}
	return fmt.Sprintf("ring %s %dx%dx%dx%d d%d slabs %dx%d", b, r.ctas, r.bm, r.bn, r.bk, r.depth, r.slabRows, r.slabCols)
}
