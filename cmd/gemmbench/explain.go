package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"example.com/leafhopper/bench"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
)

// setupExplain declares the flags of the command explain: those of one product, and of a machine.
func setupExplain(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	var q gemm.Question
	size := fs.String("size", "1024", "`size` of the product: N for m = n = k, or MxNxK")
	dtype := fs.String("dtype", "bf16", "`type` of A and B: "+nameList(types))
	out := fs.String("out", "", "`type` of C: "+nameList(outputs)+outDefault)
	trans := fs.String("trans", "NN", "NN, NT, TN or TT: which of A and B lies transposed in memory")
	fs.BoolVar(&q.Packed, "prepacked", false, "B is packed")
	fs.IntVar(&q.Workers, "workers", 0, "worker `count`; 0 is all")
	fs.IntVar(&q.Batch, "batch", 1, "`count` of such products in one call")
	fs.StringVar(&q.Machine, "machine", "",
		"`machine` to pretend: "+strings.Join(gemm.Machines(), ", ")+" (default: this one)")
	kernel := fs.String("kernel", "auto", "`kernel`, see gemmbench kernels; auto is the best")
	return func(_ context.Context, stdout, _ io.Writer) error {
		shapes, err := parseShapes(*size)
		switch {
		case strings.Contains(*size, ",") || err == nil && len(shapes) != 1:
			return cli.Usagef("explain: -size: %q is not one size", *size)
		case err != nil:
			return cli.Usagef("explain: -size: %w", err)
		}
		q.M, q.N, q.K = shapes[0][0], shapes[0][1], shapes[0][2]
		in, err := parseName(types)(*dtype)
		if err != nil {
			return cli.Usagef("explain: -dtype: %w", err)
		}
		q.Type, q.Out = in[0], bench.SumType(in[0])
		if *out != "" {
			to, err := parseName(outputs)(*out)
			if err != nil {
				return cli.Usagef("explain: -out: %w", err)
			}
			q.Out = to[0]
		}
		t, err := parseTrans(*trans)
		if err != nil {
			return cli.Usagef("explain: -trans: %w", err)
		}
		q.TransA, q.TransB = t[0][0] == 'T', t[0][1] == 'T'
		if q.Workers < 0 || q.Workers > gemm.MaxWorkers {
			return cli.Usagef("explain: -workers: %d is outside 0..%d", q.Workers, gemm.MaxWorkers)
		}
		if q.Batch < 1 || q.Batch > bench.MaxBatch {
			return cli.Usagef("explain: -batch: %d is outside 1..%d", q.Batch, bench.MaxBatch)
		}
		k, err := parseKernel(*kernel)
		if err != nil {
			return cli.Usagef("explain: -kernel: %w", err)
		}
		q.Kernel, q.Machine = k[0], strings.ToLower(q.Machine)
		text, err := gemm.Explain(q)
		if err != nil {
			return cli.Usagef("explain: %s", strings.TrimPrefix(err.Error(), "gemm: Explain: "))
		}
		if _, err := fmt.Fprint(stdout, text); err != nil {
			return cli.Usagef("explain: writing the result: %w", err)
		}
		return nil
	}
}
