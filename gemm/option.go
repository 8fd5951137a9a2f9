package gemm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
)

// An Option changes one Multiply, or every Multiply of an [Engine] it was given to. Options are plain values:
// building and passing them allocates nothing.
type Option struct {
	kind optionKind
	f    float64
	n    [3]int
	at   [2]unsafe.Pointer // vectors of n[0] and n[1] elements, a name of n[0] bytes, Stats or Trace
	ctx  context.Context
}

type optionKind uint8

const (
	optAlpha optionKind = iota + 1
	optBeta
	optContext
	optKernel
	optWorkers
	optDepth
	optTile
	optStats
	optArithmetic
	optSplitK
	optPromotion
	optTrace
	optScales
	optBias
	optRowBias
	optActivation
	numOptions
)

// ofCall are the options that belong to a call, not to an engine.
var ofCall = [numOptions]string{optContext: "WithContext", optStats: "WithStats", optTrace: "WithTrace"}

// WithAlpha sets the factor of the product, also of one with K = 0. The default is 1.
func WithAlpha(alpha float32) Option { return WithAlpha64(float64(alpha)) }

// WithBeta sets the factor of C's old value. The default is 0, which never reads C: NaNs in it do not survive.
func WithBeta(beta float32) Option { return WithBeta64(float64(beta)) }

// WithAlpha64 is [WithAlpha] for products of float64. Others take the factor rounded to float32.
func WithAlpha64(alpha float64) Option { return Option{kind: optAlpha, f: alpha} }

// WithBeta64 is [WithBeta] for products of float64. Others take the factor rounded to float32.
func WithBeta64(beta float64) Option { return Option{kind: optBeta, f: beta} }

// WithContext cancels the product when ctx is done. Multiply then returns ctx's error, or [context.Canceled] if ctx
// has none although its Done channel is closed, after every worker has left the operands; C holds a mixture of old
// values, new ones and incomplete sums. The context is looked at between the parts that a worker computes or copies,
// before a small product and not during it. With an assembly kernel and the engine's own tile a part takes a few
// milliseconds at most, or tens where A has few rows and K is in the tens of thousands or more. What a method of ctx
// panics with is raised in Multiply, as a [*pipeline.RolePanic] if a worker called it.
func WithContext(ctx context.Context) Option { return Option{kind: optContext, ctx: ctx} }

// WithKernel pins the microkernel by name, one of those that the command "gemmbench kernels" lists, instead of the best
// for this machine and type; of several names, with commas between them, the first that has the arithmetic and
// multiplies the operands' type.
func WithKernel(name string) Option {
	return Option{kind: optKernel, n: [3]int{len(name)}, at: [2]unsafe.Pointer{unsafe.Pointer(unsafe.StringData(name))}}
}

// Arithmetic says what happens between the products and the result.
type Arithmetic = asm.Arithmetic

const (
	// Native sums in float32, or float64, as fast as the processor goes. Every kernel has its own bits.
	Native = asm.Native
	// Hopper sums as the tensor cores of an H100 or H200 do: the bits are those of wgmma, and of cuBLAS where it does
	// not split K, on every processor. float32 operands are rounded to tf32, for which cuBLAS has other kernels if C is
	// small; 8-bit ones may be of two types.
	Hopper = asm.Hopper
)

// WithArithmetic sets the arithmetic of the product. The default is [Native]; [Hopper] takes every type but float64,
// fp8 too, and about seven times as long as AVX512-BF16 does, three to five times as long as the AVX-512 and AVX2
// kernels, or twenty to forty times as long as AMX.
func WithArithmetic(a Arithmetic) Option { return Option{kind: optArithmetic, n: [3]int{int(a)}} }

// WithSplitK has Hopper's arithmetic cut K into parts of K/n elements, rounded up to a multiple of 64, and add up the
// parts' results in float32, in order: n parts, 1 to [MaxSplitK], or fewer where K is short, of which the last may be
// shorter than the others. It is how cuBLAS fills a GPU when C is small, and changes the bits; the default, 1, is one
// chain over all of K. In native arithmetic, which sums K in blocks, it has no effect.
func WithSplitK(n int) Option { return Option{kind: optSplitK, n: [3]int{n}} }

// WithPromotion has Hopper's arithmetic start the chain anew every k elements of K and add up the sums of those
// chains in float32, in order, to nearest even: what CUTLASS and DeepGEMM call promotion, and cuBLAS does every 128
// elements in fp8 without fast accumulation. k is a multiple of 32, the most products that a step sums, and by a B that
// is packed, of 64; the default, 0, is one chain over all of K. WithSplitK cuts K in another way, so only one of both
// may be asked for there. In native arithmetic, which sums K in blocks, it has no effect.
func WithPromotion(k int) Option { return Option{kind: optPromotion, n: [3]int{k}} }

// WithWorkers sets how many goroutines compute, the caller's own included: 1 means that the caller does everything
// itself. The default, 0, is one for every processor that the process may keep busy, by GOMAXPROCS, its affinity and
// the CPU quota of its cgroup, shared out among the calls under way that have this default, too. A product too small
// for so many has fewer. It does not change the result's bits.
func WithWorkers(n int) Option { return Option{kind: optWorkers, n: [3]int{n}} }

// WithDepth asks for a ring of so many stages (QSIZE), 1 to [MaxDepth], however small the product. The default, 0,
// leaves the choice to the engine, which has no ring where that is faster. It does not change the result's bits.
func WithDepth(stages int) Option { return Option{kind: optDepth, n: [3]int{stages}} }

// WithTile sets the tile of a CTA: m x n elements of C, k elements deep a stage, which in native arithmetic is at
// most a block of K. They are rounded up to what the kernel needs; 0 leaves a dimension to the engine, and a packed
// B has its own k. Like [WithDepth] it asks for a ring, and does not change the result's bits.
func WithTile(m, n, k int) Option { return Option{kind: optTile, n: [3]int{m, n, k}} }

// An Activation is a function that [WithActivation] applies to each element of C. Of a NaN it is a NaN, and of an
// infinity the limit. Tanh and, unless it is below 2^-119, Sigmoid and SiLU are off by less than 2, 3 and 4 units in
// float32's last place, GELU and GELUTanh by less than 1 and 1.5 of their argument's, as where they are close to zero
// they come of a difference. In [Hopper]'s arithmetic GELUTanh is that of the GPU, by a tanh that is off by up to 2^-16
// of itself, and of -Inf a NaN.
type Activation = asm.Activation

const (
	Identity = asm.Identity // x
	ReLU     = asm.ReLU     // max(x, 0), and x if it is -0
	GELU     = asm.GELU     // x·(1 + erf(x/√2))/2
	GELUTanh = asm.GELUTanh // x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2
	SiLU     = asm.SiLU     // x/(1 + exp(-x))
	Sigmoid  = asm.Sigmoid  // 1/(1 + exp(-x))
	Tanh     = asm.Tanh     // tanh(x)
)

// WithScales multiplies the sums of A·B by scales of A and of B: a has one value for all of A or one for each of its
// rows, b one for all of B or one for each of its columns. If b has one, sums are multiplied by its product with that
// of the row, rounded; else by B's and then by A's: a row has the same bits alone. nil, the default, is no scales.
// That is how operands of 8 bits are used, but any may be scaled.
func WithScales(a, b []float32) Option { return withFloats(optScales, a, b) }

// WithBias adds to each column of C a value of its own, in float32 also if C has 16 bits. nil, the default, is no bias.
func WithBias(bias []float32) Option { return withFloats(optBias, bias, nil) }

// WithRowBias adds to each row of C a value of its own, in float32, after that of [WithBias]. nil, the default, is no
// bias.
func WithRowBias(bias []float32) Option { return withFloats(optRowBias, bias, nil) }

// WithActivation applies f to each element of C, last of all but the rounding to C's type. The default is [Identity].
func WithActivation(f Activation) Option { return Option{kind: optActivation, n: [3]int{int(f)}} }

// WithStats has Multiply fill in s before it returns. After an error s is as it was.
func WithStats(s *Stats) Option {
	return Option{kind: optStats, at: [2]unsafe.Pointer{unsafe.Pointer(s)}}
}

// Trace is what each worker of a product did and when: it copied, multiplied or stalled.
// WriteTo writes it for chrome://tracing and ui.perfetto.dev, WriteLanes draws it as text.
type Trace = pipeline.Trace

// WithTrace has the workers note in t, which it empties first, what they do and when; and, while package runtime/trace
// is on, as regions there. It costs a fraction of a microsecond for each part of the product, and memory. After an
// error t ends where the product did; one that is found before work starts leaves it as it was.
func WithTrace(t *Trace) Option {
	return Option{kind: optTrace, at: [2]unsafe.Pointer{unsafe.Pointer(t)}}
}

// The largest arguments of options.
const (
	MaxDepth   = pipeline.MaxDepth // of WithDepth: 16
	MaxSplitK  = 1 << 10           // of WithSplitK
	MaxWorkers = 1 << 10           // of WithWorkers
	MaxTile    = 1 << 14           // of each dimension of WithTile
)

func withFloats(kind optionKind, v, w []float32) Option {
	at := [2]unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(v)), unsafe.Pointer(unsafe.SliceData(w))}
	return Option{kind: kind, n: [3]int{len(v), len(w)}, at: at}
}

func (o *Option) vector(i int) vector { return vector{(*float32)(o.at[i]), o.n[i]} }

// settings is what the options amount to.
type settings struct {
	alpha, beta float64
	finishing   finishing
	ctx         context.Context
	kernel      string
	arithmetic  Arithmetic
	splitK      int
	promotion   int
	workers     int
	ring        plan.Asked
	stats       *Stats
	trace       *Trace
}

func (s *settings) apply(opts []Option) error {
	for i := range opts {
		if err := s.set(&opts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) set(o *Option) error {
	switch o.kind {
	case optAlpha:
		s.alpha = o.f
	case optBeta:
		s.beta = o.f
	case optContext:
		if o.ctx == nil {
			return fmt.Errorf("gemm: WithContext: nil context")
		}
		s.ctx = o.ctx
	case optKernel:
		s.kernel = unsafe.String((*byte)(o.at[0]), o.n[0])
	case optWorkers:
		s.workers = o.n[0]
		return within("WithWorkers: ", s.workers, 0, MaxWorkers)
	case optDepth:
		s.ring.Depth = o.n[0]
		return within("WithDepth: ", o.n[0], 0, MaxDepth)
	case optTile:
		s.ring.M, s.ring.N, s.ring.K = o.n[0], o.n[1], o.n[2]
		return cmp.Or(
			within("WithTile: m = ", o.n[0], 0, MaxTile),
			within("WithTile: n = ", o.n[1], 0, MaxTile),
			within("WithTile: k = ", o.n[2], 0, MaxTile))
	case optStats:
		s.stats = (*Stats)(o.at[0])
	case optTrace:
		s.trace = (*Trace)(o.at[0])
	case optSplitK:
		s.splitK = o.n[0]
		return within("WithSplitK: ", s.splitK, 1, MaxSplitK)
	case optPromotion:
		if o.n[0] < 0 || o.n[0]%plan.PromotionUnit != 0 {
			return fmt.Errorf("gemm: WithPromotion: %d is neither 0 nor a multiple of %d above",
				o.n[0], plan.PromotionUnit)
		}
		s.promotion = o.n[0]
	case optArithmetic:
		if a := Arithmetic(o.n[0]); a > Hopper {
			return fmt.Errorf("gemm: WithArithmetic: %v is neither %v nor %v", a, Native, Hopper)
		}
		s.arithmetic = Arithmetic(o.n[0])
	case optScales:
		s.finishing.any, s.finishing.vectors[scalesA], s.finishing.vectors[scalesB] = true, o.vector(0), o.vector(1)
	case optBias:
		s.finishing.any, s.finishing.vectors[biasCols] = true, o.vector(0)
	case optRowBias:
		s.finishing.any, s.finishing.vectors[biasRows] = true, o.vector(0)
	case optActivation:
		f := Activation(o.n[0])
		if !slices.Contains(asm.Activations(), f) {
			return fmt.Errorf("gemm: WithActivation: %v is none of %v", f, asm.Activations())
		}
		s.finishing.any, s.finishing.activation = true, f
	default:
		return fmt.Errorf("gemm: zero Option")
	}
	return nil
}

// within returns an error if n is not in least..most.
func within(option string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("gemm: %s%d is outside %d..%d", option, n, least, most)
	}
	return nil
}
