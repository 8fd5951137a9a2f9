package gemm

import (
	"fmt"
	"slices"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
)

// prepare checks p's operands and completes p.
func (s *settings) prepare(p *product) error {
	if p.b.packed && p.b.kernel == nil {
		return fmt.Errorf("gemm: B is a nil or zero Packed; make one with Pack")
	}
	if err := check(&p.c, &p.a, &p.b, s.arithmetic); err != nil {
		return err
	}
	if p.Elem = p.a.elem; is8Bit(p.Elem) { // the wider type is multiplied
		p.Elem = p.b.elem
	}
	k, err := s.selectKernel(p.Elem, p.b.kernel)
	if err != nil {
		return fmt.Errorf("gemm: %w", err)
	}
	p.b.lie()
	p.Kernel, p.K, p.alpha, p.beta = k, p.a.cols, s.alpha, s.beta
	if k.Arithmetic != Native {
		if err := s.cutParts(p); err != nil {
			return err
		}
	}
	if s.ring.Depth|s.ring.M|s.ring.N|s.ring.K != 0 {
		p.Asked, p.Asked.Any = s.ring, true
	}
	if p.c.trans && !p.b.packed {
		p.transpose()
	}
	if !p.Asked.Any && p.c.cols <= plan.FewColumns && (p.c.cols == 1 || p.c.rows*p.K >= plan.TallLeast) {
		p.fewColumns(plan.Here) // a small product would notice the call
	}
	if s.finishing.any {
		if err := p.setFinish(&s.finishing); err != nil {
			return err
		}
	}
	p.pose()
	return nil
}

// selectKernel returns the kernel for operands of type t, or the one that B is packed for, if it is not nil.
func (s *settings) selectKernel(t asm.Type, packed *asm.Kernel) (*asm.Kernel, error) {
	switch k := packed; {
	case k == nil:
		return asm.SelectArithmetic(t, s.arithmetic, s.kernel)
	case s.kernel != "" && s.kernel != k.Name && !slices.Contains(asm.Names(s.kernel), k.Name):
		return nil, fmt.Errorf("WithKernel(%q): B is packed for kernel %q", s.kernel, k.Name)
	case k.Arithmetic != s.arithmetic:
		return nil, fmt.Errorf("operand B is packed for %v arithmetic, the product is to have %v",
			k.Arithmetic, s.arithmetic)
	case k.Accepts(t):
		return k, nil
	}
	_, err := asm.SelectArithmetic(t, packed.Arithmetic, packed.Name)
	return nil, fmt.Errorf("operand B is packed for other operands: %w", err)
}

// checkKernel reports whether the kernel that s or LEAFHOPPER_KERNEL pins can run at all.
func (s *settings) checkKernel() (err error) {
	for _, t := range [...]asm.Type{asm.F64, asm.F32, asm.F16, asm.BF16} {
		if _, err = asm.SelectArithmetic(t, s.arithmetic, s.kernel); err == nil {
			return nil
		}
	}
	return fmt.Errorf("gemm: %w", err)
}

// checkParts checks that Hopper's arithmetic is to cut K in one way.
func (s *settings) checkParts() error {
	if s.arithmetic == Hopper && s.promotion > 0 && s.splitK > 1 {
		return fmt.Errorf("gemm: WithPromotion(%d) and WithSplitK(%d) cut K in different ways", s.promotion, s.splitK)
	}
	return nil
}

// cutParts cuts K into the parts that Hopper's arithmetic is to sum each for itself.
func (s *settings) cutParts(p *product) error {
	if err := s.checkParts(); err != nil {
		return err
	}
	switch {
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

// fewColumns makes the product of a matrix by a vector, or by a few where that is faster on a machine, that of as many
// rows by the transpose of the matrix.
func (p *product) fewColumns(on *plan.Machine) {
	switch {
	case p.c.cols == 1 && p.c.stride == 1:
		p.transpose()
		p.c.row()
		p.a.row()
	default:
		q := plan.Problem{M: p.c.cols, N: p.c.rows, K: p.K, Kernel: p.Kernel, Elem: p.Elem, ElemB: p.a.elem}
		if q.On = on.Tuned(p.Kernel); !p.a.trans {
			q.FormB = plan.AlongK
		}
		if q.BeatsTranspose() && p.b.unpack() {
			p.transpose()
		}
	}
}

// pose makes p's problem, as far as a product that is too small to think about needs it.
func (p *product) pose() {
	q := &p.Problem
	q.M, q.N = p.c.rows, p.c.cols
	q.ElemA, q.ElemB, q.Out = p.a.elem, p.b.elem, p.c.elem
	q.TransA, q.TransC = p.a.trans, p.c.trans
	switch {
	case p.b.packed:
		q.FormB = plan.InPanels
	case p.b.trans:
		q.FormB = plan.AlongK
	}
	q.Plain = p.alpha == 1 && p.beta == 0 && p.finish == nil && p.Part == 0
}

// survey adds what else decisions need, for a caller who computes alone.
func (p *product) survey(on *plan.Machine) {
	q := &p.Problem
	q.On = on.Tuned(q.Kernel)
	q.PitchA, q.PitchB, q.PitchC = p.a.pitch(), p.b.pitch(), p.c.pitch()
	q.LineA = uint8(uintptr(p.a.ptr) % plan.LineBytes)
	q.Workers, q.Procs = 1, 1
}

// check reports why C, A and B cannot be multiplied.
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
	at := c.extent()
	switch {
	case is8Bit(c.elem):
		return fmt.Errorf("gemm: C holds %v; it may hold bf16, f16, f32 or f64", c.elem)
	case a.elem != b.elem && !(is8Bit(a.elem) || is8Bit(b.elem)):
		return fmt.Errorf("gemm: A holds %v but B holds %v", a.elem, b.elem)
	case (a.elem == asm.F64) != (c.elem == asm.F64), (b.elem == asm.F64) != (c.elem == asm.F64):
		return fmt.Errorf("gemm: A holds %v, B %v and C %v: if one holds f64, all have to", a.elem, b.elem, c.elem)
	case arith != Native && is8Bit(a.elem) != is8Bit(b.elem):
		return fmt.Errorf("gemm: A holds %v but B holds %v: "+
			"one of 8 bits and one of more are multiplied in %v arithmetic only", a.elem, b.elem, Native)
	case a.cols != b.rows:
		return fmt.Errorf("gemm: A is %dx%d but B is %dx%d: K differs", a.rows, a.cols, b.rows, b.cols)
	case c.rows != a.rows:
		return fmt.Errorf("gemm: C is %dx%d but A is %dx%d: M differs", c.rows, c.cols, a.rows, a.cols)
	case c.cols != b.cols:
		return fmt.Errorf("gemm: C is %dx%d but B is %dx%d: N differs", c.rows, c.cols, b.rows, b.cols)
	case at.meets(a.extent()) && c.beside(a) < 0:
		return fmt.Errorf("gemm: C (%dx%d) shares memory with A (%dx%d)", c.rows, c.cols, a.rows, a.cols)
	case at.meets(b.extent()) && c.beside(b) < 0:
		return fmt.Errorf("gemm: C (%dx%d) shares memory with B (%dx%d)", c.rows, c.cols, b.rows, b.cols)
	}
	return nil
}
