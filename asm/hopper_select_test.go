package asm

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestHopperPolicy(t *testing.T) {
	for _, c := range []struct {
		name string
		cpu  cpu
		want string
	}{
		{"Zen 5", fake("amd", 0x1a, 2, isaAVX2, isaAVX512BF16), "hopper-avx512"},
		{"Zen 3", fake("amd", 0x19, 1, isaAVX2), "hopper-avx2"},
		{"no VL", fake("amd", 0x1a, 2, isaAVX2, isa{"AVX512F", "AVX512BW", "AVX512DQ"}), "hopper-avx2"},
		{"Nehalem", fake("intel", 6, 0x1a), "hopper-go"},
	} {
		ks := register(c.cpu)
		want := c.want
		if !assembled {
			want = "hopper-go"
		}
		for typ := range Type(numTypes) {
			chosen := choose(ks, Hopper)[typ]
			if typ == F64 {
				if chosen != nil {
					t.Errorf("%s: %s is chosen for f64", c.name, chosen.Name)
				}
				continue
			}
			if chosen.Name != want {
				t.Errorf("%s: %v: %s is chosen, want %s", c.name, typ, chosen.Name, want)
			}
			for _, k := range ks {
				if got := strings.HasPrefix(k.Why(typ),
					"chosen for "+typ.String()+" in Hopper's arithmetic: "); got != (k == chosen) {
					t.Errorf("%s: %v: %s says %q, but %s is chosen", c.name, typ, k.Name, k.Why(typ), chosen.Name)
				}
			}
		}
	}
}

func TestSelectArithmetic(t *testing.T) {
	for _, c := range []struct {
		arith Arithmetic
		name  string
		want  string // part of the error
	}{
		{Native, "hopper-go", `asm: kernel "hopper-go" computes in hopper arithmetic, not native; choices: `},
		{Hopper, "go", `asm: kernel "go" computes in native arithmetic, not hopper; choices: `},
		{Hopper, "sse", `asm: kernel "sse" is unknown; choices: `},
		{Arithmetic(7), "", `asm: there is no arithmetic Arithmetic(7); arithmetics: native, hopper`},
	} {
		k, err := SelectArithmetic(BF16, c.arith, c.name)
		if k != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("SelectArithmetic(bf16, %v, %q) = %v, %v; want error %q", c.arith, c.name, k, err, c.want)
		}
	}
	const none = "asm: no kernel multiplies f64 in hopper arithmetic"
	if k, err := SelectArithmetic(F64, Hopper, ""); k != nil || err == nil || err.Error() != none {
		t.Errorf("SelectArithmetic(f64, hopper) = %v, %v; want error %q", k, err, none)
	}
	if k, err := Select(E4M3, ""); err != nil || !k.Accepts(E4M3) || k.Arithmetic != Native {
		t.Errorf("Select(e4m3) = %v, %v", k, err)
	}
	if k, err := SelectArithmetic(E5M2, Hopper, ""); err != nil || !k.Accepts(E5M2) || k.KStep(E5M2) != 32 {
		t.Errorf("SelectArithmetic(e5m2, hopper) = %v, %v", k, err)
	}
	if k, err := SelectArithmetic(F16, Hopper, "hopper-go"); err != nil || k.Name != "hopper-go" ||
		k.Arithmetic != Hopper {
		t.Errorf("hopper-go: %v, %v", k, err)
	}
}

// TestKernelSizes checks what the kernels say of their panels.
func TestKernelSizes(t *testing.T) {
	for _, k := range Kernels() {
		for typ := range Type(numTypes) {
			if !k.Accepts(typ) {
				continue
			}
			words := 3 * k.KStep(typ)
			a, b := k.PanelA(words), k.PanelB(words)
			switch {
			case k.Arithmetic == Native && (k.KStep(typ) != max(1, k.step) || a != k.MR*words*k.Word ||
				b != k.NR*words*k.Word):
				t.Errorf("%s: %v: KStep %d, panels of %d and %d bytes", k.Name, typ, k.KStep(typ), a, b)
			case k.Arithmetic == Hopper && (k.KStep(typ) < 8 || a%64 != 0 || b%64 != 0 || a < words*k.MR*8 ||
				b < words*k.NR*5):
				t.Errorf("%s: %v: KStep %d, panels of %d and %d bytes", k.Name, typ, k.KStep(typ), a, b)
			}
		}
	}
}

// TestArithmeticEnv runs itself with LEAFHOPPER_KERNEL set: a pin holds for its own arithmetic only.
func TestArithmeticEnv(t *testing.T) {
	if os.Getenv("ASM_TEST_CHILD") != "" {
		for _, arith := range []Arithmetic{Native, Hopper} {
			k, err := SelectArithmetic(BF16, arith, "")
			if err != nil {
				os.Stdout.WriteString(arith.String() + ": " + err.Error() + "\n")
			} else {
				os.Stdout.WriteString(arith.String() + ": " + k.Name + "\n")
			}
		}
		return
	}
	native, hopper := best[Native][BF16].Name, best[Hopper][BF16].Name
	for env, want := range map[string][2]string{
		"go":        {"go", hopper},
		"hopper-go": {native, "hopper-go"},
		"bogus": {`asm: kernel "bogus" (from LEAFHOPPER_KERNEL) is unknown`,
			`asm: kernel "bogus" (from LEAFHOPPER_KERNEL) is unknown`},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestArithmeticEnv$", "-test.v")
		cmd.Env = append(os.Environ(), "ASM_TEST_CHILD=1", KernelEnv+"="+env)
		out, err := cmd.CombinedOutput()
		for i, arith := range []string{"native: ", "hopper: "} {
			if err != nil || !strings.Contains(string(out), arith+want[i]) {
				t.Errorf("%s=%s: %v\n%s\nwant %q", KernelEnv, env, err, out, arith+want[i])
			}
		}
	}
}
