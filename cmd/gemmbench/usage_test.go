package main

import (
	"os"
	"strings"
	"testing"

	"example.com/leafhopper/internal/cli"
)

// TestBadArguments wants exit status 2, one line that names the fault, and
// nothing on standard output, before any product is measured.
func TestBadArguments(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		args string // separated by spaces; _ stands for an empty one
		want string
	}{
		{"frobnicate", `unknown command "frobnicate"; commands: compare, peak, kernels, explain, neighbour, info, help`},
		{"explain -size 8x8", `explain: -size: "8x8" is not MxNxK`},
		{"explain -size 8:9", `explain: -size: "8:9" is not one size`},
		{"explain -size 1,2", `explain: -size: "1,2" is not one size`},
		{"explain 8x8x8,9", `explain: -size: "8x8x8,9" is not one size`},
		{"explain 0", `explain: -size: "0" is outside 1..1048576`},
		{"explain -machine z80", `explain: there is no machine "z80"; machines: zen3, zen4, zen5, intel, amx, go`},
		{"explain -kernel cuda", `explain: -kernel: "cuda" is not a kernel; kernels: auto, `},
		{"explain -trans XY", `explain: -trans: "XY" is not one of NN, NT, TN, TT`},
		{"explain -dtype fp8", `explain: -dtype: "fp8" is not one of bf16, f16, f32, e4m3, e5m2, f64`},
		{"explain -out e4m3", `explain: -out: "e4m3" is not one of f32, bf16, f16, f64`},
		{"explain -out _", "explain: -out: the value is empty"},
		{"explain -dtype f64 -out f32", "explain: A and B hold f64 and C f32: if one holds f64, all have to"},
		{"explain -out f64", "explain: A and B hold bf16 and C f64: if one holds f64, all have to"},
		{"explain -dtype f64 -kernel go -machine zen4", `machine zen4 has no kernel "go" for f64; choices: avx512f64, `},
		{"explain 8x8 -workers 2", `explain: -size: "8x8" is not MxNxK`},
		{"explain 8 -workers 2 9", `explain: unexpected argument "9"`},
		{"explain -batch 0", "explain: -batch: 0 is outside 1..4096"},
		{"explain 8 -batch 4097", "explain: -batch: 4097 is outside 1..4096"},
		{"explain -batch 1,8", `explain: invalid value "1,8" for flag -batch`},
		{"explain -prepacked true", `unexpected argument "true" behind -prepacked; write -prepacked=true or`},
		{"explain 8 -prepacked false", `unexpected argument "false" behind -prepacked; write -prepacked=true or`},
		{"explain true", `explain: unexpected argument "true" (see`},
		{"explain 16 -size 17", `explain: -size: "17" is named beside "16"`},
		{"explain -size 17 16", `explain: -size: "17" is named beside "16"`},
		{"compare -frobnicate", "flag provided but not defined: -frobnicate"},
		{"-frobnicate", "flag provided but not defined: -frobnicate"},
		{"-size 64 extra", `unexpected argument "extra"`},
		{"-size", "flag needs an argument: -size"},
		{"-count x", `invalid value "x" for flag -count`},
		{"-size 0", `-size: "0" is outside 1..1048576`},
		{"-size 99999999999999999999", `"99999999999999999999" has a number that is too large: it is outside 1..1048576`},
		{"-size 8x8x99999999999999999999", `has 99999999999999999999, which is outside 1..1048576`},
		{"-size _", "-size: the value is empty"},
		{"-k _ -size 64", "-k: the value is empty"},
		{"-kernel _", "-kernel: the value is empty"},
		{"-kernel auto,", `-kernel: "" is not a kernel`},
		{"-tile _", "-tile: the value is empty"},
		{"-tile ,auto", `-tile: "" is not MxNxK`},
		{"-o _", "-o: the value is empty"},
		{"peak -kernel _", "peak: -kernel: the value is empty"},
		{"peak -kernel ,go", `peak: -kernel: "" is not a kernel`},
		{"-size 64k", `-size: "64k" is not a number or from:to:step`},
		{"-size 64,,128", `-size: "" is not a number`},
		{"-size 1:2:3:4", `-size: "1:2:3:4" is not a number or from:to:step`},
		{"-size 9:3", `-size: "9:3" is an empty range`},
		{"-size 1:9:0", `-size: "1:9:0" is an empty range`},
		{"-size 1:100000", `-size: "1:100000" has more than 512 values`},
		{"-size 8x8", `-size: "8x8" is not MxNxK`},
		{"-size 8x8x0", `-size: "8x8x0" has 0, which is outside`},
		{"-m -3", `-m: "-3" is outside 1..1048576`},
		{"-n 5000000", `-n: "5000000" is outside`},
		{"-k 1.5", `-k: "1.5" is not a number`},
		{"-dtype fp8", `-dtype: "fp8" is not one of bf16, f16, f32, e4m3, e5m2, f64`},
		{"-dtype e5m2 -arith hopper -kernel go", `kernel "go" computes in native arithmetic, not hopper`},
		{"-out fp64", `-out: "fp64" is not one of f32, bf16, f16, f64`},
		{"-out e4m3 -arith hopper", `-out: "e4m3" is not one of f32, bf16, f16, f64`},
		{"-out _", "-out: the value is empty"},
		{"-out f64", "compare: A and B hold bf16 and C f64: if one holds f64, all have to"},
		{"-dtype f64 -out f32", "compare: A and B hold f64 and C f32: if one holds f64, all have to"},
		{"-dtype f64,f32 -out f64 -size 8", "compare: A and B hold f32 and C f64: if one holds f64, all have to"},
		{"-dtype f64 -arith hopper", "compare: no kernel multiplies f64 in hopper arithmetic"},
		{"-dtype f64 -kernel go", `compare: kernel "go" does not multiply f64; choices: `},
		{"-dtype bf16 -kernel gof64", `compare: kernel "gof64" does not multiply bf16; choices: `},
		{"-dtype f64 -bias", "scales, biases and activations are applied to sums in float32; the operands hold f64"},
		{"-dtype f64 -scales none,row", "compare: scales, biases and activations are applied to sums in float32"},
		{"-dtype f32,f64 -activation relu", "compare: scales, biases and activations are applied to sums in float32"},
		{"-trans NX", `-trans: "NX" is not one of NN, NT, TN, TT`},
		{"-depth 17", `-depth: "17" is outside 0..16`},
		{"-depth -1", `-depth: "-1" is outside 0..16`},
		{"-workers 9999", `-workers: "9999" is outside 0..1024`},
		{"-kernel cuda", `-kernel: "cuda" is not a kernel; kernels: auto, `},
		{"-dtype f32 -kernel gobf16", `kernel "gobf16" does not multiply f32`},
		{"-kernel hopper-go", `kernel "hopper-go" computes in hopper arithmetic, not native`},
		{"-arith native,hopper -kernel go", `kernel "go" computes in native arithmetic, not hopper`},
		{"-arith ampere", `-arith: "ampere" is not one of native, hopper`},
		{"-arith hopper,", `-arith: "" is not one of native, hopper`},
		{"-splitk 0", `-splitk: "0" is outside 1..1024`},
		{"-promotion 48 -arith hopper", "promotion every 48 elements of K is not a multiple of 32"},
		{"-promotion 96 -arith hopper -prepacked", "promotion every 96 elements of K is not a multiple of 64"},
		{"-promotion -32", `-promotion: "-32" is outside 0..1048576`},
		{"-promotion 64 -splitk 2 -arith hopper", "split in 2 parts or promoted every 64 elements"},
		{"-splitk 4", "compare: -splitk: native arithmetic sums K in blocks; it needs -arith hopper"},
		{"-splitk 1,4 -size 64 -arith native", "compare: -splitk: native arithmetic sums K in blocks; it needs"},
		{"-promotion 0,64", "compare: -promotion: native arithmetic sums K in blocks; it needs -arith hopper"},
		{"-promotion 64 -splitk 2 -depth 99", `-depth: "99" is outside`},
		{"-splitk 2000", `-splitk: "2000" is outside 1..1024`},
		{"-activation swish", `-activation: "swish" is not one of identity, relu, gelu, gelutanh, silu, sigmoid, tanh`},
		{"-activation gelu,", `-activation: "" is not one of identity, relu`},
		{"-scales column", `-scales: "column" is not one of none, tensor, row`},
		{"-bias=some", `-bias: "some" is not one of true, false`},
		{"-bias some", `-bias: "some" is not one of true, false`},
		{"-callers 0", `-callers: "0" is outside 1..4096`},
		{"-callers 1,5000", `-callers: "5000" is outside 1..4096`},
		{"-callers many", `-callers: "many" is not a number or from:to:step`},
		{"-callers 1,4 -cold -size 64", "4 callers share A and B and find them in each other's caches: they cannot " +
			"be measured cold"},
		{"-batch 0", `-batch: "0" is outside 1..4096`},
		{"-batch -8", `-batch: "-8" is outside 1..4096`},
		{"-batch 1,5000", `-batch: "5000" is outside 1..4096`},
		{"-batch 99999999999999999999", `has a number that is too large: it is outside 1..4096`},
		{"-batch many", `-batch: "many" is not a number or from:to:step`},
		{"-batch _", "-batch: the value is empty"},
		{"-batch 1,4 -size 64 -trace " + dir + "/t", "compare: a trace tells of one product, not of a batch of 4"},
		{"-batch 4 -callers 1,4 -cold -size 64", "4 callers share A and B and find them in each other's caches"},
		{"-prepacked=maybe", `-prepacked: "maybe" is not one of true, false`},
		{"-prepacked=true,", `-prepacked: "" is not one of true, false`},
		{"-prepacked maybe", `-prepacked: "maybe" is not one of true, false`},
		{"-verify false", `unexpected argument "false" behind -verify; write -verify=true or -verify=false`},
		{"-cold yes -size 64", `unexpected argument "yes" behind -cold; write -cold=true`},
		{"-size 64 -verify=maybe", `invalid boolean value "maybe" for -verify`},
		{"-tile 64x64", `-tile: "64x64" is not MxNxK`},
		{"-tile 64x64x99999", `-tile: "64x64x99999" has 99999, which is outside 0..16384`},
		{"-cpuprofile -", "-cpuprofile: - is not a file"},
		{"-trace -", "-trace: - is not a file"},
		{"-format XML", `-format: "XML" is not one of`},
		{"-alpha 0", "-alpha: 0 leaves no product"},
		{"-alpha NaN", "-alpha: NaN is not a finite float32"},
		{"-alpha x", `-alpha: "x" is not a number`},
		{"-alpha 1e-60", "-alpha: 1e-60 is not zero, but would be as a float32"},
		{"-beta 1e39", "-beta: 1e39 is not a finite float32"},
		{"-beta 1e39 -dtype f64,f32", "-beta: 1e39 is not a finite float32"},
		{"-beta 1e309 -dtype f64", "-beta: 1e309 is not a finite float64"},
		{"-alpha 1e-400 -dtype f64", "-alpha: 1e-400 is not zero, but would be as a float64"},
		{"-alpha 0 -dtype f64", "-alpha: 0 leaves no product"},
		{"-size 8 -beta 1e-60", "-beta: 1e-60 is not zero, but would be as a float32"},
		{"-beta _", "-beta: the value is empty"},
		{"-seed -1", `invalid value "-1" for flag -seed`},
		{"-count 0", "-count: 0 is outside 1..1000000"},
		{"-min-time 0s", "-min-time: 0s is outside"},
		{"-min-time 5", `invalid value "5" for flag -min-time`},
		{"-size 1:100 -depth 0:16", "the lists span more than 512 variants"},
		{"-format xml", `-format: "xml" is not one of table, json, csv, md, benchfmt, svg`},
		{"-o " + dir, "is a directory"},
		{"-o " + dir + "/none/x", "compare: -o: cannot write " + dir + "/none/x: no such file or directory"},
		{"info -o " + dir + "/" + strings.Repeat("x", 300), "info: -o: stat " + dir + "/xxx"},
		{"-cpuprofile " + dir + "/none/x -size 8", "-cpuprofile: open"},
		{"-trace " + dir + "/none/x -size 8", "-trace: open"},
		{"-size 8 -o " + dir + "/x -trace " + dir + "/./x", "compare: -o and -trace name the same file"},
		{"-size 8 -o " + dir + "/x -cpuprofile " + dir + "/x", "compare: -o and -cpuprofile name the same file"},
		{"-size 8 -trace " + dir + "/x -cpuprofile " + dir + "/x",
			"compare: -cpuprofile and -trace name the same file"},
		{"help frobnicate", `help: unknown command "frobnicate"`},
		{"help peak kernels", `help: unexpected argument "kernels"`},
		{"peak -workers 0:3:x", `peak: -workers: "0:3:x" is not a number`},
		{"peak -kernel cuda", `peak: -kernel: "cuda" is not a kernel`},
		{"peak -kernel go -dtype f64", "peak: -kernel: go does not multiply f64"},
		{"peak -kernel gof64 -dtype f32,bf16", "peak: -kernel: gof64 does not multiply f32, bf16"},
		{"peak -dtype f128", `peak: -dtype: "f128" is not one of bf16, f16, f32, e4m3, e5m2, f64`},
		{"peak -count 0", "peak: -count: 0 is outside"},
		{"peak -format csv", `peak: -format: "csv" is not one of table, json`},
		{"neighbour -part noise", `neighbour: -part: "noise" is not one of sleeper, burn, callers`},
		{"neighbour -size 0", `neighbour: -size: "0" is outside 1..1048576`},
		{"neighbour -dtype e4m3", `neighbour: -dtype: "e4m3" is not one of bf16, f16, f32, f64`},
		{"neighbour -workers -1", "neighbour: -workers: -1 is outside 0..1024"},
		{"neighbour -callers 0", `neighbour: -callers: "0" is outside 1..4096`},
		{"neighbour -duration 1ms", "neighbour: -duration: 1ms is outside 50ms..10m"},
		{"neighbour -pause -1s", "neighbour: -pause: -1s is outside 0s..1s"},
		{"neighbour -format csv", `neighbour: -format: "csv" is not one of table, json`},
		{"kernels -format md", `kernels: -format: "md" is not one of table, json`},
		{"kernels all", `kernels: unexpected argument "all"`},
		{"info -x", "flag provided but not defined: -x"},
		{"info -h x", `info: unexpected argument "x"`},
		{"kernels --help x", `kernels: unexpected argument "x"`},
		{"peak -h -count 1 x", `peak: unexpected argument "x"`},
		{"-size 64 -h x", `compare: unexpected argument "x"`},
		{"info -h -x", "flag provided but not defined: -x"},
		{"-h x", `help: unknown command "x"`},
		{"--help info x", `help: unexpected argument "x"`},
	} {
		args := strings.Fields(test.args)
		for i, a := range args {
			args[i] = strings.TrimPrefix(a, "_")
		}
		code, stdout, stderr := gemmbench(t, args...)
		if code != cli.Usage || stdout != "" {
			t.Errorf("%s: exit status %d, stdout %q", test.args, code, stdout)
		}
		if !strings.Contains(stderr, test.want) || !strings.HasPrefix(stderr, "gemmbench: ") ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: stderr %q, want one line with %q", test.args, stderr, test.want)
		}
		for _, name := range []string{": bench: ", ": gemm: ", ": asm: "} {
			if strings.Contains(stderr, name) {
				t.Errorf("%s: stderr %q names a package: %q", test.args, stderr, name)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

func TestHelp(t *testing.T) {
	for args, want := range map[string]string{
		"-h":             "Usage:",
		"--help":         "Usage:",
		"help":           "gemmbench kernels",
		"help compare":   "-cpuprofile",
		"help ":          `the column "scaling"`,
		"help help":      "gemmbench help",
		"help -h":        "130 after an",
		"help --help":    "Usage:",
		"compare -h":     "-cpuprofile",
		"compare --help": "-min-time",
		"-size 64 -h":    "-min-time",
		"-h -h":          "Usage:",
		"-h info":        "-format",
		"info -h -o x":   "-format",
		"help peak":      "-workers",
		"neighbour -h":   "-pause",
		"peak -h":        "-workers",
		"kernels -help":  "-format",
		"info -h":        "-format",
	} {
		if stdout := succeed(t, strings.Fields(args)...); !strings.Contains(stdout, want) {
			t.Errorf("%s: without %q:\n%s", args, want, stdout)
		}
	}
}

// TestExplainBatch wants a line more, and another product, of a batch.
func TestExplainBatch(t *testing.T) {
	const line = "batch    64 products, each one worker's, in 32 slabs for 2 workers\n"
	args := []string{"explain", "64", "-dtype", "f32", "-machine", "zen4", "-workers"}
	one := succeed(t, append(args, "1", "-batch", "1")...)
	if stdout := succeed(t, append(args, "2", "-batch", "64")...); one == "" || stdout != line+one {
		t.Errorf("%s\nwant %sand\n%s", stdout, line, one)
	}
}

// TestExplainKernel names the kernel as compare takes it.
func TestExplainKernel(t *testing.T) {
	for names, same := range map[string]bool{"go GO": true, "go gobf16": false} {
		var said []string
		for _, name := range strings.Fields(names) {
			said = append(said, succeed(t, "explain", "64", "-kernel", name))
		}
		if (said[0] == said[1]) != same {
			t.Errorf("%s: %q", names, said)
		}
	}
	best := succeed(t, "explain", "64")
	if stdout := succeed(t, "explain", "64", "-kernel", "auto"); stdout != best {
		t.Errorf("-kernel auto: %q, without %q", stdout, best)
	}
}
