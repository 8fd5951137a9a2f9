package bench

import (
	"cmp"
	"math"
	"slices"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// A reference knows what C must be: in full for a small product, in samples and
// through C·x for a large one. What it computes it keeps, for the next variant.
type reference struct {
	w     Workload
	a, b  *operand
	c0    *operand // C's old value; nil if beta is 0
	v     vectors
	exact *exact  // how to compute an entry to the last bit; nil in native arithmetic
	full  []limit // all of C, row by row; nil for a large product
	some  []entry
	x     []float64       // random signs
	cx    []float64       // C·x
	rows  map[int][]limit // rows that were recomputed
	known map[uint32]outcome
}

// A limit is the right value of an entry and how far from it a result may be. A
// bound of 0 demands the same bits, an infinite one nothing.
type limit struct{ want, bound float64 }

// An entry is a limit and its place in C.
type entry struct {
	i, j int
	limit
}

const (
	// Up to this many multiply-adds, and this many elements of one operand, a
	// product, or all of a batch, is compared in full: about 0.2 s and 64 MB.
	fullProduct = 1 << 26
	fullOperand = 1 << 22

	// Of all of a batch together, but at least one of each.
	randomEntries = 1024
	edgeEntries   = 64 // on each of the four edges
	worstRows     = 4
)

func newReference(w Workload, a, b, c0 *operand) *reference {
	products := fullProduct
	if w.Arith == gemm.Hopper {
		products = fullExact
	}
	n := w.products()
	full := w.M*w.N <= products/n/w.K && max(w.M*w.N, w.N*w.K, w.M*w.K) <= fullOperand/n
	return makeReference(w, a, b, c0, full)
}

func makeReference(w Workload, a, b, c0 *operand, full bool) *reference {
	r := &reference{w: w, a: a, b: b, c0: c0, v: w.vectors(), rows: map[int][]limit{}, known: map[uint32]outcome{}}
	if w.Arith == gemm.Hopper {
		r.exact = newExact(w, c0)
		if w.In == asm.F32 {
			r.a, r.b = a.asTF32(), b.asTF32()
		}
	}
	if full {
		r.full = r.compute()
	} else {
		r.sample()
		if w.Activation == gemm.Identity {
			r.project()
		}
	}
	return r
}

// factor returns what the sum of entry (i, j) is multiplied by.
func (r *reference) factor(i, j int) float64 {
	alpha, _ := r.w.factors()
	return alpha * float64(valueAt(r.v.scaleA, i, 1)) * float64(valueAt(r.v.scaleB, j, 1))
}

// limit returns what entry (i, j) must be, whose sum of products is acc and whose sum
// of absolute products is abs.
func (r *reference) limit(acc, abs float64, i, j int) limit {
	u, tiny, largest := 0x1p-24, 0x1p-126, math.MaxFloat32 // tiny, as kernels may flush subnormals
	if r.wide() {
		u, tiny, largest = 0x1p-53, 0x1p-1074, math.MaxFloat64
	}
	alpha := r.factor(i, j)
	steps := float64(r.w.K + 8)
	if block := r.w.In.Block(); r.w.Arith == gemm.Native && r.w.K > block {
		steps = float64(block + r.w.K/block + 8)
	}
	l, most := limit{want: alpha * acc}, math.Abs(alpha)*abs
	l.bound = steps * (u*math.Abs(alpha)*abs + tiny*max(1, math.Abs(alpha)))
	if r.c0 != nil {
		_, beta := r.w.factors()
		old := beta * r.c0.at(i, j)
		l.want += old
		most = max(most, math.Abs(old))
		l.bound += steps * u * math.Abs(old)
	}
	if r.w.Bias {
		bias := float64(r.v.bias[j])
		l.want += bias
		l.bound += steps * u * math.Abs(bias)
	}
	l = l.activated(r.w.Activation)
	f := roundingOf(r.w.Out)
	l.bound += f.roundoff*(math.Abs(l.want)+l.bound) + f.tiny
	if most >= largest || math.IsInf(l.want, 0) { // a step may have overflowed, or the last sum in float64
		l.bound = math.Inf(1)
	}
	return l
}

// rounding describes that of an output type: half an ulp relative to the
// value, half the smallest subnormal, and where rounding reaches infinity.
type rounding struct{ roundoff, tiny, overflow float64 }

func roundingOf(t asm.Type) rounding {
	switch t {
	case asm.BF16:
		return rounding{roundoff: 0x1p-8, tiny: 0x1p-134, overflow: 0x1.ffp127}
	case asm.F16:
		return rounding{roundoff: 0x1p-11, tiny: 0x1p-25, overflow: 0x1.ffep15}
	case asm.F64: // as that of float32, it is in γ
		return rounding{overflow: math.MaxFloat64}
	}
	return rounding{overflow: 0x1.ffffffp127}
}

// wide reports whether the sums of the product have the bits of float64, so that its reference needs more.
func (r *reference) wide() bool { return r.w.In == asm.F64 }

// compute returns all of C, by gonum's float64 product where that has more bits than C's sums.
func (r *reference) compute() []limit {
	if r.exact != nil || r.wide() {
		full := make([]limit, r.w.M*r.w.N)
		parallel(r.w.M, 1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				copy(full[i*r.w.N:], r.limits(i, 0, r.w.N))
			}
		})
		return full
	}
	a, b := general(r.a), general(r.b)
	acc := blas64.General{Rows: r.w.M, Cols: r.w.N, Stride: r.w.N, Data: make([]float64, r.w.M*r.w.N)}
	abs := acc
	abs.Data = make([]float64, len(acc.Data))
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, acc)
	for _, m := range []blas64.General{a, b} {
		for i, v := range m.Data {
			m.Data[i] = math.Abs(v)
		}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, abs)
	full := make([]limit, len(acc.Data))
	for i := range full {
		full[i] = r.limit(acc.Data[i], abs.Data[i], i/r.w.N, i%r.w.N)
	}
	return full
}

// general returns o widened to float64, row-major.
func general(o *operand) blas64.General {
	g := blas64.General{Rows: o.rows, Cols: o.cols, Stride: o.cols, Data: make([]float64, o.rows*o.cols)}
	for i := range o.rows {
		for j := range o.cols {
			g.Data[i*o.cols+j] = o.at(i, j)
		}
	}
	return g
}

// sample picks the entries to compare and computes them.
func (r *reference) sample() {
	m, n := r.w.M, r.w.N
	draw := 0
	pick := func(n int) int {
		draw++
		return int(mix(r.w.Seed^0x5a3b1e, draw) % uint64(n))
	}
	places := map[[2]int]bool{{0, 0}: true, {0, n - 1}: true, {m - 1, 0}: true, {m - 1, n - 1}: true}
	each := func(n int) int { return max(1, n/r.w.products()) }
	for range each(edgeEntries) {
		places[[2]int{0, pick(n)}] = true
		places[[2]int{m - 1, pick(n)}] = true
		places[[2]int{pick(m), 0}] = true
		places[[2]int{pick(m), n - 1}] = true
	}
	for range each(randomEntries) {
		places[[2]int{pick(m), pick(n)}] = true
	}
	for p := range places {
		r.some = append(r.some, entry{i: p[0], j: p[1]})
	}
	slices.SortFunc(r.some, func(a, b entry) int { return cmp.Or(a.i-b.i, a.j-b.j) })
	parallel(len(r.some), 1, func(lo, hi int) {
		for e := lo; e < hi; e++ {
			e := &r.some[e]
			e.limit = r.limits(e.i, e.j, e.j+1)[0]
		}
	})
}

// project computes C·x for random signs x without computing C, which has no activation.
func (r *reference) project() {
	r.x = make([]float64, r.w.N)
	for j := range r.x {
		r.x[j] = 1 - 2*float64(mix(r.w.Seed^0xf1e1d5, j)&1)
	}
	scaled, bias := make([]float64, r.w.N), 0.0
	for j, x := range r.x {
		scaled[j] = x * float64(valueAt(r.v.scaleB, j, 1))
		bias += x * float64(valueAt(r.v.bias, j, 0))
	}
	r.cx = multiplyVector(r.a, multiplyVector(r.b, scaled))
	alpha, beta := r.w.factors()
	for i := range r.cx {
		r.cx[i] = r.cx[i]*alpha*float64(valueAt(r.v.scaleA, i, 1)) + bias
	}
	if r.c0 != nil {
		for i, v := range multiplyVector(r.c0, r.x) {
			r.cx[i] += beta * v
		}
	}
}

// multiplyVector returns o·x.
func multiplyVector(o *operand, x []float64) []float64 {
	y := make([]sum, o.rows)
	rows, cols := o.stored()
	wide := o.elem == asm.F64
	if o.trans { // columns of the view lie side by side
		parallel(cols, 1<<10, func(lo, hi int) {
			buf := make([]float64, hi-lo)
			for r := range rows {
				o.decode(buf, r, lo, hi)
				addProducts(y[lo:hi], x[r], buf, wide)
			}
		})
	} else {
		parallel(rows, 1, func(lo, hi int) {
			buf := make([]float64, cols)
			for r := lo; r < hi; r++ {
				o.decode(buf, r, 0, cols)
				y[r] = dot(buf, x, wide)
			}
		})
	}
	v := make([]float64, len(y))
	for i, s := range y {
		v[i] = s.value + s.rest
	}
	return v
}

// row returns the limits of row i of C.
func (r *reference) row(i int) []limit {
	if l := r.rows[i]; l != nil {
		return l
	}
	l := make([]limit, r.w.N)
	parallel(r.w.N, 64, func(lo, hi int) { copy(l[lo:], r.limits(i, lo, hi)) })
	r.rows[i] = l
	return l
}

// limits returns the limits of the entries of C in row i that lie in the columns lo <= j < hi.
func (r *reference) limits(i, lo, hi int) []limit {
	if r.exact != nil {
		return r.exact.limits(r.a, r.b, i, lo, hi)
	}
	a, sums := make([]float64, r.w.K), make([]sum, hi-lo)
	for k := range a {
		a[k] = r.a.at(i, k)
	}
	if r.b.trans || hi-lo == 1 { // a stored row is a column of B, or there is but one
		column := make([]float64, r.w.K)
		for j := range sums {
			r.b.column(column, lo+j)
			sums[j] = dot(a, column, r.wide())
		}
	} else {
		row := make([]float64, hi-lo)
		for k, x := range a {
			r.b.decode(row, k, lo, hi)
			addProducts(sums, x, row, r.wide())
		}
	}
	l := make([]limit, len(sums))
	for j, s := range sums {
		l[j] = r.limit(s.value+s.rest, s.abs, i, lo+j)
	}
	return l
}
