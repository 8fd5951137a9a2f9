package asm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// fake returns a processor with the features of the last set given and all before it.
func fake(vendor string, family, model int, sets ...isa) cpu {
	features := map[string]bool{}
	for _, set := range sets {
		for _, f := range set {
			features[f] = true
		}
	}
	return cpu{amd: vendor == "amd", intel: vendor == "intel", family: family, model: model,
		has: func(f string) bool { return features[f] }}
}

func TestPolicy(t *testing.T) {
	withoutVL := isa{"AVX512F", "AVX512BW", "AVX512DQ", "BMI2", "AVX512BF16"}
	withoutBMI2 := isa{"AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX512BF16"}
	for _, c := range []struct {
		name           string
		cpu            cpu
		processor      string
		bf16, f16, f32 string // of f64 it is that of f32
	}{
		{"Zen 5", fake("amd", 0x1a, 2, isaAVX2, isaAVX512BF16), "zen5", "avx512bf16", "avx512", "avx512"},
		{"Zen 4", fake("amd", 0x19, 0x11, isaAVX2, isaAVX512BF16), "zen4", "avx512bf16", "avx512", "avx512"},
		{"Zen 3", fake("amd", 0x19, 1, isaAVX2), "zen3", "avx2", "avx2", "avx2"},
		{"Cooper Lake", fake("intel", 6, 0x55, isaAVX2, isaAVX512BF16), "intel", "avx512bf16", "avx512", "avx512"},
		{"Skylake-SP", fake("intel", 6, 0x55, isaAVX2, isaAVX512), "intel", "avx512", "avx512", "avx512"},
		{"Sapphire Rapids, no tiles", fake("intel", 6, 0x8f, isaAVX2, isaAVX512BF16), "intel", "avx512", "avx512", "avx512"},
		{"Sapphire Rapids", fake("intel", 6, 0x8f, isaAVX2, isaAVX512BF16, isaAMX), "intel", "amx", "avx512", "avx512"},
		{"Haswell", fake("intel", 6, 0x3c, isaAVX2), "intel", "avx2", "avx2", "avx2"},
		{"no VL", fake("amd", 0x1a, 2, isaAVX2, withoutVL), "zen5", "avx2", "avx2", "avx2"},
		{"no BMI2", fake("amd", 0x1a, 2, isaAVX2, withoutBMI2), "zen5", "avx2", "avx2", "avx2"},
		{"Nehalem", fake("intel", 6, 0x1a), "intel", "go", "go", "go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.cpu.name(); got != c.processor {
				t.Errorf("tables call it %s, not %s", got, c.processor)
			}
			ks := register(c.cpu)
			for typ, want := range map[Type]string{BF16: c.bf16, F16: c.f16, F32: c.f32, F64: c.f32} {
				if !assembled {
					want = "go"
				}
				if typ == F64 {
					want += "f64"
				}
				chosen := choose(ks, Native)[typ]
				if chosen.Name != want {
					t.Errorf("%v: %s is chosen, want %s", typ, chosen.Name, want)
				}
				for _, k := range ks {
					why := k.Why(typ)
					if got := strings.HasPrefix(why, "chosen for "+typ.String()+": "); got != (k == chosen) {
						t.Errorf("%v: %s says %q, but %s is chosen", typ, k.Name, why, chosen.Name)
					}
				}
			}
		})
	}
}

// TestSlowDotOrder checks that the order of preference follows the core.
func TestSlowDotOrder(t *testing.T) {
	ks := register(fake("intel", 6, 0x8f, isaAVX2, isaAVX512BF16))
	if ks[0].Name != "amx" || ks[1].Name != "avx512" || ks[2].Name != "avx512bf16" {
		t.Errorf("preference on Sapphire Rapids begins %s, %s, %s; want amx, avx512, avx512bf16", ks[0].Name,
			ks[1].Name, ks[2].Name)
	}
}

func TestLacks(t *testing.T) {
	err := fake("intel", 6, 0x8f, isaAVX512).lacks(isaAVX512BF16)
	if err == nil || !strings.Contains(err.Error(), "AVX512BF16") || strings.Contains(err.Error(), "AVX512F") {
		t.Errorf("lacks: %v, want only AVX512BF16 named", err)
	}
}

// TestIndex finds every kernel at its place.
func TestIndex(t *testing.T) {
	for i, k := range Kernels() {
		if k.Index != i || Named(k.Name) != k {
			t.Errorf("kernel %d: %q has index %d", i, k.Name, k.Index)
		}
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		t    Type
		name string
		want string // part of the error
	}{
		{F32, "gobf16", `asm: kernel "gobf16" does not multiply f32; choices: `},
		{F16, "avx512bf16", `asm: kernel "avx512bf16" does not multiply f16; choices: `},
		{BF16, "sse", `asm: kernel "sse" is unknown; choices: `},
		{F16, "gobf16, avx512bf16", `asm: kernel "avx512bf16" does not multiply f16; choices: `},
		{BF16, "hopper-go,hopper-avx2", `asm: kernel "hopper-go" computes in hopper arithmetic, not native; choices: `},
		{F32, "gobf16,sse", `asm: kernel "sse" of "gobf16,sse" is unknown; choices: `},
		{BF16, "gobf16,sse", `asm: kernel "sse" of "gobf16,sse" is unknown; choices: `},
		{F32, "go,", `asm: kernel "" of "go," is unknown; choices: `},
		{F32, ",go", `asm: kernel "" of ",go" is unknown; choices: `},
		{BF16, "gobf16, ,go", `asm: kernel "" of "gobf16, ,go" is unknown; choices: `},
		{F32, ",", `asm: kernel "" of "," is unknown; choices: `},
		{F64, "avx512", `asm: kernel "avx512" does not multiply f64; choices: `},
		{F64, "go, gobf16", `asm: kernel "gobf16" does not multiply f64; choices: `},
		{F32, "gof64", `asm: kernel "gof64" does not multiply f32; choices: `},
		{Type(9), "", `asm: there is no type Type(9)`},
	} {
		k, err := Select(c.t, c.name)
		if k != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Select(%v, %q) = %v, %v; want error %q", c.t, c.name, k, err, c.want)
		}
		if c.t < numTypes && !strings.Contains(err.Error(), "go") {
			t.Errorf("Select(%v, %q): %v does not list the portable kernel", c.t, c.name, err)
		}
	}
	for _, k := range Kernels() {
		for typ := range Type(numTypes) {
			if !k.Accepts(typ) {
				continue
			}
			got, err := SelectArithmetic(typ, k.Arithmetic, k.Name)
			switch {
			case k.Supported() == nil && got != k:
				t.Errorf("Select(%v, %q) = %v, %v", typ, k.Name, got, err)
			case k.Supported() != nil && (!errors.Is(err, k.Supported()) ||
				!strings.Contains(err.Error(), "choices: ")):
				t.Errorf("Select(%v, %q): %v, want %v and the choices", typ, k.Name, err, k.Supported())
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { Select(BF16, "go"); Select(F32, "") }); n != 0 {
		t.Errorf("Select allocates %v times", n)
	}
}

// TestSelectEnv runs itself with LEAFHOPPER_KERNEL or GODEBUG set, because they are read once per process.
func TestSelectEnv(t *testing.T) {
	if os.Getenv("ASM_TEST_CHILD") != "" {
		k, err := Select(F32, "")
		if err != nil {
			os.Stdout.WriteString("error: " + err.Error() + "\n")
		} else {
			os.Stdout.WriteString("kernel: " + k.Name + ", AVX-512: " + fmt.Sprint(Named("avx512").Supported()) + "\n")
		}
		return
	}
	without2 := "kernel: go, "
	without512 := without2
	if Named("avx2").Supported() == nil {
		without512 = "kernel: avx2, "
	}
	lacks := ""
	if Named("avx512").Supported() == nil {
		lacks = "AVX-512: this processor, its operating system or GODEBUG=" + debugged("cpu.avx512f=off") +
			" lacks AVX512F\n"
	}
	for _, c := range []struct{ env, value, want string }{
		{KernelEnv, "go", "kernel: go, "},
		{KernelEnv, "gobf16", `error: asm: kernel "gobf16" (from LEAFHOPPER_KERNEL) does not multiply f32; choices: `},
		{KernelEnv, "bogus", `error: asm: kernel "bogus" (from LEAFHOPPER_KERNEL) is unknown; choices: `},
		{KernelEnv, "go,", `error: asm: kernel "" of "go," (from LEAFHOPPER_KERNEL) is unknown; choices: `},
		{KernelEnv, ",go", `error: asm: kernel "" of ",go" (from LEAFHOPPER_KERNEL) is unknown; choices: `},
		{"GODEBUG", debugged("cpu.avx512f=off"), without512 + lacks},
		{"GODEBUG", debugged("cpu.avx512vl=off"), without512},
		{"GODEBUG", debugged("cpu.fma=off"), without2},
		{"GODEBUG", debugged("cpu.avx2=off"), without2},
		{"GODEBUG", debugged("gctrace=0,cpu.avx=off"), without2},
		{"GODEBUG", debugged("cpu.all=off"), without2},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSelectEnv$", "-test.v")
		cmd.Env = append(os.Environ(), "ASM_TEST_CHILD=1", KernelEnv+"=", c.env+"="+c.value)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s=%s: %v\n%s\nwant %q", c.env, c.value, err, out, c.want)
		}
	}
}

// debugged returns GODEBUG as it is with more of it.
func debugged(more string) string { return strings.TrimPrefix(os.Getenv("GODEBUG")+","+more, ",") }

// TestFeatures checks that no set names a feature that there is not.
func TestFeatures(t *testing.T) {
	for _, f := range isaAMX {
		if _, ok := features[f]; !ok {
			t.Errorf("there is no feature %s", f)
		}
	}
}

// TestSelectSeveral pins a kernel for each of some types.
func TestSelectSeveral(t *testing.T) {
	const names = "gobf16, hopper-go,gof64,go"
	for typ, want := range map[Type]string{BF16: "gobf16", E5M2: "gobf16", F16: "go", F32: "go", F64: "gof64"} {
		if k, err := Select(typ, names); err != nil || k.Name != want {
			t.Errorf("%v: %v, %v, want %s", typ, k, err, want)
		}
	}
	if k, err := SelectArithmetic(F32, Hopper, names); err != nil || k.Name != "hopper-go" {
		t.Errorf("Hopper: %v, %v", k, err)
	}
}
