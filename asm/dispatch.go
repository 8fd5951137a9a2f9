package asm

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
	syscpu "golang.org/x/sys/cpu"
)

// The policy.
//
// AMX multiplies 16 times as many bf16 as an f32 FMA in the same time, wherever a core has it and the operating
// system lets this process use its tiles.
//
// VDPBF16PS multiplies twice as many elements as an f32 FMA, so where it issues at the rate of FMA (AMD from Zen 4,
// Intel's Cooper Lake) it is twice as fast. On Sapphire Rapids and later Intel cores it is split into several
// operations and is slower than FMA (86 against 176 GFLOP/s measured on one core), so there bf16 is widened while it is
// packed and multiplied in f32. f32 and f16 always take the widest FMA.
//
//	bf16, fp8    amx > avx512bf16 (fast cores) > avx512 > avx2 > go
//	f16, f32     avx512 > avx2 > go
//	f64          avx512f64 > avx2f64 > gof64
//
// On a core with slow VDPBF16PS avx512bf16 comes right after avx512. gobf16 and
// goamx, the exact models of VDPBF16PS and TDPBF16PS, run only when they are pinned.

// An isa is the set of CPU features that a kernel needs, by the names of [features]. Each set holds those that its
// own imply, so that who turns one of them off turns off all that is built on it.
type isa []string

var (
	isaAVX2       = isa{"AVX", "AVX2", "FMA", "F16C"}
	isaAVX512     = append(slices.Clip(isaAVX2), "AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "BMI2")
	isaVBMI       = append(slices.Clip(isaAVX512), "AVX512VBMI")
	isaAVX512BF16 = append(slices.Clip(isaAVX512), "AVX512BF16")
	isaAMX        = append(slices.Clip(isaAVX512BF16), "AMXTILE", "AMXBF16")
)

// features says which features this process may use: those of the processor, without those whose registers the
// operating system does not save, and without those that GODEBUG turns off (cpu.avx2=off, the name in lower case; see
// [syscpu]).
var features = map[string]bool{
	"AVX": syscpu.X86.HasAVX, "AVX2": syscpu.X86.HasAVX2, "FMA": syscpu.X86.HasFMA,
	"F16C": syscpu.X86.HasF16C, "BMI2": syscpu.X86.HasBMI2,
	"AVX512F": syscpu.X86.HasAVX512F, "AVX512BW": syscpu.X86.HasAVX512BW, "AVX512DQ": syscpu.X86.HasAVX512DQ,
	"AVX512VL": syscpu.X86.HasAVX512VL, "AVX512VBMI": syscpu.X86.HasAVX512VBMI,
	"AVX512BF16": syscpu.X86.HasAVX512BF16, "AMXTILE": syscpu.X86.HasAMXTile, "AMXBF16": syscpu.X86.HasAMXBF16,
}

// hasVBMI says whether this process may use AVX512-VBMI, with which AVX-512 looks up what fp8 becomes.
var hasVBMI = machine().lacks(isaVBMI) == nil

// A cpu is what the policy needs to know of a processor.
type cpu struct {
	amd, intel    bool
	family, model int
	has           func(feature string) bool
	tiles         func() error // asks the operating system for the tiles of AMX; nil where there is nothing to ask
}

// machine returns the processor this process runs on.
func machine() cpu {
	c := cpu{
		amd:    cpuid.CPU.VendorID == cpuid.AMD,
		intel:  cpuid.CPU.VendorID == cpuid.Intel,
		family: cpuid.CPU.Family,
		model:  cpuid.CPU.Model,
		has:    func(f string) bool { return features[f] },
	}
	if assembled {
		c.tiles = requestTiles
	}
	return c
}

// lacks returns nil if the processor has all features, and otherwise an error that names those it lacks.
func (c cpu) lacks(need isa) error {
	var missing []string
	for _, f := range need {
		if !c.has(f) {
			missing = append(missing, f)
		}
	}
	if missing == nil {
		return nil
	}
	switch debug := os.Getenv("GODEBUG"); {
	case strings.Contains(debug, "cpu."):
		return fmt.Errorf("this processor, its operating system or GODEBUG=%s lacks %s",
			debug, strings.Join(missing, ", "))
	default:
		return fmt.Errorf("this processor or its operating system lacks %s", strings.Join(missing, ", "))
	}
}

// lacksTiles returns nil if the operating system lets this process use the tiles of AMX, and otherwise the reason why
// not.
func (c cpu) lacksTiles() error {
	if c.tiles != nil {
		if err := c.tiles(); err != nil {
			return fmt.Errorf("the operating system does not let this process use AMX tiles: %w", err)
		}
	}
	return nil
}

// fastDotBF16 reports whether VDPBF16PS issues at the rate of an f32 FMA.
func (c cpu) fastDotBF16() bool {
	const cooperLake = 0x55 // the model number of Skylake-SP too, which lacks the instruction
	return c.amd && c.family >= 0x19 || c.intel && c.family == 6 && c.model == cooperLake
}

// slowDotBF16 reports whether the processor has VDPBF16PS and an f32 FMA that beats it.
func (c cpu) slowDotBF16() bool { return c.lacks(isaAVX512BF16) == nil && !c.fastDotBF16() }

// Processor names the processor as the tables do that say what differs between them: zen3, zen4, zen5, intel or other.
func Processor() string { return machine().name() }

func (c cpu) name() string {
	switch {
	case c.intel:
		return "intel"
	case !c.amd || c.family < 0x19:
		return "other"
	case c.family > 0x19:
		return "zen5"
	case c.has("AVX512F"):
		return "zen4"
	}
	return "zen3"
}

// Has reports whether this process may use a feature of the processor, by the names of golang.org/x/sys/cpu, in upper
// case: "AVX512VBMI". It knows those that kernels need.
func Has(feature string) bool { return features[feature] }

// explain fills in the reason for or against each kernel, for each type.
func explain(ks []*Kernel, c cpu) {
	for _, k := range ks {
		chosen := choose(ks, k.Arithmetic)
		for t := range Type(numTypes) {
			k.why[t] = reason(k, chosen[t], t, c)
		}
	}
}

func reason(k, chosen *Kernel, t Type, c cpu) string {
	switch {
	case k.Arithmetic == Hopper:
		return reasonHopper(k, chosen, t)
	case !k.Accepts(t):
		return fmt.Sprintf("not for %v: it multiplies %s only", t, multiplies(k))
	case k.err != nil:
		return fmt.Sprintf("not for %v: %v", t, k.err)
	case k == chosen:
		return "chosen for " + t.String() + ": " + strength(k, t, c)
	case k.Name == "gobf16":
		return fmt.Sprintf("not for %v unless pinned: it is the exact but slow model of VDPBF16PS", t)
	case k.Name == "goamx":
		return fmt.Sprintf("not for %v unless pinned: it is the exact but slow model of TDPBF16PS", t)
	case k.Name == "avx512bf16" && c.slowDotBF16():
		return fmt.Sprintf("not for %v: VDPBF16PS is slower than f32 FMA on this core, so %s is preferred",
			t, chosen.Name)
	}
	return fmt.Sprintf("not for %v: %s is faster", t, chosen.Name)
}

// reasonHopper is reason for Hopper's arithmetic.
func reasonHopper(k, chosen *Kernel, t Type) string {
	switch {
	case !k.Accepts(t):
		return fmt.Sprintf("not for %v: Hopper's arithmetic has %s", t, multiplies(k))
	case k.err != nil:
		return fmt.Sprintf("not for %v in Hopper's arithmetic: %v", t, k.err)
	case k != chosen:
		return fmt.Sprintf("not for %v in Hopper's arithmetic: %s has the same bits and is faster", t, chosen.Name)
	case k.Name == "hopper-go":
		return fmt.Sprintf("chosen for %v in Hopper's arithmetic: no assembly kernel runs here, portable Go does", t)
	}
	return fmt.Sprintf("chosen for %v in Hopper's arithmetic: %s is the widest that this core has for it", t, k.ISA)
}

// multiplies says what a kernel multiplies that does not accept every type.
func multiplies(k *Kernel) string {
	switch {
	case k.Sum == F64:
		return "f64"
	case k.KPack == 2:
		return "pairs of bf16"
	}
	return "types of up to 32 bits"
}

func strength(k *Kernel, t Type, c cpu) string {
	widened := ""
	if t.Size()*k.KPack < k.Word {
		widened = ", " + t.String() + " widened while packing"
	}
	switch k.Name {
	case "amx":
		return "TDPBF16PS does 16 times the flops of f32 FMA" + widened
	case "avx512bf16":
		return "VDPBF16PS does twice the flops of f32 FMA on this core" + widened
	case "avx512":
		if (t == BF16 || t.is8()) && c.slowDotBF16() {
			return "512-bit f32 FMA beats VDPBF16PS on this core" + widened
		}
		return "512-bit f32 FMA is the fastest that this core has for it" + widened
	case "avx512f64":
		return "512-bit f64 FMA is the fastest that this core has for it"
	case "avx2f64":
		return "256-bit f64 FMA is the fastest that this core has for it"
	case "avx2":
		return "256-bit f32 FMA is the fastest that this core has for it" + widened
	}
	return "no assembly kernel runs here, portable Go does" + widened
}
