package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/cores"
)

func parseAxes(t *testing.T, args string) *axes {
	t.Helper()
	var a axes
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	a.declare(fs)
	if err := fs.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return &a
}

// maxInt is the largest step that can be asked for.
var maxInt = strconv.Itoa(math.MaxInt)

func TestShapes(t *testing.T) {
	for args, want := range map[string]string{
		"-size 256,512":                    "256x256x256 512x512x512",
		"-size 1024:4096:1024":             "1024x1024x1024 2048x2048x2048 3072x3072x3072 4096x4096x4096",
		"-size 10:20:7":                    "10x10x10 17x17x17",
		"-size 2:4":                        "2x2x2 3x3x3 4x4x4",
		"-size 1:2:" + maxInt:              "1x1x1",
		"-size 5:5:" + maxInt + ",6:9:3":   "5x5x5 6x6x6 9x9x9",
		"-size 512x11008x4096,7,7,7x7x7":   "512x11008x4096 7x7x7",
		"-m 1,8 -n 4096 -k 4096":           "1x4096x4096 8x4096x4096",
		"-m 8":                             "8x1024x1024",
		"-size 64,128 -k 32":               "64x64x32 128x128x32",
		"-size 64 -m 1,2 -n 3,4":           "1x3x64 1x4x64 2x3x64 2x4x64",
		"-size 64,128 -m 5 -n 5 -k 5":      "5x5x5",
		"":                                 "1x1x1",
		"-size 3 -depth 1 -dtype f32,bf16": "3x3x3",
	} {
		shapes, err := parseAxes(t, args).shapes()
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		var got []string
		for _, s := range shapes {
			got = append(got, fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", args, got, want)
		}
	}
}

func TestVariants(t *testing.T) {
	got, err := parseAxes(t, "-size 8 -dtype f32,f16 -out bf16 -trans nt,TN -depth 1,0 -workers 1,3 -kernel auto,go "+
		"-tile auto,64x32x16 -alpha 2 -beta -1 -seed 9 -arith native,hopper -splitk 1,4 "+
		"-prepacked=false,true").variants()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 512 {
		t.Fatalf("%d variants, want 512", len(got))
	}
	want := bench.Variant{
		Workload: bench.Workload{M: 8, N: 8, K: 8, In: asm.F16, Out: asm.BF16, TransA: true, Alpha: 2, Beta: -1,
			Seed: 9, Arith: gemm.Hopper, SplitK: 4, Batch: 1},
		Depth: 0, Workers: 3, Callers: 1, Kernel: "go", Tile: [3]int{64, 32, 16}, Prepacked: true,
	}
	if got[511] != want {
		t.Errorf("last variant %+v\nwant %+v", got[511], want)
	}
	want = bench.Variant{
		Workload: bench.Workload{M: 8, N: 8, K: 8, In: asm.F32, Out: asm.BF16, TransB: true, Alpha: 2, Beta: -1,
			Seed: 9, SplitK: 1, Batch: 1},
		Depth: 1, Workers: 1, Callers: 1,
	}
	if got[0] != want {
		t.Errorf("first variant %+v\nwant %+v", got[0], want)
	}
	different := map[bench.Variant]bool{}
	for _, v := range got {
		different[v] = true
	}
	if len(different) != 384 {
		t.Errorf("%d different variants, want 384: native arithmetic does not split K", len(different))
	}
}

func TestTypes(t *testing.T) {
	for args, want := range map[string]string{
		"-dtype bf16,f16,f32,e4m3,e5m2 -arith hopper": "bf16 f32, f16 f32, f32 f32, e4m3 f32, e5m2 f32",
		"-dtype f64": "f64 f64", "-dtype F64 -out F64": "f64 f64", "-dtype bf16,f64": "bf16 f32, f64 f64",
		"-dtype f32,e4m3 -out bf16,f16": "f32 bf16, f32 f16, e4m3 bf16, e4m3 f16",
	} {
		vs, err := parseAxes(t, "-size 8 -depth 0 "+args).variants()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range vs {
			got = append(got, fmt.Sprint(v.In, " ", v.Out))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: types %q, want %s", args, got, want)
		}
	}
}

// TestFactors wants factors as they are written, and an error where one type of several cannot have them.
func TestFactors(t *testing.T) {
	vs, err := parseAxes(t, "-size 8 -depth 0 -dtype f32,f64 -alpha 0.1 -beta -1e-30").variants()
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) != 2 {
		t.Fatalf("%d variants, want 2", len(vs))
	}
	for _, v := range vs {
		if v.Alpha != 0.1 || v.Beta != -1e-30 {
			t.Errorf("%+v", v)
		}
	}
	if vs, err := parseAxes(t, "-dtype f64 -depth 0 -alpha 1e300 -beta 1e-300").variants(); err != nil ||
		vs[0].Alpha != 1e300 || vs[0].Beta != 1e-300 {
		t.Errorf("%+v, %v", vs, err)
	}
}

func TestFactor(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "0e-99": 0, "0.000": 0, "0x0.0p-9": 0, "0E5": 0,
		"1e-40": 1e-40, "0x1p-149": 0x1p-149, "3.4028235e38": 3.4028235e38, "-0.1": -0.1,
	} {
		for _, bits := range []int{32, 64} {
			if got, err := parseFactor(text, bits); err != nil || got != want {
				t.Errorf("parseFactor(%q, %d) = %v, %v; want %v", text, bits, got, err, want)
			}
		}
	}
	for text, want := range map[string]string{
		"":   `"" is not a number`,
		"1 ": `"1 " is not a number`, "Inf": "Inf is not a finite float32", "1e400": "1e400 is not a finite float32",
		"1e-60":       "1e-60 is not zero, but would be as a float32",
		"-0x1p-200":   "-0x1p-200 is not zero, but would be as a float32",
		"1e-400":      "1e-400 is not zero, but would be as a float32",
		"0x0.0Ep-400": "0x0.0Ep-400 is not zero, but would be as a float32",
	} {
		if got, err := parseFactor(text, 32); err == nil || err.Error() != want {
			t.Errorf("parseFactor(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
}

// TestCapitals wants the same variants however the values are written.
func TestCapitals(t *testing.T) {
	small, err := parseAxes(t, "-size 8x8x8 -dtype bf16,f32 -out f16 -trans nt -kernel go,auto -tile 8x8x8,auto "+
		"-arith native,hopper -prepacked=true").variants()
	if err != nil {
		t.Fatal(err)
	}
	large, err := parseAxes(t, "-size 8X8X8 -dtype BF16,F32 -out F16 -trans NT -kernel GO,AUTO -tile 8X8X8,Auto "+
		"-arith Native,HOPPER -prepacked=TRUE").variants()
	if err != nil || !slices.Equal(small, large) {
		t.Errorf("%+v, %v\nwant %+v", large, err, small)
	}
}

// TestDistinct wants one variant of those that auto and 0 make the same.
func TestDistinct(t *testing.T) {
	auto, err := asm.Select(asm.BF16, "")
	if err != nil {
		t.Fatal(err)
	}
	other := "go"
	if auto.Name == other {
		other = "gobf16"
	}
	// More than the engine takes workers.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU() + 1))
	for args, want := range map[string]string{
		"-kernel auto," + auto.Name:                 " 0 1",
		"-kernel " + auto.Name + ",auto":            auto.Name + " 0 1",
		"-kernel " + other + ",auto":                other + " 0 1, 0 1",
		"-workers 0," + fmt.Sprint(cores.Count()):   " 0 1",
		"-kernel auto," + auto.Name + " -depth 1,0": " 0 1, 0 0",
	} {
		vs, err := parseAxes(t, "-size 8 -depth 1 "+args).variants()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range distinct(vs) {
			got = append(got, fmt.Sprint(v.Kernel, " ", v.Workers, " ", v.Depth))
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestNativeSums wants no variant of native arithmetic with a part of K or a promotion, and each once.
func TestNativeSums(t *testing.T) {
	for args, want := range map[string]string{
		"-splitk 4,2":             "native 1 0, hopper 4 0, hopper 2 0",
		"-promotion 64,0":         "native 1 0, hopper 1 64, hopper 1 0",
		"-splitk 1 -promotion 64": "native 1 0, hopper 1 64",
	} {
		vs, err := parseAxes(t, "-size 8 -depth 1 -arith native,hopper "+args).variants()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range distinct(vs) {
			got = append(got, fmt.Sprint(v.Arith, " ", v.SplitK, " ", v.Promotion))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %s", args, got, want)
		}
	}
	if _, err := parseAxes(t, "-splitk 1 -promotion 0").variants(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

// TestCallers wants callers inside workers and around the rest.
func TestCallers(t *testing.T) {
	vs, err := parseAxes(t, "-size 8 -callers 1,4,1:16:5 -workers 1,2 -depth 1,2").variants()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range vs {
		got = append(got, fmt.Sprint(v.Workers, v.Callers, v.Depth))
	}
	want := "1 1 1,1 1 2,1 4 1,1 4 2,1 6 1,1 6 2,1 11 1,1 11 2,1 16 1,1 16 2,2 1 1"
	if !strings.HasPrefix(strings.Join(got, ","), want) || len(got) != 20 {
		t.Errorf("%v\nwant %s", got, want)
	}
}

// TestBatches wants batches inside callers and around the rest, and each once.
func TestBatches(t *testing.T) {
	vs, err := parseAxes(t, "-size 8 -batch 1,8,8,64:66 -callers 1,2 -depth 1,2").variants()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range distinct(vs) {
		got = append(got, fmt.Sprint(v.Callers, v.Batch, v.Depth))
	}
	want := "1 1 1,1 1 2,1 8 1,1 8 2,1 64 1,1 64 2,1 65 1,1 65 2,1 66 1,1 66 2,2 1 1"
	if !strings.HasPrefix(strings.Join(got, ","), want) || len(got) != 20 {
		t.Errorf("%v\nwant %s", got, want)
	}
}

// TestEpilogues wants the lists of an epilogue around that of the workers, and none without being asked.
func TestEpilogues(t *testing.T) {
	vs, err := parseAxes(t, "-size 8 -depth 0 -scales None,ROW -bias=false,true -activation identity,GELU "+
		"-workers 1,2").variants()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range vs {
		got = append(got, fmt.Sprint(v.Scales, v.Bias, v.Activation, v.Workers))
	}
	if len(got) != 16 || got[1] != "none false identity 2" {
		t.Errorf("%q", got)
	}
	want := bench.Epilogue{Scales: bench.RowScales, Bias: true, Activation: gemm.GELU}
	if last := vs[15]; last.Epilogue != want || last.Workers != 2 || vs[0].Epilogue != (bench.Epilogue{}) {
		t.Errorf("%+v, want %+v", last, want)
	}
	if vs, err := parseAxes(t, "-size 8 -bias -depth 0").variants(); err != nil || len(vs) != 1 || !vs[0].Bias {
		t.Errorf("-bias alone: %+v, %v", vs, err)
	}
}

func TestDefaultVariants(t *testing.T) {
	a := parseAxes(t, "")
	vs, err := a.variants()
	if err != nil || a.sized() {
		t.Fatal(err, a.sized())
	}
	var depths []int
	for _, v := range vs {
		depths = append(depths, v.Depth)
		if v.In != asm.BF16 || v.Out != asm.F32 || v.Workers != 0 || v.Arith != gemm.Native || v.SplitK != 1 ||
			v.Alpha != 1 || v.Beta != 0 || v.Prepacked || v.Callers != 1 || v.Batch != 1 ||
			v.Epilogue != (bench.Epilogue{}) {
			t.Errorf("%+v", v)
		}
	}
	if !slices.Equal(depths, []int{1, 2, 3, 4, 6, 8}) {
		t.Errorf("depths %v", depths)
	}
}

func TestChooseSize(t *testing.T) {
	for _, args := range []string{"-kernel gobf16 -depth 1,2", "-arith hopper -kernel hopper-go -depth 1,2"} {
		testChooseSize(t, args, "1002 calls")
	}
	testChooseSize(t, "-kernel gobf16 -depth 1 -callers 1,3", "2004 calls")
	testChooseSize(t, "-kernel gobf16 -depth 1 -batch 1,4", "3006 calls") // of which 4 to 1 are of its products
}

func testChooseSize(t *testing.T, args, calls string) {
	vs, err := parseAxes(t, args).variants()
	if err != nil {
		t.Fatal(err)
	}
	note, err := chooseSize(context.Background(), &bench.Runner{Count: 500}, vs)
	if err != nil {
		t.Fatal(err)
	}
	n := vs[0].M
	if n < minSize || n > maxSize || !strings.Contains(note, calls) {
		t.Errorf("size %d: %s", n, note)
	}
	for _, v := range vs {
		if v.M != n || v.N != n || v.K != n {
			t.Errorf("%+v", v)
		}
	}
}

// TestFit wants a smaller size where memory is short, and for no other fault.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		args string
		from int
		fits func(size int) bool
		want string // of the error
	}{
		{"-depth 1,2", 1024, func(size int) bool { return size == 1024 }, ""},
		{"-depth 1 -callers 4096", 1 << 16, func(size int) bool { return size < 1<<16 }, ""}, // each with 16 GiB of C
		{"-depth 1 -dtype f32 -kernel gobf16", 512, nil,
			`compare: size 512, chosen for want of -size: asm: kernel "gobf16" does not multiply f32`},
	} {
		vs, err := parseAxes(t, test.args).variants()
		if err != nil {
			t.Fatal(err)
		}
		if test.from > maxSize && bench.ThisMachine().Memory == 0 {
			continue // nothing is too large if nobody knows how much there is
		}
		size, err := fit(&bench.Runner{}, vs, test.from)
		if _, usage := errors.AsType[cli.UsageError](err); usage != (test.want != "") || usage &&
			!strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.args, err, test.want)
		} else if !usage && (!test.fits(size) || vs[0].M != size || vs[len(vs)-1].K != size) {
			t.Errorf("%s: size %d from %d, in %+v", test.args, size, test.from, vs[0])
		}
	}
}

func TestRoundSize(t *testing.T) {
	for size, want := range map[float64]int{3: minSize, 127: minSize, 300: 256, 1023: 896, 1024: 1024, 7157: maxSize,
		1e9: maxSize} {
		if got := roundSize(size); got != want {
			t.Errorf("roundSize(%v) = %d, want %d", size, got, want)
		}
	}
}
