package gemm

import (
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/pipeline"
	"github.com/x448/float16"
)

// Multiply computes C = alpha·A·B + beta·C for an M x K matrix A, a K x N matrix B and an M x N matrix C, each
// possibly a transposed view. alpha is 1 and beta is 0 unless [WithAlpha] and [WithBeta] say otherwise; with beta 0
// the old C is never read. [WithScales], [WithBias], [WithRowBias] and [WithActivation] say what else becomes of the
// sums, in the order of the package's Epilogues. A 16-bit C is rounded once, at the end. NaN and Inf propagate as
// IEEE 754 says: no zero is skipped, not even alpha = 0, nor the sums of K = 0, which are 0.
//
// The bits of the result depend on the operands, what the options make of their sums, the kernel and, in Hopper's
// arithmetic, [WithSplitK] and [WithPromotion], not on the number of workers, the depth of the ring or the tile.
//
// Multiply returns an error, before it writes anything, if
//   - the shapes do not match, a stride is too small or a slice too short;
//   - one of A, B and C holds float64 and another does not, or its sums are to have scales, a bias or an activation;
//   - C shares memory with A, B, scales or a bias;
//   - B is nil, or a [Packed] that is zero or made for another kernel or arithmetic;
//   - an option is out of its range, two exclude each other, or scales or a bias have another number of values;
//   - the kernel that [WithKernel] or LEAFHOPPER_KERNEL names is unknown, cannot run here (also because GODEBUG turns
//     its features off) or does not multiply the operands' type;
//   - [WithTile] cuts so many stages that they cannot be counted, or the system has no memory for a ring;
//
// and later only if the context of [WithContext] ends.
func Multiply[O Output, I Element](c Matrix[O], a Matrix[I], b Operand[I], opts ...Option) error {
	var in slab
	c.viewTo(&in.c)
	a.viewTo(&in.a)
	// The switch, unlike a call of b's methods, lets the compiler see that b does not escape: nothing is allocated.
	switch b := b.(type) {
	case Matrix[I]:
		b.viewTo(&in.b)
	case *Matrix[I]:
		if b == nil {
			return errNilB
		}
		b.viewTo(&in.b)
	case *Packed[I]:
		b.viewTo(&in.b)
	case nil:
		return errNilB
	default:
		return fmt.Errorf("gemm: B is a %v, neither a Matrix nor a Packed", reflect.TypeOf(b))
	}
	return sharedEngine.multiply(&in, opts)
}

// Multiply computes C = alpha·A·B + beta·C on the engine e; see the package function [Multiply]. The inputs
// must have the same element type, but for 8-bit ones, which may be mixed.
func (e *Engine) Multiply(c, a, b AnyMatrix, opts ...Option) error {
	if e == nil || e.crew == nil {
		return errZero
	}
	var in slab
	if err := in.set(c, a, b); err != nil {
		return err
	}
	return e.multiply(&in, opts)
}

// set makes the views of the operands of p, which is zero.
func (p *product) set(c, a, b AnyMatrix) error {
	switch {
	case !p.c.set(c):
		return errors.New("gemm: C is nil")
	case !p.a.set(a):
		return errors.New("gemm: A is nil")
	case !p.b.set(b):
		return errNilB
	}
	return nil
}

var errNilB = errors.New("gemm: B is nil")

// set makes v, which is zero, the view of m, and reports whether m is not nil. A method would not let the compiler
// see that v does not escape, and what it returned would have to be copied.
func (v *view) set(m AnyMatrix) bool {
	switch m := m.(type) {
	case Matrix[bf16.BF16]:
		m.viewTo(v)
	case Matrix[float16.Float16]:
		m.viewTo(v)
	case Matrix[float32]:
		m.viewTo(v)
	case Matrix[float64]:
		m.viewTo(v)
	case *Packed[bf16.BF16]:
		m.viewTo(v)
	case *Packed[float16.Float16]:
		m.viewTo(v)
	case *Packed[float32]:
		m.viewTo(v)
	case *Packed[float64]:
		m.viewTo(v)
	default:
		// A nil pointer to a Packed is told from one to a Matrix later.
		if r := reflect.ValueOf(m); !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
			return false
		}
		*v = unseen(m).view()
	}
	return true
}

// unseen returns m. An interface's method may keep what it is called on, for all that the compiler
// knows, so whoever passed a Matrix would have allocated a copy for the call; it does not see where
// the words come from that are copied as bytes, and this package's methods keep nothing. What they
// return does reach other goroutines: that the compiler learns from the cases of set that do not come here.
func unseen(m AnyMatrix) (same AnyMatrix) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&same)), bytesAny), unsafe.Slice((*byte)(unsafe.Pointer(&m)), bytesAny))
	return same
}

// bytesAny is no constant, so that the copy is a call: nothing is left to what a compiler does with
// words in registers while the stack may move.
var bytesAny = unsafe.Sizeof(AnyMatrix(nil))

// multiply computes the product of in's operands, of which nothing else is known.
func (e *Engine) multiply(in *slab, opts []Option) error {
	if e.closed.Load() {
		return ErrClosed
	}
	s := &e.defaults
	if len(opts) > 0 {
		own := *s
		if err := own.apply(opts); err != nil {
			return err
		}
		s = &own
	}
	if err := s.prepare(&in.product); err != nil {
		return err
	}
	if err := ended.Err(s.ctx); err != nil {
		return err
	}
	in.tellRaces(s)
	err := e.compute(in, s)
	in.tellRaces(s)
	if in.finish != nil {
		in.finish.release()
	}
	return err
}

// compute takes the shortest way. A small product would notice the cost of returning statistics nobody asked for.
func (e *Engine) compute(in *slab, s *settings) error {
	var start time.Time
	if s.stats != nil {
		start = time.Now()
	}
	workers := 1
	in.plan = &plan.TinyPlan
	if min(in.M, in.N, in.K) > 0 && (in.Asked.Any || !in.Tiny()) {
		if in.follow(e.plan(&in.product, s)); in.plan.Share != plan.ByCaller {
			return e.share(in, s, start)
		}
	}
	s.trace.Begin(s.ctx, 1)
	switch {
	case min(in.M, in.N) == 0:
		workers = 0
	case in.K == 0:
		if err := in.withoutK(s.ctx); err != nil {
			return err
		}
	default:
		span := s.trace.Start(0, pipeline.TraceCompute)
		in.runAlone()
		span.End()
	}
	if s.stats != nil {
		st := Stats{Kernel: in.Kernel.Name, Inline: true, Route: plan.ByCaller.String(), Plan: in.plan, Workers: workers}
		st.Elapsed = time.Since(start)
		*s.stats = st
	}
	return nil
}
