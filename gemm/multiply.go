package gemm

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/pipeline"
)

// Multiply computes C = alpha·A·B + beta·C for an M x K matrix A, a K x N
// matrix B and an M x N matrix C, each possibly a transposed view. alpha is 1
// and beta is 0 unless [WithAlpha] and [WithBeta] say otherwise; with beta 0 the
// old C is never read. [WithScales], [WithBias], [WithRowBias] and [WithActivation] say
// what else becomes of the sums, in the order of the package's Epilogues. Products are
// accumulated in float32; a 16-bit C is rounded once, to nearest even, at the end. NaN
// and Inf propagate as IEEE 754 says: no zero is skipped, not even alpha = 0, nor the
// sums of K = 0, which are 0.
//
// The bits of the result depend on the operands, what the options make of their sums, the kernel and, in Hopper's
// arithmetic, [WithSplitK] and [WithPromotion], not on the number of workers, the depth of the ring or the tile.
//
// Multiply returns an error, before it writes anything, if
//   - the shapes do not match, a stride is too small or a slice too short;
//   - C shares memory with A or B;
//   - B is nil, or a [Packed] that is zero or made for another kernel or arithmetic;
//   - an option is out of its range, or two options exclude each other;
//   - scales or a bias have not as many values as there are rows or columns;
//   - the kernel that [WithKernel] or LEAFHOPPER_KERNEL names is unknown, cannot run
//     here (also because GODEBUG turns its features off) or does not multiply the
//     operands' type;
//   - [WithTile] cuts so many stages that they cannot be counted, or the system has no
//     memory for a ring;
//
// and later only if the context of [WithContext] ends.
func Multiply[O Output, I Element](c Matrix[O], a Matrix[I], b Operand[I], opts ...Option) error {
	var in slab
	c.viewTo(&in.c)
	a.viewTo(&in.a)
	// The switch, unlike a call of b's methods, lets the compiler see that b
	// does not escape: nothing is allocated for it.
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
		in.Kernel = b.packedFor()
	case nil:
		return errNilB
	default:
		return fmt.Errorf("gemm: B is a %v, neither a Matrix nor a Packed", reflect.TypeOf(b))
	}
	return shared().multiply(&in, opts)
}

var (
	errNilC = errors.New("gemm: C is nil")
	errNilA = errors.New("gemm: A is nil")
	errNilB = errors.New("gemm: B is nil")
)

// multiply computes the product of in's operands, of which nothing else is known.
func (e *Engine) multiply(in *slab, opts []Option) error {
	if e.closed.Load() {
		return ErrClosed
	}
	s := e.defaults
	p := &in.product
	if err := s.prepare(p, opts); err != nil {
		return err
	}
	if err := ended.Err(s.ctx); err != nil {
		return err
	}
	err := e.compute(in, &s)
	if in.finish != nil {
		in.finish.release()
	}
	return err
}

// compute takes the shortest way. A small product would notice what it costs to return
// statistics that nobody asked for.
func (e *Engine) compute(in *slab, s *settings) error {
	var start time.Time
	if s.stats != nil {
		start = time.Now()
	}
	s.trace.Begin(s.ctx, 1)
	workers, g := 1, &plan.TinyPlan
	switch {
	case in.M == 0 || in.N == 0:
		workers = 0
	case in.K == 0:
		if err := in.withoutK(s.ctx); err != nil {
			return err
		}
	default:
		if !in.Asked.Any {
			in.unpacked = in.Tiny()
		}
		if in.unpacked == nil {
			if g = e.plan(&in.product, s); g.Share != plan.ByCaller {
				return e.grid(in, s, g, start)
			}
			in.layout(g)
		}
		span := s.trace.Start(0, pipeline.TraceCompute)
		// It may be one of many that follow each other, and give way together.
		switch work := in.M * in.N * in.K; {
		case work > glanced, s.share > 0:
			in.runAlone(s)
		case work > blind:
			in.run(0, in.N)
			spin.Glance(uint64(glanceCall + work/glanceEach))
		default:
			in.run(0, in.N)
		}
		span.End()
	}
	if s.stats != nil {
		st := Stats{Kernel: in.Kernel.Name, Inline: true, Route: plan.ByCaller.String(), Plan: g, Workers: workers}
		st.Elapsed = time.Since(start)
		*s.stats = st
	}
	return nil
}

const (
	// Most multiply-adds of a product that does not look at the clock, which takes a tenth as long: it is no more
	// assembly than Go, like any loop of its caller's. And of one that looks only once.
	blind   = 1 << 9
	glanced = 1 << 12
	// The ticks that one takes, and of how many multiply-adds each one more: rather too many, with which it gives way a
	// few times in a row, than too few, with which it misses most of its turns.
	glanceCall = 400
	glanceEach = 4
)

// runAlone computes the whole product, in turns.
func (in *slab) runAlone(s *settings) {
	defer s.leave()
	in.turn.Begin()
	in.run(0, in.N)
	in.turn.Look()
}

// prepare applies opts to s, checks p's operands and completes p.
func (s *settings) prepare(p *product, opts []Option) error {
	if err := s.apply(opts); err != nil {
		return err
	}
	if p.b.packed && p.Kernel == nil {
		return fmt.Errorf("gemm: B is a nil or zero Packed; make one with Pack")
	}
	if err := check(&p.c, &p.a, &p.b, s.arithmetic); err != nil {
		return err
	}
	k, err := s.selectKernel(widest(&p.a, &p.b), p.Kernel)
	if err != nil {
		return fmt.Errorf("gemm: %w", err)
	}
	if p.b.packed && p.b.cols == 1 {
		p.b.unpack()
	}
	p.Kernel, p.alpha, p.beta = k, s.alpha, s.beta
	p.K = p.a.cols
	if k.Arithmetic != Native {
		if err := s.cutParts(p); err != nil {
			return err
		}
	}
	if s.ring.Depth|s.ring.M|s.ring.N|s.ring.K != 0 {
		p.Asked, p.Asked.Any = s.ring, true
	}
	if p.c.trans && !p.b.packed {
		p.turn()
	}
	if !p.Asked.Any {
		p.vector()
	}
	if s.finishing.any {
		if err := p.setFinish(&s.finishing); err != nil {
			return err
		}
	}
	p.pose()
	return nil
}

// cutParts cuts K into the parts that Hopper's arithmetic is to sum each for itself.
func (s *settings) cutParts(p *product) error {
	switch {
	case s.promotion > 0 && s.splitK > 1:
		return fmt.Errorf("gemm: WithPromotion(%d) and WithSplitK(%d) cut K in different ways", s.promotion, s.splitK)
	case s.promotion%plan.SplitUnit != 0 && p.b.packed:
		return fmt.Errorf("gemm: WithPromotion(%d): B is packed in stages of %d elements of K, "+
			"of which that is no multiple", s.promotion, plan.SplitUnit)
	case s.splitK > 1:
		p.Part = plan.RoundUp(plan.CeilDiv(p.K, s.splitK), plan.SplitUnit)
	default:
		p.Part = s.promotion
	}
	if p.Part >= p.K {
		p.Part = 0
	}
	p.Asked.Any = p.Part > plan.StageWords || p.b.packed && p.Part > plan.SplitUnit // chains pass from panel to panel
	return nil
}

// vector makes the product of a matrix by a vector that of a row by the transpose of the matrix.
func (p *product) vector() {
	if p.c.cols == 1 && p.c.stride == 1 { // one that was packed is plain by now
		p.turn()
		p.c.row()
		p.a.row()
	}
}

// turn makes the product C' = B'·A'. Products of elements commute, so the bits stay.
func (p *product) turn() {
	p.a.swap(&p.b)
	p.c.turn()
	p.a.turn()
	p.b.turn()
	p.Asked.M, p.Asked.N = p.Asked.N, p.Asked.M
	p.turned = !p.turned
}

// selectKernel returns the kernel for operands of type t, or the one that B is packed for, if it is not nil.
func (s *settings) selectKernel(t asm.Type, packed *asm.Kernel) (*asm.Kernel, error) {
	switch k := packed; {
	case k == nil:
		return asm.SelectArithmetic(t, s.arithmetic, s.kernel)
	case s.kernel != "" && s.kernel != k.Name:
		return nil, fmt.Errorf("WithKernel(%q): B is packed for kernel %q", s.kernel, k.Name)
	case k.Arithmetic != s.arithmetic:
		return nil, fmt.Errorf("operand B is packed for %v arithmetic, the product is to have %v",
			k.Arithmetic, s.arithmetic)
	case !k.Accepts(t):
		return nil, fmt.Errorf("operand B is packed for kernel %q, which does not multiply %v", k.Name, t)
	default:
		return k, nil
	}
}

// checkKernel reports whether the kernel that s or LEAFHOPPER_KERNEL pins can run at all.
func (s *settings) checkKernel() error {
	var err error
	for _, t := range [...]asm.Type{asm.F32, asm.F16, asm.BF16} {
		if _, err = asm.SelectArithmetic(t, s.arithmetic, s.kernel); err == nil {
			return nil
		}
	}
	return fmt.Errorf("gemm: %w", err)
}

func check(c, a, b *view, arith Arithmetic) error {
	if err := a.check("A"); err != nil {
		return err
	}
	if err := b.check("B"); err != nil {
		return err
	}
	if err := c.check("C"); err != nil {
		return err
	}
	switch {
	case is8Bit(c.elem):
		return fmt.Errorf("gemm: C holds %v; it may hold bf16, f16 or f32", c.elem)
	case a.elem != b.elem && !(is8Bit(a.elem) || is8Bit(b.elem)):
		return fmt.Errorf("gemm: A holds %v but B holds %v", a.elem, b.elem)
	case arith != Native && is8Bit(a.elem) != is8Bit(b.elem):
		return fmt.Errorf("gemm: A holds %v but B holds %v: "+
			"one of 8 bits and one of more are multiplied in %v arithmetic only", a.elem, b.elem, Native)
	case a.cols != b.rows:
		return fmt.Errorf("gemm: A is %dx%d but B is %dx%d: K differs", a.rows, a.cols, b.rows, b.cols)
	case c.rows != a.rows:
		return fmt.Errorf("gemm: C is %dx%d but A is %dx%d: M differs", c.rows, c.cols, a.rows, a.cols)
	case c.cols != b.cols:
		return fmt.Errorf("gemm: C is %dx%d but B is %dx%d: N differs", c.rows, c.cols, b.rows, b.cols)
	case c.overlaps(a):
		return fmt.Errorf("gemm: C (%dx%d) shares memory with A (%dx%d)", c.rows, c.cols, a.rows, a.cols)
	case c.overlaps(b):
		return fmt.Errorf("gemm: C (%dx%d) shares memory with B (%dx%d)", c.rows, c.cols, b.rows, b.cols)
	}
	return nil
}
