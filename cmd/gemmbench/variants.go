package main

import (
	"flag"
	"slices"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/internal/cores"
)

// axes are the flags that span the variants, as they were given.
type axes struct {
	size, m, n, k                                   string
	dtype, out, trans, depth, workers, kernel, tile string
	arith, splitK, promotion, callers, batch        string
	alpha, beta                                     string
	scales, activation                              string
	bias, prepacked                                 boolList
	seed                                            uint64
}

// outDefault is what -out is where it is not given.
const outDefault = " (default: f32, or f64 where A and B hold that)"

func (a *axes) declare(fs *flag.FlagSet) {
	fs.StringVar(&a.size, "size", "",
		"`list` of sizes: N for m = n = k, from:to:step, or MxNxK (default: one that suits this machine)")
	fs.StringVar(&a.m, "m", "", "`list` of m, in place of that of -size; dimensions not given are 1024")
	fs.StringVar(&a.n, "n", "", "`list` of n, in place of that of -size")
	fs.StringVar(&a.k, "k", "", "`list` of k, in place of that of -size")
	fs.StringVar(&a.dtype, "dtype", "bf16", "`list` of types of A and B: "+nameList(types))
	fs.StringVar(&a.out, "out", "", "`list` of types of C: "+nameList(outputs)+outDefault)
	fs.StringVar(&a.trans, "trans", "NN", "`list` of NN, NT, TN, TT: which of A and B lies transposed in memory")
	fs.StringVar(&a.arith, "arith", "native", "`list` of "+nameList(arithmetics)+
		": the sums of the processor, or those of the tensor core bit for bit (f32 is then tf32)")
	fs.StringVar(&a.splitK, "splitk", "1", "`list` of numbers of parts of K that hopper arithmetic sums for themselves")
	fs.StringVar(&a.promotion, "promotion", "0", "`list` of numbers of elements of K after which the chain of hopper "+
		"arithmetic begins anew, multiples of 32; 0 is one chain")
	fs.StringVar(&a.scales, "scales", "none", "`list` of "+nameList(scales)+
		": scales of the sums, one of A and one of B or those of A's rows and B's columns")
	a.bias = "false"
	fs.Var(&a.bias, "bias",
		"add a bias to the columns of C; a `list` of true, false does both: the report then has the cost")
	fs.StringVar(&a.activation, "activation", "identity", "`list` of "+nameList(asm.Activations())+
		": what C's elements go through")
	a.prepacked = "false"
	fs.Var(&a.prepacked, "prepacked", "pack B before the time starts; a `list` of true, false does both")
	fs.StringVar(&a.depth, "depth", "1,2,3,4,6,8",
		"`list` of ring depths, in stages; 0 leaves the choice to the engine")
	fs.StringVar(&a.workers, "workers", "0",
		"`list` of worker counts; 0 is as many as the engine takes of itself, "+
			"by GOMAXPROCS, affinity and the CPU quota (gemmbench info); with 1 among others the report has the scaling")
	fs.StringVar(&a.callers, "callers", "1", "`list` of numbers of callers, goroutines that multiply the same A and B "+
		"at once, each to its own C: GFLOP/s are of all; with 1 among others the report has the scaling")
	fs.StringVar(&a.batch, "batch", "1", "`list` of numbers of products of a size in one call, each with its own A, B "+
		"and C: GFLOP/s are of all, and the report compares the call with as many of one product in a row")
	fs.StringVar(&a.kernel, "kernel", "auto", "`list` of kernels, see gemmbench kernels")
	fs.StringVar(&a.tile, "tile", "auto", "`list` of tiles MxNxK, each dimension rounded up to what the kernel needs; "+
		"0 leaves one to the engine, and auto, or 0x0x0, all")
	fs.StringVar(&a.alpha, "alpha", "1", "factor of the product: a `number` other than 0, float32 or for f64 float64")
	fs.StringVar(&a.beta, "beta", "0", "factor of C's old value: a `number` as that of -alpha")
	fs.Uint64Var(&a.seed, "seed", 1, "seed of the operands")
}

// sized reports whether a flag says what size to measure.
func (a *axes) sized() bool { return a.size != "" || a.m != "" || a.n != "" || a.k != "" }

// variants returns the product of all lists: sizes outermost and depths
// innermost. Some may come to the same, see distinct. Where no flag says what size, all dimensions are 1.
func (a *axes) variants() ([]bench.Variant, error) {
	shapes, err := a.shapes()
	if err != nil {
		return nil, err
	}
	s := span{vs: []bench.Variant{{Workload: bench.Workload{Seed: a.seed}}}}
	cross(&s, shapes, func(v *bench.Variant, shape [3]int) { v.M, v.N, v.K = shape[0], shape[1], shape[2] })
	crossList(&s, "dtype", a.dtype, parseName(types), func(v *bench.Variant, t asm.Type) {
		v.In, v.Out = t, bench.SumType(t)
	})
	s.factors(a)
	if a.out != "" {
		crossList(&s, "out", a.out, parseName(outputs), func(v *bench.Variant, t asm.Type) { v.Out = t })
	}
	crossList(&s, "trans", a.trans, parseTrans, func(v *bench.Variant, t string) {
		v.TransA, v.TransB = t[0] == 'T', t[1] == 'T'
	})
	crossList(&s, "arith", a.arith, parseName(arithmetics), func(v *bench.Variant, arith gemm.Arithmetic) {
		v.Arith = arith
	})
	crossList(&s, "splitk", a.splitK, parseInts(1, gemm.MaxSplitK), func(v *bench.Variant, n int) { v.SplitK = n })
	crossList(&s, "promotion", a.promotion, parseInts(0, bench.MaxDim), func(v *bench.Variant, n int) { v.Promotion = n })
	crossList(&s, "scales", a.scales, parseName(scales), func(v *bench.Variant, sc bench.Scales) { v.Scales = sc })
	crossList(&s, "bias", string(a.bias), parseBool, func(v *bench.Variant, b bool) { v.Bias = b })
	crossList(&s, "activation", a.activation, parseName(asm.Activations()), func(v *bench.Variant, f gemm.Activation) {
		v.Activation = f
	})
	crossList(&s, "workers", a.workers, parseInts(0, gemm.MaxWorkers), func(v *bench.Variant, n int) { v.Workers = n })
	crossList(&s, "callers", a.callers, parseInts(1, bench.MaxCallers), func(v *bench.Variant, n int) { v.Callers = n })
	crossList(&s, "batch", a.batch, parseInts(1, bench.MaxBatch), func(v *bench.Variant, n int) { v.Batch = n })
	crossList(&s, "kernel", a.kernel, parseKernel, func(v *bench.Variant, name string) { v.Kernel = name })
	crossList(&s, "tile", a.tile, parseTiles(gemm.MaxTile), func(v *bench.Variant, tile [3]int) { v.Tile = tile })
	crossList(&s, "prepacked", string(a.prepacked), parseBool, func(v *bench.Variant, p bool) { v.Prepacked = p })
	crossList(&s, "depth", a.depth, parseInts(0, gemm.MaxDepth), func(v *bench.Variant, n int) { v.Depth = n })
	s.sumNative()
	return s.vs, s.err
}

// distinct drops the variants that come to the same as one before: auto may be a
// kernel that is in its list as well, 0 workers as many as another number there, and
// native arithmetic has no use for several numbers of parts of K.
func distinct(vs []bench.Variant) []bench.Variant {
	seen := map[bench.Variant]bool{}
	return slices.DeleteFunc(vs, func(v bench.Variant) bool {
		if k, err := asm.SelectArithmetic(v.In, v.Arith, v.Kernel); err == nil {
			v.Kernel = k.Name
		}
		if v.Workers == 0 {
			v.Workers = cores.Count()
		}
		old := seen[v]
		seen[v] = true
		return old
	})
}

// A span is the product of the lists so far, or the first error.
type span struct {
	vs  []bench.Variant
	err error
}

// factors gives all variants alpha and beta, which must be numbers of the type of each variant's sums.
func (s *span) factors(a *axes) {
	for i := range s.vs {
		v := &s.vs[i]
		for _, f := range []struct {
			name, text string
			to         *float64
		}{{"alpha", a.alpha, &v.Alpha}, {"beta", a.beta, &v.Beta}} {
			var err error
			if *f.to, err = parseFactor(f.text, 8*bench.SumType(v.In).Size()); err != nil && s.err == nil {
				s.err = cli.Usagef("compare: -%s: %w", f.name, err)
			}
		}
		if v.Alpha == 0 && s.err == nil {
			s.err = cli.Usagef("compare: -alpha: 0 leaves no product to measure")
		}
	}
}

// sumNative gives the variants of native arithmetic one chain over K, as parts and promotion are hopper's. To ask for
// them where nothing is of hopper arithmetic is an error.
func (s *span) sumNative() {
	hopper := slices.ContainsFunc(s.vs, func(v bench.Variant) bool { return v.Arith == gemm.Hopper })
	const why = "native arithmetic sums K in blocks; it needs -arith hopper"
	for i := range s.vs {
		v := &s.vs[i]
		switch {
		case s.err != nil:
			return
		case v.Arith != gemm.Native:
		case hopper:
			v.SplitK, v.Promotion = 1, 0
		case v.SplitK > 1:
			s.err = cli.Usagef("compare: -splitk: %s", why)
		case v.Promotion > 0:
			s.err = cli.Usagef("compare: -promotion: %s", why)
		}
	}
}

// cross replaces each variant by copies to which set gave each value.
func cross[T any](s *span, values []T, set func(*bench.Variant, T)) {
	switch {
	case s.err != nil:
		return
	case len(s.vs)*len(values) > maxVariants:
		s.err = cli.Usagef("compare: the lists span more than %d variants; measure them in parts", maxVariants)
		return
	}
	var vs []bench.Variant
	for _, v := range s.vs {
		for _, value := range values {
			set(&v, value)
			vs = append(vs, v)
		}
	}
	s.vs = vs
}

// crossList is cross with the values of flag -name.
func crossList[T comparable](s *span, name, list string, parse func(string) ([]T, error), set func(*bench.Variant, T)) {
	values, err := listFlag(name, list, parse)
	if s.err == nil {
		s.err = err
	}
	cross(s, values, set)
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
		values, err := listFlag([]string{"m", "n", "k"}[i], list, parseInts(1, bench.MaxDim))
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
		return nil, cli.Usagef("compare: -%s: %w", name, err)
	}
	return vs, nil
}
