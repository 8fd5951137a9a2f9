package gemm

import (
	"fmt"
	"runtime"

	"example.com/leafhopper/asm"
)

// OnRing multiplies as e.Multiply does, but on the ring, however small the
// product is. No dimension may be 0.
func OnRing(e *Engine, c, a, b AnyMatrix, opts ...Option) (Stats, error) {
	p, s, err := e.productOf(c, a, b, opts)
	if err != nil {
		return Stats{}, err
	}
	return e.grid(&p, &s)
}

// Inline multiplies as e.Multiply does, but on the caller's goroutine alone. It
// reports an error if the product is too large for that.
func Inline(e *Engine, c, a, b AnyMatrix, opts ...Option) error {
	p, _, err := e.productOf(c, a, b, opts)
	if err != nil {
		return err
	}
	if !p.small() {
		return fmt.Errorf("a product of %dx%dx%d does not run inline", p.m, p.n, p.k)
	}
	p.inline()
	return nil
}

func (e *Engine) productOf(c, a, b AnyMatrix, opts []Option) (product, settings, error) {
	s := e.defaults
	if err := s.apply(opts); err != nil {
		return product{}, s, err
	}
	vc, va, vb := c.view(), a.view(), b.view()
	if err := check(vc, va, vb); err != nil {
		return product{}, s, err
	}
	k, err := asm.Select(va.elem, s.kernel)
	if err != nil {
		return product{}, s, err
	}
	if vc.trans {
		vc, va, vb = vc.t(), vb.t(), va.t()
	}
	if s.workers == 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	p := product{c: vc, a: va, b: vb, m: vc.rows, n: vc.cols, k: va.cols, kernel: k, alpha: s.alpha, beta: s.beta}
	return p, s, nil
}

// RingBytes returns the memory that the ring of e.Multiply with these arguments
// takes.
func RingBytes(e *Engine, c, a, b AnyMatrix, opts ...Option) (int, error) {
	p, s, err := e.productOf(c, a, b, opts)
	if err != nil {
		return 0, err
	}
	g := newPlan(&p, &s)
	return g.bytes(), nil
}
