package asm

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"
)

// KernelEnv is the environment variable that pins a kernel by name, or several, see [SelectArithmetic]. It is read when
// the program starts.
const KernelEnv = "LEAFHOPPER_KERNEL"

var envKernel = os.Getenv(KernelEnv)

var (
	errPurego = errors.New("this build has no assembly for it (another architecture, or -tags purego)")

	kernels = register(machine())
	pinned  = pins(Names(envKernel))
	best    = [...][numTypes]*Kernel{Native: choose(kernels, Native), Hopper: choose(kernels, Hopper)}
)

// register builds every kernel, runnable or not: the native ones, then those of Hopper's arithmetic, in order of
// preference.
func register(c cpu) []*Kernel {
	ks := []*Kernel{
		{
			Name: "amx", ISA: "AMX-BF16", needs: isaAMX, MR: amxMR, NR: amxNR, KPack: 2, step: amxStep,
			Ref: mulTiles, functions: amx,
		},
		{
			Name: "avx512bf16", ISA: "AVX512-BF16", needs: isaAVX512BF16, MR: 8, NR: 32, KPack: 2,
			Ref: mulDotBF16, functions: avx512BF16,
		},
		{
			Name: "avx512", ISA: "AVX-512", needs: isaAVX512, MR: 8, NR: 32, KPack: 1,
			Ref: mulFMA[float32](8, 32), functions: avx512,
		},
		{
			Name: "avx2", ISA: "AVX2+FMA+F16C", needs: isaAVX2, MR: avx2MR, NR: avx2NR, KPack: 1,
			Ref: mulFMA[float32](avx2MR, avx2NR), functions: avx2,
		},
		{
			Name: "go", ISA: "Go", MR: goMR, NR: goNR, KPack: 1,
			Ref: mulGo[float32], functions: functions{
				mul: mulGo[float32], lanes: lanesGo(1, chainGo[float32], BF16, F16, F32),
				peak: peakGo[float32], flops: peakGoFlops,
			},
		},
		{
			Name: "gobf16", ISA: "Go", MR: 8, NR: 32, KPack: 2,
			Ref: mulDotBF16, functions: functions{
				mul: mulDotBF16, lanes: lanesGo(2, chainBF16, BF16), peak: peakDotBF16, flops: peakDotBF16Flops,
			},
		},
		{
			Name: "goamx", ISA: "Go", MR: amxMR, NR: amxNR, KPack: 2, step: amxStep,
			Ref: mulTiles, functions: functions{
				strip: stripTiles, rows: stripRowsTiles, stores: StoreBF16,
				packA: withoutTiles.packA, packB: withoutTiles.packB, stream: withoutTiles.stream,
				lanes: withoutTiles.lanes, sweep: sweepGeneric(&tilesShape, mulTiles),
				peak: peakDotBF16, flops: peakDotBF16Flops,
			},
		},
		{
			Name: "avx512f64", ISA: "AVX-512", needs: isaAVX512, MR: 8, NR: 16, KPack: 1, Sum: F64,
			Ref: mulFMA[float64](8, 16), functions: avx512F64,
		},
		{
			Name: "avx2f64", ISA: "AVX2+FMA", needs: isaAVX2, MR: avx2MR, NR: avx2NR / 2, KPack: 1, Sum: F64,
			Ref: mulFMA[float64](avx2MR, avx2NR/2), functions: avx2F64,
		},
		{
			Name: "gof64", ISA: "Go", MR: goMR, NR: goNR, KPack: 1, Sum: F64,
			Ref: mulGo[float64], functions: functions{
				mul: mulGo[float64], lanes: lanesGo(1, chainGo[float64], F64),
				peak: peakGo[float64], flops: peakGoFlops,
			},
		},
		{
			Name: "hopper-avx512", ISA: "AVX-512", Arithmetic: Hopper, needs: isaAVX512, MR: 8, NR: 64, KPack: 1,
			Ref: hopperShape512.mul, RefF16: hopperShape512.mulF16, hopper: &hopperShape512, functions: hopper512,
		},
		{
			Name: "hopper-avx2", ISA: "AVX2+F16C", Arithmetic: Hopper, needs: isaAVX2, MR: 4, NR: 24, KPack: 1,
			Ref: hopperShape256.mul, RefF16: hopperShape256.mulF16, hopper: &hopperShape256, functions: hopper256,
		},
		{
			Name: "hopper-go", ISA: "Go", Arithmetic: Hopper, MR: 4, NR: 16, KPack: 1,
			Ref: hopperShapeGo.mul, RefF16: hopperShapeGo.mulF16, hopper: &hopperShapeGo, functions: functions{
				mul: hopperShapeGo.mul, mulF16: hopperShapeGo.mulF16, peak: peakHopperGo, flops: peakHopperGoFlops,
			},
		},
	}
	if c.slowDotBF16() {
		// The order is the order of preference: f32 FMA first where VDPBF16PS is the slower of the two.
		ks[1], ks[2] = ks[2], ks[1]
	}
	for i, k := range ks {
		k.Index, k.err = i, c.lacks(k.needs)
		if k.Name == "amx" && k.err == nil {
			k.err = c.lacksTiles()
		}
		k.complete()
	}
	explain(ks, c)
	return ks
}

// complete adds what follows from the functions of a kernel.
func (k *Kernel) complete() {
	if k.Sum != F64 {
		k.Sum = F32
	}
	k.Word = k.Sum.Size()
	for t := range Type(numTypes) { // fp8 after bf16, by way of which it is packed
		for slot, kContiguous := range []bool{false, true} {
			if !k.Accepts(t) {
				continue
			}
			if k.packA[t][slot] == nil {
				k.packA[t][slot] = k.packer(t, sideA, kContiguous)
			}
			if k.packB[t][slot] == nil {
				k.packB[t][slot] = k.packer(t, sideB, kContiguous)
			}
		}
	}
	if k.hopper != nil && k.finish == nil {
		k.finish = k.hopper.finishGo
	}
	strip := k.strip
	k.Mul, k.MulF16, k.Peak, k.PeakFlops = k.mul, k.mulF16, k.peak, k.flops
	switch {
	case k.Mul != nil:
	case strip != nil:
		k.Mul = func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
			strip(k, m, a, b, src, lds, dst, ldd, 0)
		}
	case k.err == nil:
		k.err = errPurego
	}
}

// packer returns the packer of one side where the functions of the kernel have none: for fp8 one by way of bf16, for
// other types one in Go.
func (k *Kernel) packer(t Type, side panelSide, kContiguous bool) PackFunc {
	width, native := k.MR, k.packA[BF16]
	if side == sideB {
		width, native = k.NR, k.packB[BF16]
	}
	switch {
	case k.hopper != nil:
		return k.hopper.packer(t, side, kContiguous)
	case t.is8():
		return packing8(k, t, width, kContiguous, native[packSlot(kContiguous)])
	case k.step == amxStep && side == sideA:
		return packTilesA(kContiguous)
	case k.step == amxStep:
		return packTilesB(kContiguous)
	}
	return packerGo(t, k.KPack, width, kContiguous)
}

// packerGo returns the plain-Go packer into panels of width words.
func packerGo(t Type, kpack, width int, kContiguous bool) PackFunc {
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		packGeneric(t, kpack, width, kContiguous, dst, src, stride, r, k)
	}
}

// choose returns the kernel of an arithmetic that is preferred for each type: the first that runs and accepts it. The
// models of VDPBF16PS and TDPBF16PS come last and so are never chosen before the portable kernel.
func choose(ks []*Kernel, arith Arithmetic) (best [numTypes]*Kernel) {
	for t := range Type(numTypes) {
		for _, k := range ks {
			if k.Arithmetic == arith && k.Accepts(t) && k.err == nil {
				best[t] = k
				break
			}
		}
	}
	return best
}

// Kernels returns all kernels, whether they run here or not: the native ones, then those of Hopper's arithmetic, each
// in the order in which they are preferred on this machine.
func Kernels() []*Kernel { return slices.Clone(kernels) }

// Select returns the native kernel called name for operands of type t; see [SelectArithmetic].
func Select(t Type, name string) (*Kernel, error) { return SelectArithmetic(t, Native, name) }

// SelectArithmetic returns the kernel of an arithmetic that is called name, for operands of type t, or of several names
// with commas between them the first that has the arithmetic and multiplies t. An empty name means the value of
// LEAFHOPPER_KERNEL or, if that is empty or names no kernel of the arithmetic, the best kernel that runs here. A kernel
// that cannot run here is an error, which lists those that can be had, and so is a name that is unknown, wherever it
// stands, or if none has the arithmetic or multiplies t; a type or an arithmetic that does not exist is one too.
func SelectArithmetic(t Type, arith Arithmetic, name string) (*Kernel, error) {
	switch {
	case t >= numTypes:
		return nil, fmt.Errorf("asm: there is no type %v; types: %s", t, strings.Join(typeNames[:], ", "))
	case int(arith) >= len(best):
		return nil, fmt.Errorf("asm: there is no arithmetic %v; arithmetics: native, hopper", arith)
	}
	k, from := best[arith][t], ""
	if k == nil {
		return nil, fmt.Errorf("asm: no kernel multiplies %v in %v arithmetic", t, arith)
	}
	if name == "" {
		if envKernel == "" || !pinned[arith] {
			return k, nil
		}
		name, from = envKernel, " (from "+KernelEnv+")"
	}
	if k != nil && k.Name == name {
		return k, nil
	}
	k, err := firstNamed(t, arith, name, from)
	switch {
	case err != nil:
		return nil, err
	case k.err != nil:
		return nil, fmt.Errorf("asm: kernel %q%s cannot run: %w; choices: %s", k.Name, from, k.err, choices(t, arith))
	}
	return k, nil
}

// firstNamed returns the first kernel of a list of names that has the arithmetic and multiplies t, whether it runs here
// or not. from is where the list is from, for errors.
func firstNamed(t Type, arith Arithmetic, list, from string) (*Kernel, error) {
	var k, other *Kernel                  // the first that will do, and one that will not, of which an error tells
	for rest, more := list, true; more; { // as Names, which allocates
		var one string
		one, rest, more = strings.Cut(rest, ",")
		one = strings.TrimSpace(one)
		switch next := Named(one); {
		case next == nil && one == list:
			return nil, fmt.Errorf("asm: kernel %q%s is unknown; choices: %s", one, from, choices(t, arith))
		case next == nil:
			return nil, fmt.Errorf("asm: kernel %q of %q%s is unknown; choices: %s", one, list, from, choices(t, arith))
		case k != nil: // the first counts
		case next.Arithmetic != arith:
			other = cmp.Or(other, next)
		case !next.Accepts(t):
			other = next
		default:
			k = next
		}
	}
	switch {
	case k != nil:
		return k, nil
	case other.Arithmetic != arith:
		return nil, fmt.Errorf("asm: kernel %q%s computes in %v arithmetic, not %v; choices: %s",
			other.Name, from, other.Arithmetic, arith, choices(t, arith))
	}
	return nil, fmt.Errorf("asm: kernel %q%s does not multiply %v; choices: %s", other.Name, from, t, choices(t, arith))
}

// pins reports for each arithmetic whether one of some names is that of a kernel of it, or of none.
func pins(names []string) (is [len(best)]bool) {
	for arith := range is {
		is[arith] = slices.ContainsFunc(names, func(name string) bool {
			k := Named(name)
			return k == nil || k.Arithmetic == Arithmetic(arith)
		})
	}
	return is
}

// Names returns the names of kernels that have commas between them.
func Names(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// Named returns the kernel called name, whether it runs here or not, or nil.
func Named(name string) *Kernel {
	for _, k := range kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// choices lists the kernels of an arithmetic that can run t here.
func choices(t Type, arith Arithmetic) string {
	var names []string
	for _, k := range kernels {
		if k.Arithmetic == arith && k.Accepts(t) && k.err == nil {
			names = append(names, k.Name)
		}
	}
	return strings.Join(names, ", ")
}
