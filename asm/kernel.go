package asm

import (
	"fmt"
	"unsafe"

	"example.com/leafhopper/internal/enum"
)

// A Type is the element type of a source operand.
type Type uint8

const (
	BF16 Type = iota // bfloat16: the upper half of a float32
	F16              // IEEE 754 binary16
	F32              // IEEE 754 binary32
	E4M3             // 8 bits, 3 of them fraction, without infinities (OCP OFP8)
	E5M2             // 8 bits, 2 of them fraction (OCP OFP8)
	F64              // IEEE 754 binary64

	numTypes = iota
)

// String returns "bf16", "f16", "f32", "e4m3", "e5m2" or "f64".
func (t Type) String() string { return enum.Name("Type", typeNames[:], t) }

// Size returns the size of an element in bytes.
func (t Type) Size() int { return int(sizes[t]) }

var (
	typeNames = [...]string{BF16: "bf16", F16: "f16", F32: "f32", E4M3: "e4m3", E5M2: "e5m2", F64: "f64"}
	sizes     = [...]uint8{BF16: 2, F16: 2, F32: 4, E4M3: 1, E5M2: 1, F64: 8}
)

// Block returns how many elements of K, of this type, native arithmetic sums in a chain: a product of more is the sum
// of those of such blocks, in order. It is a stage of a ring: 256 words of the kernels that are best at the type.
func (t Type) Block() int {
	switch t {
	case BF16, E4M3, E5M2:
		return 512
	}
	return 256
}

// An Arithmetic is what a kernel does between the products and the result.
type Arithmetic uint8

const (
	Native Arithmetic = iota // sums in the way of the processor; each kernel has its own bits
	Hopper                   // the sums of Hopper's tensor core, bit for bit, whatever the processor
)

// String returns "native" or "hopper".
func (a Arithmetic) String() string { return enum.Name("Arithmetic", []string{"native", "hopper"}, a) }

// A KernelFunc computes a strip of m tiles of MR × NR. For p in 0..m-1, and each of three lds of a src whose rows lie
// pitch bytes apart,
//
//	lds         pitch                    EndBlock(pitch)      EndChain(pitch)
//	acc  =      src tile p, or 0         0                    src tile p, or 0
//	acc +=      A panel p · B panel, k words deep, in the order of k
//	dst tile p  = acc                    = src tile p + acc   += acc
//
// A src of nil is zeros, and with EndBlock no tile. The kernels of Hopper's arithmetic know the first only, and the
// last those that are [Kernel.Onto]. What is added to what is there is rounded to nearest even.
//
// The A panels are contiguous, PanelA(k) bytes each; b is one panel of PanelB(k) bytes. k is a multiple of KStep.
// Tiles are row-major, of the kernel's sums, with a row pitch of pitch or ldd bytes, both multiples of 4; tile p starts
// at src + p·MR·pitch and at dst + p·MR·ldd. src may equal dst. k >= 0 (k == 0 copies src, or writes zeros) and m >= 1.
// Panels that start on a multiple of 64 bytes are read fastest.
//
// The assembly cannot be preempted, so keep a call under about 100 µs.
type KernelFunc func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int)

// EndBlock returns the lds of a kernel that ends a block of K: its sum is added to those of src.
func EndBlock(pitch int) int { return -pitch }

// EndChain returns the lds of a kernel that goes on with the sums of a part of a block, in src, and ends it: they are
// added to what is in dst.
func EndChain(pitch int) int { return pitch | 1 }

// pitchOf returns the pitch that lds is for, endsBlock and endsChain whether it is one of those.
func pitchOf(lds int) int    { return max(lds, -lds) &^ 1 }
func endsBlock(lds int) bool { return lds < 0 }
func endsChain(lds int) bool { return lds&1 != 0 }

// functions are what computes for a kernel, by role. Where one is nil there is none, but for packers what
// [Kernel.packer] returns.
type functions struct {
	// The strip kernels: see [KernelFunc] and [Kernel.Strip].
	strip  func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, to Store)
	rows   func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int, to Store)
	stores Store // what strip and rows do besides sums as they are in the caches

	// What kernels in Go and of Hopper's arithmetic have instead, see Kernel.Mul and MulF16; and for the latter what
	// makes the rest of a panel from its values.
	mul, mulF16 KernelFunc
	finish      func(p hopperPanel, t Type, side panelSide, depth int)

	packA, packB [numTypes][2]PackFunc // by orientation, see packSlot
	mulPack      [numTypes][2]mulPackFunc
	stream       [numTypes]streamFuncs
	edge         EdgeFunc
	unpacked     *Unpacked
	lanes        [numTypes]LanesFunc
	sweep        func(s *Sweep)

	peak  func(n int) // see Kernel.Peak
	flops int         // of an iteration
}

// A mulPackFunc is a strip kernel that packs a panel of B besides, see [Packing].
type mulPackFunc func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack Packing)

// streamFuncs are the functions for few rows of A by a B of one type, read once.
type streamFuncs struct {
	by     [2]StreamFunc // by orientation, see packSlot
	rows   [2]int        // of A, at most
	panels PanelsFunc
	width  func(m int) int // columns that panels reads at a time for m rows, or nil
}

// A panelSide is one of the two operands.
type panelSide int

const (
	sideA panelSide = iota
	sideB
)

// A PackFunc copies r rows (of A) or columns (of B) by k elements of a source into ceil(r/R) consecutive panels, each
// ceil(k/KPack) words deep, rounded up to a multiple of KStep. Rows beyond r and elements beyond k become zero.
// stride is the distance in bytes between rows of the source as it lies in memory. r and k may be zero. Nothing
// outside the r × k source elements is read and nothing outside the panels is written.
type PackFunc func(dst, src unsafe.Pointer, stride, r, k int)

// A Kernel is one microkernel with the packers that feed it. Its exported fields are read-only.
type Kernel struct {
	// Name is "amx", "avx512bf16", "avx512", "avx2", "go", "gobf16" or "goamx"; with Hopper's arithmetic
	// "hopper-avx512", "hopper-avx2" or "hopper-go"; of float64 "avx512f64", "avx2f64" or "gof64".
	Name       string
	ISA        string     // the instruction set in the words of its vendor
	Arithmetic Arithmetic // what it computes
	MR, NR     int        // rows and columns of a tile
	KPack      int        // elements of K in a word: 2 for pairs of bf16, otherwise 1
	Mul        KernelFunc // nil in a build without the kernel's assembly
	Ref        KernelFunc // the plain-Go twin: the same bits, except for the payload of a NaN

	// MulF16 is Mul with the sums of Hopper's arithmetic rounded to f16 after each step, for f16 and fp8; nil for
	// native kernels. Accumulators are float32s all the same, with values of f16. src must not overlap dst. RefF16 is
	// its twin.
	MulF16, RefF16 KernelFunc

	// Peak runs n iterations of a register-only loop of the kernel's multiply-add, with as many independent
	// accumulators as hide its latency. For Hopper's arithmetic it is the four instructions that a product takes: two
	// multiplications, a conversion and an addition. PeakFlops is the number of flops in one iteration.
	Peak      func(n int)
	PeakFlops int

	Index int // in Kernels

	// Sum is the type of sums, and of what a word counts: F32, or of the kernels of float64 F64. Word is its size in
	// bytes, that of a word of a panel.
	Sum  Type
	Word int

	needs  isa
	step   int          // what the depth of a native kernel's panels is a multiple of, if not 1
	hopper *hopperShape // of panels for Hopper's arithmetic, otherwise nil
	functions

	why [numTypes]string
	err error // why this machine or build cannot run it
}

// Onto reports whether Mul, and all of the same contract but those that round or store past the caches, take the lds
// of [EndChain].
func (k *Kernel) Onto() bool { return k.Arithmetic == Native && k.Name != "amx" }

// KStep returns what the depth of a panel of type t, in words, is a multiple of: 1, for AMX the 16 of a tile, and for
// Hopper's arithmetic the products that one step sums. A K that is not a multiple is padded with zeros by the packers.
func (k *Kernel) KStep(t Type) int {
	if k.hopper == nil {
		return max(1, k.step)
	}
	return hopperKinds[t].products
}

// Words returns the depth in words of a panel of n elements of type t of K, which is a multiple of KStep.
func (k *Kernel) Words(t Type, n int) int {
	step := k.KStep(t) - 1 // of a power of two, and KPack is 1 or 2: a small product would notice divisions
	return ((n+k.KPack-1)>>((k.KPack-1)&1) + step) &^ step
}

// PanelA returns the bytes of a panel of A words deep.
func (k *Kernel) PanelA(words int) int {
	if k.hopper != nil {
		return k.hopper.bytes(sideA, words)
	}
	return k.MR * words * k.Word
}

// PanelB returns the bytes of a panel of B words deep.
func (k *Kernel) PanelB(words int) int {
	if k.hopper != nil {
		return k.hopper.bytes(sideB, words)
	}
	return k.NR * words * k.Word
}

// wordType returns the type of the elements that the kernel multiplies without widening them.
func (k *Kernel) wordType() Type {
	if k.KPack == 2 {
		return BF16
	}
	return k.Sum
}

// Accepts reports whether the kernel multiplies operands of type t: words of float64 hold that, those of float32 any
// other, pairs bf16 and what becomes that.
func (k *Kernel) Accepts(t Type) bool {
	return t < numTypes && (t == F64) == (k.Sum == F64) && (k.KPack == 1 || t == BF16 || t.is8())
}

// Supported returns nil if the kernel runs here, and otherwise the reason why it does not.
func (k *Kernel) Supported() error { return k.err }

// PackA returns the packer of A into panels of MR rows. With kContiguous the rows of the source are the rows of the
// panel and K runs along them; without it the rows of the source are K and the MR elements lie side by side. PackA
// returns nil if the kernel does not accept t.
func (k *Kernel) PackA(t Type, kContiguous bool) PackFunc {
	if !k.Accepts(t) {
		return nil
	}
	return k.packA[t][packSlot(kContiguous)]
}

// PackB returns the packer of B into panels of NR columns; see PackA. With kContiguous the source holds the transpose
// of B.
func (k *Kernel) PackB(t Type, kContiguous bool) PackFunc {
	if !k.Accepts(t) {
		return nil
	}
	return k.packB[t][packSlot(kContiguous)]
}

// Why says in one sentence why the kernel is, or is not, the choice for operands of type t on this machine.
func (k *Kernel) Why(t Type) string {
	if t >= numTypes {
		return fmt.Sprintf("there is no type %v", t)
	}
	return k.why[t]
}

func packSlot(kContiguous bool) int {
	if kContiguous {
		return 1
	}
	return 0
}
