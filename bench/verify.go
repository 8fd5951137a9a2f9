package bench

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// An outcome is what a comparison of a result with its reference found.
type outcome struct {
	maxError float64 // largest |c - ref| / bound; +Inf for a NaN, and for other bits where they must be exact
	i, j     int     // where
	got      float64
	limit
}

func (o outcome) passed() bool { return o.maxError <= 1 }

// String says what is wrong with the worst entry.
func (o outcome) String() string {
	if o.bound == 0 {
		return fmt.Sprintf("C[%d,%d] = %g (%x), want %g (%x) exactly", o.i, o.j, o.got, o.got, o.want, o.want)
	}
	return fmt.Sprintf("C[%d,%d] = %g, want %g ± %.3g (%.3g times the bound)",
		o.i, o.j, o.got, o.want, o.bound, o.maxError)
}

// compare takes entry (i, j) of a result into account.
func (o *outcome) compare(i, j int, got float64, l limit, overflow float64) {
	if e := l.ratio(got, overflow); e > o.maxError {
		*o = outcome{maxError: e, i: i, j: j, got: got, limit: l}
	}
}

// ratio returns |got - want| / bound. Infinity is right where the bound reaches
// the overflow of the format, and a NaN never is: operands are finite. With a
// bound of 0 it returns 0 for the same bits and otherwise infinity; all NaN are
// the same. With an infinite bound anything is right.
func (l limit) ratio(got, overflow float64) float64 {
	switch {
	case l.bound == 0:
		if math.Float64bits(got) == math.Float64bits(l.want) || got != got && l.want != l.want {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(l.bound, 1):
		return 0
	case math.IsNaN(got):
		return math.Inf(1)
	case math.IsInf(got, 0):
		if math.Abs(l.want)+l.bound >= overflow && math.Signbit(got) == math.Signbit(l.want) {
			return 0
		}
		return math.Inf(1)
	}
	return math.Abs(got-l.want) / l.bound
}

// check compares c with the reference. The same bits are compared only once.
func (r *reference) check(c *operand) outcome {
	sum := checksum(c)
	if o, ok := r.known[sum]; ok {
		return o
	}
	overflow := roundingOf(r.w.Out).overflow
	var o outcome
	for i, l := range r.full {
		i, j := i/r.w.N, i%r.w.N
		o.compare(i, j, c.at(i, j), l, overflow)
	}
	for _, e := range r.some {
		o.compare(e.i, e.j, c.at(e.i, e.j), e.limit, overflow)
	}
	for _, i := range r.suspects(c) {
		for j, l := range r.row(i) {
			o.compare(i, j, c.at(i, j), l, overflow)
		}
	}
	r.known[sum] = o
	return o
}

// suspects returns the rows of c whose product with x is farthest from the
// reference, or with an activation, which has no such product, some rows: none if all of C was compared.
func (r *reference) suspects(c *operand) (rows []int) {
	switch {
	case r.full != nil:
		return nil
	case r.x == nil:
		for i := range min(worstRows, r.w.M) {
			rows = append(rows, int(mix(r.w.Seed^0x2f09a7, i)%uint64(r.w.M)))
		}
		return rows
	}
	off := multiplyVector(c, r.x)
	rows = make([]int, len(off))
	for i := range off {
		rows[i] = i
		off[i] = math.Abs(off[i] - r.cx[i])
		if math.IsNaN(off[i]) {
			off[i] = math.Inf(1)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		switch {
		case off[a] > off[b]:
			return -1
		case off[a] < off[b]:
			return 1
		}
		return 0
	})
	return rows[:min(worstRows, len(rows))]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns a checksum of o's bits.
func checksum(o *operand) uint32 { return crc32.Checksum(o.raw, castagnoli) }
