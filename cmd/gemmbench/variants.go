package main

import (
	"flag"
	"math"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/gemm"
)

// axes are the flags that span the variants, as they were given.
type axes struct {
	size, m, n, k                                   string
	dtype, out, trans, depth, workers, kernel, tile string
	alpha, beta                                     float64
	seed                                            uint64
}

func (a *axes) declare(fs *flag.FlagSet) {
	fs.StringVar(&a.size, "size", "", "`list` of sizes: N for m = n = k, from:to:step, or MxNxK (default: one that suits this machine)")
	fs.StringVar(&a.m, "m", "", "`list` of m, in place of that of -size; dimensions not given are 1024")
	fs.StringVar(&a.n, "n", "", "`list` of n, in place of that of -size")
	fs.StringVar(&a.k, "k", "", "`list` of k, in place of that of -size")
	fs.StringVar(&a.dtype, "dtype", "bf16", "`list` of types of A and B: bf16, f16, f32")
	fs.StringVar(&a.out, "out", "f32", "`list` of types of C: f32, bf16, f16")
	fs.StringVar(&a.trans, "trans", "NN", "`list` of NN, NT, TN, TT: which of A and B lies transposed in memory")
	fs.StringVar(&a.depth, "depth", "1,2,3,4,6,8", "`list` of queue depths; 0 leaves the choice to the engine")
	fs.StringVar(&a.workers, "workers", "0", "`list` of worker counts; 0 is GOMAXPROCS")
	fs.StringVar(&a.kernel, "kernel", "auto", "`list` of kernels, see gemmbench kernels")
	fs.StringVar(&a.tile, "tile", "auto", "`list` of tiles MxNxK")
	fs.Float64Var(&a.alpha, "alpha", 1, "factor of the product")
	fs.Float64Var(&a.beta, "beta", 0, "factor of C's old value")
	fs.Uint64Var(&a.seed, "seed", 1, "seed of the operands")
}

// sized reports whether a flag says what size to measure.
func (a *axes) sized() bool { return a.size != "" || a.m != "" || a.n != "" || a.k != "" }

// variants returns the product of all lists: sizes outermost and depths
// innermost. Where no flag says what size, all dimensions are 1.
func (a *axes) variants() ([]bench.Variant, error) {
	shapes, err := a.shapes()
	if err != nil {
		return nil, err
	}
	ins, err := listFlag("dtype", a.dtype, parseType)
	if err != nil {
		return nil, err
	}
	outs, err := listFlag("out", a.out, parseType)
	if err != nil {
		return nil, err
	}
	transes, err := listFlag("trans", a.trans, parseTrans)
	if err != nil {
		return nil, err
	}
	workers, err := listFlag("workers", a.workers, parseInts(0, gemm.MaxWorkers))
	if err != nil {
		return nil, err
	}
	kernels, err := listFlag("kernel", a.kernel, parseKernel)
	if err != nil {
		return nil, err
	}
	tiles, err := listFlag("tile", a.tile, parseTiles(gemm.MaxTile))
	if err != nil {
		return nil, err
	}
	depths, err := listFlag("depth", a.depth, parseInts(0, gemm.MaxDepth))
	if err != nil {
		return nil, err
	}
	n := 1
	for _, l := range []int{len(shapes), len(ins), len(outs), len(transes), len(workers), len(kernels), len(tiles), len(depths)} {
		if n *= l; n > maxVariants {
			return nil, usagef("compare: the lists span more than %d variants; measure them in parts", maxVariants)
		}
	}
	for _, f := range []struct {
		name string
		v    float64
	}{{"alpha", a.alpha}, {"beta", a.beta}} {
		if math.Abs(f.v) > math.MaxFloat32 || math.IsNaN(f.v) {
			return nil, usagef("compare: -%s: %v is not a finite float32", f.name, f.v)
		}
	}
	var vs []bench.Variant
	add := func(shape [3]int, in, out asm.Type, trans string, workers int, kernel string, tile [3]int) {
		for _, depth := range depths {
			vs = append(vs, bench.Variant{
				Workload: bench.Workload{
					M: shape[0], N: shape[1], K: shape[2], In: in, Out: out,
					TransA: trans[0] == 'T', TransB: trans[1] == 'T',
					Alpha: float32(a.alpha), Beta: float32(a.beta), Seed: a.seed,
				},
				Depth: depth, Workers: workers, Kernel: kernel, Tile: tile,
			})
		}
	}
	for _, shape := range shapes {
		for _, in := range ins {
			for _, out := range outs {
				for _, trans := range transes {
					for _, w := range workers {
						for _, kernel := range kernels {
							for _, tile := range tiles {
								add(shape, in, out, trans, w, kernel, tile)
							}
						}
					}
				}
			}
		}
	}
	return vs, nil
}

func (a *axes) shapes() ([][3]int, error) {
	shapes := [][3]int{{1, 1, 1}}
	if a.m != "" || a.n != "" || a.k != "" {
		shapes = [][3]int{{1024, 1024, 1024}}
	}
	if a.size != "" {
		var err error
		if shapes, err = listFlag("size", a.size, parseShapes); err != nil {
			return nil, err
		}
	}
	for i, list := range []string{a.m, a.n, a.k} {
		if list == "" {
			continue
		}
		values, err := listFlag([]string{"m", "n", "k"}[i], list, parseInts(1, maxDim))
		if err != nil {
			return nil, err
		}
		var replaced [][3]int
		seen := map[[3]int]bool{}
		for _, s := range shapes {
			for _, v := range values {
				if s[i] = v; !seen[s] {
					seen[s] = true
					replaced = append(replaced, s)
				}
			}
		}
		shapes = replaced
	}
	return shapes, nil
}

// listFlag parses the list that flag -name holds.
func listFlag[T comparable](name, list string, parse func(string) ([]T, error)) ([]T, error) {
	vs, err := parseList(list, parse)
	if err != nil {
		return nil, usagef("compare: -%s: %w", name, err)
	}
	return vs, nil
}
