package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
)

// maxVariants bounds a comparison, and every list in the flags.
const maxVariants = 512

// parseList applies parse to the parts of a list separated by commas, and drops
// what comes again. Values may be written in capitals or not.
func parseList[T comparable](list string, parse func(string) ([]T, error)) ([]T, error) {
	var all []T
	for part := range strings.SplitSeq(list, ",") {
		vs, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		for _, v := range vs {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		if len(all) > maxVariants {
			return nil, fmt.Errorf("%q has more than %d values", list, maxVariants)
		}
	}
	return all, nil
}

// parseInts reads one integer or from:to:step (from:to steps by 1) with values
// of lo to hi.
func parseInts(lo, hi int) func(string) ([]int, error) {
	return func(s string) ([]int, error) {
		var nums []int
		for f := range strings.SplitSeq(s, ":") {
			n, err := strconv.Atoi(f)
			switch {
			case errors.Is(err, strconv.ErrRange):
				return nil, fmt.Errorf("%q has a number that is too large: it is outside %d..%d", s, lo, hi)
			case err != nil:
				return nil, fmt.Errorf("%q is not a number or from:to:step", s)
			}
			nums = append(nums, n)
		}
		from, to, step := nums[0], nums[0], 1
		switch len(nums) {
		case 1:
		case 2:
			to = nums[1]
		case 3:
			to, step = nums[1], nums[2]
		default:
			return nil, fmt.Errorf("%q is not a number or from:to:step", s)
		}
		switch {
		case from < lo || to > hi:
			return nil, fmt.Errorf("%q is outside %d..%d", s, lo, hi)
		case step < 1 || to < from:
			return nil, fmt.Errorf("%q is an empty range: it needs from <= to and step >= 1", s)
		case (to-from)/step >= maxVariants:
			return nil, fmt.Errorf("%q has more than %d values", s, maxVariants)
		}
		var out []int
		for i := range (to-from)/step + 1 { // from + step may overflow
			out = append(out, from+i*step)
		}
		return out, nil
	}
}

// parseShapes reads MxNxK, or one number or range for all three dimensions.
func parseShapes(s string) ([][3]int, error) {
	if strings.ContainsAny(s, "xX") {
		shape, err := parseTriple(s, 1, bench.MaxDim)
		return [][3]int{shape}, err
	}
	sizes, err := parseInts(1, bench.MaxDim)(s)
	if err != nil {
		return nil, err
	}
	var out [][3]int
	for _, n := range sizes {
		out = append(out, [3]int{n, n, n})
	}
	return out, nil
}

func parseTriple(s string, lo, hi int) (t [3]int, err error) {
	parts := strings.Split(strings.ToLower(s), "x")
	if len(parts) != 3 {
		return t, fmt.Errorf("%q is not MxNxK", s)
	}
	for i, p := range parts {
		if t[i], err = strconv.Atoi(p); err != nil && !errors.Is(err, strconv.ErrRange) {
			return t, fmt.Errorf("%q is not MxNxK", s)
		}
		if t[i] < lo || t[i] > hi {
			return t, fmt.Errorf("%q has %s, which is outside %d..%d", s, p, lo, hi)
		}
	}
	return t, nil
}

// parseTiles reads MxNxK or auto.
func parseTiles(hi int) func(string) ([][3]int, error) {
	return func(s string) ([][3]int, error) {
		if strings.EqualFold(s, "auto") {
			return [][3]int{{}}, nil
		}
		t, err := parseTriple(s, 0, hi)
		return [][3]int{t}, err
	}
}

// parseName reads one of some values by its name.
func parseName[T any](some []T) func(string) ([]T, error) {
	return func(s string) ([]T, error) {
		for _, t := range some {
			if strings.EqualFold(fmt.Sprint(t), s) {
				return []T{t}, nil
			}
		}
		return nil, fmt.Errorf("%q is not one of %s", s, nameList(some))
	}
}

// nameList names the values, in their order.
func nameList[T any](some []T) string {
	var names []string
	for _, t := range some {
		names = append(names, fmt.Sprint(t))
	}
	return strings.Join(names, ", ")
}

// parseFactor reads a number that is finite as a float of so many bits. What is not zero must not become zero: a
// product without a term is another product.
func parseFactor(s string, bits int) (float64, error) {
	v, err := strconv.ParseFloat(s, bits)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is not a number", s)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%s is not a finite float%d", s, bits)
	case v == 0 && !writtenZero(s):
		return 0, fmt.Errorf("%s is not zero, but would be as a float%d", s, bits)
	}
	return strconv.ParseFloat(s, 64) // which the product rounds
}

// writtenZero reports whether all digits of s, a number, are zero. Its value cannot
// tell, as 1e-400 is zero as a float64, too.
func writtenZero(s string) bool {
	s, exponent := strings.ToLower(s), "e"
	if strings.Contains(s, "0x") {
		exponent = "p"
	}
	digits, _, _ := strings.Cut(s, exponent)
	return strings.Trim(digits, "+-0x._") == ""
}

func parseBool(s string) ([]bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return nil, fmt.Errorf("%q is not one of true, false", s)
	}
	return []bool{b}, nil
}

// A boolList is a list of true and false; the flag alone means true.
type boolList string

func (l *boolList) String() string     { return string(*l) }
func (l *boolList) Set(s string) error { *l = boolList(s); return nil }
func (l *boolList) IsBoolFlag() bool   { return true }

// attach joins the list that follows such a flag to it, as in the other flags
// that take a list: package flag wants an equals sign between them. Nothing but
// flags can follow a list, so whatever does not begin like one is meant to be it.
func attach(fs *flag.FlagSet, args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if f := fs.Lookup(strings.TrimLeft(arg, "-")); f != nil && strings.HasPrefix(arg, "-") && i+1 < len(args) {
			if _, ok := f.Value.(*boolList); ok && !strings.HasPrefix(args[i+1], "-") {
				arg += "=" + args[i+1]
				i++
			}
		}
		out = append(out, arg)
	}
	return out
}

var parseTrans = parseName([]string{"NN", "NT", "TN", "TT"})

// parseKernel reads the name of a kernel that this build knows; auto means the best, which is "" to package gemm.
// Whether it has the arithmetic and the type that go with it is checked for each variant.
func parseKernel(s string) ([]string, error) {
	if strings.EqualFold(s, "auto") {
		return []string{""}, nil
	}
	var names []string
	for _, k := range asm.Kernels() {
		if strings.EqualFold(k.Name, s) {
			return []string{k.Name}, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("%q is not a kernel; kernels: auto, %s", s, strings.Join(names, ", "))
}
