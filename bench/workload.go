package bench

import (
	"fmt"
	"math"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/plan"
)

// A Workload is a product C = Alpha·A·B + Beta·C to measure, with an epilogue, where A is M x K
// and B is K x N, or a batch of such. Equal workloads have equal operands.
type Workload struct {
	M, N, K        int
	In, Out        asm.Type // of A and B, and of C, which is not fp8, and f64 if and only if A and B are
	TransA, TransB bool     // the operand lies in memory as its transpose
	Alpha, Beta    float64  // rounded to float32 for sums in that
	Seed           uint64   // of the operands, uniform in [-1, 1)
	Arith          gemm.Arithmetic
	SplitK         int // parts that K is cut into; 0 is 1
	Promotion      int // elements of K after which a chain begins anew; 0 for one chain
	Batch          int // products in a call, each with its own A, B and C; 0 is 1
	Epilogue
}

// products returns the number of products in a call.
func (w Workload) products() int { return max(1, w.Batch) }

// product returns what product i of a batch has its A, B and C of.
func (w Workload) product(i int) Workload {
	if i > 0 {
		w.Seed = mix(w.Seed, 5+i) // the numbers up to 5 are taken, see newOperands and vectors
	}
	return w
}

// operands returns what the operands of w depend on: workloads with the same share them.
func (w Workload) operands() Workload {
	o := Workload{M: w.M, N: w.N, K: w.K, In: w.In, Out: w.Out, TransA: w.TransA, TransB: w.TransB, Seed: w.Seed,
		Batch: w.products()}
	if w.Beta != 0 {
		o.Beta = 1 // an old C
	}
	return o
}

// SumType returns the type in which elements of type t are summed, which C may have: F64 for F64, otherwise F32.
func SumType(t asm.Type) asm.Type {
	if t == asm.F64 {
		return asm.F64
	}
	return asm.F32
}

// factors returns alpha and beta as the product takes them.
func (w Workload) factors() (alpha, beta float64) {
	if SumType(w.In) == asm.F64 {
		return w.Alpha, w.Beta
	}
	return float64(float32(w.Alpha)), float64(float32(w.Beta))
}

// MaxDim bounds each dimension of a [Workload], so that no count of elements overflows in 64 bits, and MaxBatch its
// products.
const MaxDim, MaxBatch = 1 << 20, 1 << 12

// Flops returns the floating-point operations of one product, 2·M·N·K.
func (w Workload) Flops() float64 { return 2 * float64(w.M) * float64(w.N) * float64(w.K) }

// Trans returns "NN", "NT", "TN" or "TT": which of A and B lies transposed.
func (w Workload) Trans() string {
	letter := func(t bool) string {
		if t {
			return "T"
		}
		return "N"
	}
	return letter(w.TransA) + letter(w.TransB)
}

// Bytes returns the size of A, B and C together, of all products of a batch.
func (w Workload) Bytes() int { return int(w.bytes()) }

// bytes is Bytes where an int might overflow.
func (w Workload) bytes() float64 {
	m, n, k := float64(w.M), float64(w.N), float64(w.K)
	return float64(w.products()) * ((m*k+k*n)*float64(w.In.Size()) + m*n*float64(w.Out.Size()))
}

// Validate reports what makes w impossible to measure.
func (w Workload) Validate() error {
	for _, d := range []struct {
		name string
		n    int
	}{{"m", w.M}, {"n", w.N}, {"k", w.K}} {
		if d.n < 1 || d.n > MaxDim {
			return fmt.Errorf("bench: %s = %d is outside 1..%d", d.name, d.n, MaxDim)
		}
	}
	if w.Batch < 0 || w.Batch > MaxBatch {
		return fmt.Errorf("bench: batch %d is outside 0..%d", w.Batch, MaxBatch)
	}
	if bytes := w.bytes(); bytes > math.MaxInt {
		return fmt.Errorf("%w: the operands of %s of %dx%dx%d take %.1f GiB, more than this system addresses",
			ErrMemory, plural(w.products(), "product"), w.M, w.N, w.K, bytes/(1<<30))
	}
	alpha, beta := w.factors()
	for _, f := range []struct {
		name     string
		v, taken float64
	}{{"alpha", w.Alpha, alpha}, {"beta", w.Beta, beta}} {
		switch {
		case math.IsNaN(f.taken) || math.IsInf(f.taken, 0):
			return fmt.Errorf("bench: %s = %v is not a finite %v", f.name, f.v, SumType(w.In))
		case f.taken == 0 && f.v != 0:
			return fmt.Errorf("bench: %s = %v is not zero, but would be as %v", f.name, f.v, SumType(w.In))
		}
	}
	switch wide := asm.F64; {
	case w.Out.Size() == 1:
		return fmt.Errorf("bench: C cannot hold %v; types of C: f32, bf16, f16, f64", w.Out)
	case (w.In == wide) != (w.Out == wide):
		return fmt.Errorf("bench: A and B hold %v and C %v: if one holds %v, all have to", w.In, w.Out, wide)
	case w.In == wide && w.Epilogue != Epilogue{}:
		return fmt.Errorf("bench: scales, biases and activations are applied to sums in float32; the operands hold %v",
			w.In)
	}
	if w.Alpha == 0 {
		return fmt.Errorf("bench: alpha = 0 leaves no product to measure")
	}
	if w.SplitK < 0 || w.SplitK > gemm.MaxSplitK {
		return fmt.Errorf("bench: split of K in %d parts is outside 0..%d", w.SplitK, gemm.MaxSplitK)
	}
	if w.Promotion < 0 || w.Promotion%plan.PromotionUnit != 0 {
		return fmt.Errorf("bench: promotion every %d elements of K is not a multiple of %d", w.Promotion, plan.PromotionUnit)
	}
	if w.Promotion > 0 && w.SplitK > 1 {
		return fmt.Errorf("bench: K is either split in %d parts or promoted every %d elements", w.SplitK, w.Promotion)
	}
	return w.Epilogue.validate()
}

// A Variant is a workload and the way to run it.
type Variant struct {
	Workload
	Depth   int    // stages of the ring; 0 leaves the choice to the engine
	Workers int    // 0 is as many as the engine takes of itself, see [gemm.WithWorkers]
	Kernel  string // "" leaves the choice to the engine
	Tile    [3]int // m, n, k of a CTA's tile; 0 leaves a dimension to the engine
	Callers int    // goroutines that multiply at once, each to its own C; 0 is 1
	// Prepacked has B packed before the time starts, see [gemm.Pack].
	Prepacked bool
}

// Validate reports what makes v impossible to measure here: a bad workload, a
// number outside the engine's limits, or a kernel that cannot run it.
func (v Variant) Validate() error {
	if err := v.Workload.Validate(); err != nil {
		return err
	}
	if v.Prepacked && v.Arith == gemm.Hopper && v.Promotion%plan.SplitUnit != 0 {
		return fmt.Errorf("bench: promotion every %d elements of K is not a multiple of %d, as B is packed",
			v.Promotion, plan.SplitUnit)
	}
	if v.Depth < 0 || v.Depth > gemm.MaxDepth {
		return fmt.Errorf("bench: depth %d is outside 0..%d", v.Depth, gemm.MaxDepth)
	}
	if v.Workers < 0 || v.Workers > gemm.MaxWorkers {
		return fmt.Errorf("bench: workers %d is outside 0..%d", v.Workers, gemm.MaxWorkers)
	}
	if v.Callers < 0 || v.Callers > MaxCallers {
		return fmt.Errorf("bench: callers %d is outside 0..%d", v.Callers, MaxCallers)
	}
	for i, dim := range [...]string{"m", "n", "k"} {
		if v.Tile[i] < 0 || v.Tile[i] > gemm.MaxTile {
			return fmt.Errorf("bench: tile %s = %d is outside 0..%d", dim, v.Tile[i], gemm.MaxTile)
		}
	}
	if _, err := asm.SelectArithmetic(v.In, v.Arith, v.Kernel); err != nil {
		return err
	}
	return nil
}

// packOptions are what a packed B depends on.
func (v Variant) packOptions() []gemm.Option {
	return []gemm.Option{gemm.WithKernel(v.Kernel), gemm.WithArithmetic(v.Arith)}
}

// packedBytes returns about how much memory a packed B takes, 0 if it is not
// packed.
func (v Variant) packedBytes() int {
	k, err := asm.SelectArithmetic(v.In, v.Arith, v.Kernel)
	if err != nil || !v.Prepacked {
		return 0
	}
	step := k.KStep(v.In)
	panels, steps := (v.N+k.NR-1)/k.NR, (v.K+step*k.KPack-1)/(step*k.KPack)
	return panels * steps * k.StoredB(v.In, step*k.KPack)
}

// bitsKey identifies what the bits of a result may depend on: not depth, not
// workers, not callers, not the tile, not prepacking, and in Hopper's arithmetic not the kernel.
type bitsKey struct {
	Workload
	kernel string
}
