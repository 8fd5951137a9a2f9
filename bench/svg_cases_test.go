package bench

// gridReport has a result for every combination: sizes × dtypes × workers ×
// depths × packing, each with a speed of its own.
func gridReport(sizes [][3]int, dtypes []string, workers, depths []int, packing ...bool) *Report {
	rep := &Report{Machine: sampleReport().Machine}
	kernels := map[string]string{"bf16": "avx512bf16", "f32": "avx512"}
	peak := func(dtype string, workers int) PeakResult {
		p := PeakResult{Kernel: kernels[dtype], Workers: workers, GFLOPS: 576 * float64(workers)}
		if dtype == "f32" {
			p.GFLOPS = 288.3 * float64(workers)
		}
		return p
	}
	for _, dtype := range dtypes {
		for _, w := range workers {
			rep.Peak = append(rep.Peak, peak(dtype, w))
		}
	}
	for i, s := range sizes {
		for _, dtype := range dtypes {
			for _, w := range workers {
				for _, depth := range depths {
					for j, packed := range packing {
						r := Result{
							M: s[0], N: s[1], K: s[2], DType: dtype, Out: "f32", Trans: "NN", Depth: depth, Workers: w,
							Kernel: kernels[dtype], Prepacked: packed, Count: 5, Checked: true, Verified: true,
						}
						r.PeakFraction = 0.97 - 0.3/float64(i+1) - 0.1/float64(depth) - 0.1*float64(w)/float64(w+4) +
							0.015*float64(j)
						r.GFLOPS = r.PeakFraction * peak(dtype, w).GFLOPS
						r.SecondsMedian = r.Flops() / r.GFLOPS / 1e9
						r.SecondsMin, r.SecondsMax = r.SecondsMedian*0.98, r.SecondsMedian*1.05
						rep.Results = append(rep.Results, r)
					}
				}
			}
		}
	}
	return rep
}

func cubes(ns ...int) (sizes [][3]int) {
	for _, n := range ns {
		sizes = append(sizes, [3]int{n, n, n})
	}
	return sizes
}

// svgReports are reports of every form that a plot takes.
func svgReports() map[string]*Report {
	one, both, bf16 := []int{1}, []int{1, 2}, []string{"bf16"}
	strips := [][3]int{{1, 4096, 4096}, {512, 4096, 4096}, {8, 4096, 4096}}
	var many [][3]int
	for i := range 40 {
		many = append(many, [3]int{64 * (i + 1), 11008, 4096})
	}
	var crowd []int
	for n := 256; n <= 8192; n += 128 {
		crowd = append(crowd, n)
	}
	kernels := gridReport(cubes(512), bf16, one, one, false)
	for _, name := range []string{"go", "gobf16"} {
		r := kernels.Results[0]
		r.Kernel, r.GFLOPS = name, r.GFLOPS/2
		kernels.Results = append(kernels.Results, r)
	}
	gap := gridReport(cubes(64, 128, 256, 512), bf16, both, one, false)
	gap.Results[2].Verified, gap.Results[2].Failure = false, "C[1,2] = NaN, want 1"
	gap.Results[7].GFLOPS, gap.Results[7].SecondsMedian = 0, 0
	chosen := gridReport(cubes(64, 128), bf16, both, one, false)
	for i := range chosen.Results {
		r := &chosen.Results[i]
		r.Depth = 7 - 3*r.Workers
	}
	return map[string]*Report{
		"chosen":    chosen,
		"sizes":     gridReport(cubes(2048, 64, 256, 1000), bf16, both, []int{2}, false),
		"crowd":     gridReport(cubes(crowd...), bf16, both, one, false),
		"shapes":    gridReport(strips, []string{"bf16", "f32"}, one, one, false),
		"shapes40":  gridReport(many, bf16, both, one, false),
		"shapes12":  gridReport(many[:12], bf16, both, one, false),
		"shapes8":   gridReport(many[:8], bf16, both, one, false),
		"depths":    gridReport(cubes(1024), []string{"bf16", "f32"}, one, []int{1, 2, 3, 4, 6, 8}, false),
		"workers":   gridReport(cubes(1024), []string{"bf16"}, []int{1, 2, 4, 12}, one, false, true),
		"workers64": gridReport(cubes(1024), []string{"f32"}, []int{1, 2, 4, 64}, one, false),
		"lines": gridReport(cubes(64, 128, 256), []string{"bf16", "f32"}, []int{1, 2, 3}, []int{1, 2, 4}, false,
			true),
		"packing": gridReport(cubes(64, 128), bf16, both, one, false, true),
		"kernels": kernels,
		"single":  gridReport(cubes(640), bf16, one, one, false),
		"gap":     gap,
		"plain":   sampleReport(), "mixed": mixedReport(), "hopper": hopperReport(), "packed": packedReport(),
		"empty": {Machine: sampleReport().Machine},
	}
}
