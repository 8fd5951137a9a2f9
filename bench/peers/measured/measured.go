// Package measured reads the lines that the programs of bench/peers print:
// lib,dtype,m,n,k,threads,seconds.
package measured

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Product is what was multiplied: an M×K matrix by a K×N one, by so many threads.
type Product struct {
	DType            string
	M, N, K, Threads int
}

// MaxSize bounds what [Product] counts, as gemmbench does, so that M·N·K does not overflow.
const MaxSize = 1 << 20

// Flops returns its floating-point operations.
func (p Product) Flops() float64 { return 2 * float64(p.M) * float64(p.N) * float64(p.K) }

// String returns the type, the threads and the size.
func (p Product) String() string {
	return fmt.Sprintf("%s %d %dx%dx%d", p.DType, p.Threads, p.M, p.N, p.K)
}

// A Line says how long a library took.
type Line struct {
	Product
	Lib     string
	Seconds float64 // not a number if a program does not measure the product
}

// Parse reads a line.
func Parse(text string) (l Line, err error) {
	f := strings.Split(text, ",")
	if len(f) != 7 {
		return l, fmt.Errorf("want 7 fields, got %d in %q", len(f), text)
	}
	l.Lib, l.DType = f[0], f[1]
	for i, to := range []*int{&l.M, &l.N, &l.K, &l.Threads} {
		if *to, err = strconv.Atoi(f[2+i]); err != nil || *to < 1 || *to > MaxSize {
			return Line{}, fmt.Errorf("%q is not a size of 1..%d", f[2+i], MaxSize)
		}
	}
	if l.Seconds, err = strconv.ParseFloat(f[6], 64); err != nil {
		return Line{}, err
	}
	if l.Seconds <= 0 || math.IsInf(l.Seconds, 1) {
		return Line{}, fmt.Errorf("%v is not a time", l.Seconds)
	}
	return l, nil
}
