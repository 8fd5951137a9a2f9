package gemm_test

import (
	"context"
	"fmt"
	"log"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

func Example() {
	a := gemm.NewMatrix[bf16.BF16](2, 3) // 2 rows, 3 columns
	b := gemm.NewMatrix[bf16.BF16](3, 2)
	bf16.Encode(a.Data, []float32{
		1, 2, 3,
		4, 5, 6,
	})
	bf16.Encode(b.Data, []float32{
		1, 0,
		0, 1,
		1, 1,
	})
	c := gemm.NewMatrix[float32](2, 2)
	if err := gemm.Multiply(c, a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [4 5 10 11]
}

// C becomes alpha·A·B + beta·C.
func ExampleMultiply() {
	a := gemm.Of(1, 2, []float32{1, 2})
	b := gemm.Of(2, 1, []float32{10, 100})
	c := gemm.Of(1, 1, []float32{1000})
	if err := gemm.Multiply(c, a, b, gemm.WithAlpha(2), gemm.WithBeta(-1)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.At(0, 0))
	// Output: -580
}

// Of makes a matrix of a slice that is there already. Multiply reads its elements where
// they are, and writes those of C there.
func ExampleOf() {
	a := gemm.Of(2, 3, []float32{
		1, 2, 3,
		4, 5, 6,
	})
	sums := make([]float32, 2)
	if err := gemm.Multiply(gemm.Of(2, 1, sums), a, gemm.Of(3, 1, []float32{1, 1, 1})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sums)
	// Output: [6 15]
}

// What does not fit together is an error, and C stays as it was.
func ExampleMultiply_error() {
	a, b := gemm.NewMatrix[float32](3, 4), gemm.NewMatrix[float32](5, 6)
	fmt.Println(gemm.Multiply(gemm.NewMatrix[float32](3, 6), a, b))
	// Output: gemm: A is 3x4 but B is 5x6: K differs
}

// A column-major matrix is the transpose of a row-major one. This is BLAS's
// layout: element (i, j) lies at data[j*ld+i].
func ExampleMatrix_T() {
	const rows, cols, ld = 2, 3, 2
	columns := []float32{
		1, 4, // first column
		2, 5,
		3, 6,
	}
	a := gemm.Matrix[float32]{Rows: cols, Cols: rows, Stride: ld, Data: columns}.T()
	fmt.Println(a.Rows, "x", a.Cols, "with row 0:", a.At(0, 0), a.At(0, 1), a.At(0, 2))

	c := gemm.NewMatrix[float32](2, 2)
	if err := gemm.Multiply(c, a, a.T()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output:
	// 2 x 3 with row 0: 1 2 3
	// [14 32 32 77]
}

// A block of a larger matrix is a view with the larger one's Stride.
func ExampleMatrix_block() {
	large := gemm.NewMatrix[float32](3, 4)
	for i := range large.Data {
		large.Data[i] = float32(i)
	}
	// The 2x2 block whose first element is (1, 2).
	block := gemm.Matrix[float32]{Rows: 2, Cols: 2, Stride: large.Stride, Data: large.Data[1*large.Stride+2:]}
	c := gemm.NewMatrix[float32](2, 2)
	if err := gemm.Multiply(c, block, block); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [106 119 170 191]
}

// Pack copies B once into the layout that the kernel reads, for many products.
// The bits stay the same.
func ExamplePack() {
	weights := gemm.NewMatrix[bf16.BF16](3, 2)
	bf16.Encode(weights.Data, []float32{
		1, 0,
		0, 1,
		1, 1,
	})
	packed, err := gemm.Pack(weights)
	if err != nil {
		log.Fatal(err)
	}
	c := gemm.NewMatrix[float32](1, 2)
	for i := range 3 {
		a := gemm.NewMatrix[bf16.BF16](1, 3)
		bf16.Encode(a.Data, []float32{float32(i), 2, 3})
		if err := gemm.Multiply(c, a, packed); err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Data)
	}
	// Output:
	// [3 5]
	// [4 5]
	// [5 5]
}

// A Packed can be kept as bytes for as long as the kernel stays the same.
func ExamplePacked_UnmarshalBinary() {
	b := gemm.Of(2, 1, []float32{10, 100})
	p, err := gemm.Pack(b)
	if err != nil {
		log.Fatal(err)
	}
	data, err := p.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}

	var q gemm.Packed[float32]
	if err := q.UnmarshalBinary(data); err != nil {
		log.Fatal(err) // another kernel or version, say: pack b again
	}
	a := gemm.Of(1, 2, []float32{1, 2})
	c := gemm.NewMatrix[float32](1, 1)
	if err := gemm.Multiply(c, a, &q); err != nil {
		log.Fatal(err)
	}
	fmt.Println(q.Rows(), "x", q.Cols(), "gives", c.Data[0])

	data[len(data)/2] ^= 1
	fmt.Println(q.UnmarshalBinary(data) != nil)
	// Output:
	// 2 x 1 gives 210
	// true
}

// An Engine has its own workers, memory and defaults.
func ExampleEngine() {
	e, err := gemm.New(gemm.WithWorkers(1), gemm.WithKernel("go"))
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	a, b, c := gemm.NewMatrix[float32](300, 200), gemm.NewMatrix[float32](200, 100), gemm.NewMatrix[float32](300, 100)
	for i := range a.Data {
		a.Data[i] = 1
	}
	for i := range b.Data {
		b.Data[i] = 0.5
	}
	var stats gemm.Stats
	if err := e.Multiply(c, a, b, gemm.WithStats(&stats)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.At(299, 99), "by", stats.Workers, "worker with kernel", stats.Kernel)
	// Output: 100 by 1 worker with kernel go
}

// A tensor core cuts the terms of a sum off below 2^-25 of the largest one, so the
// small term is lost although the large ones cancel.
func ExampleWithArithmetic() {
	a := gemm.Of(1, 3, []float32{0x1p26, -0x1p26, 0.5})
	b := gemm.Of(3, 1, []float32{1, 1, 1})
	c := gemm.NewMatrix[float32](1, 1)
	for _, arith := range []gemm.Arithmetic{gemm.Native, gemm.Hopper} {
		if err := gemm.Multiply(c, a, b, gemm.WithArithmetic(arith)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(arith, c.Data[0])
	}
	// Output:
	// native 0.5
	// hopper 0
}

// cuBLAS cuts K where C is too small to fill a GPU, and adds up the parts. WithSplitK
// does the same, in the same order: here small terms survive in a part of their own.
func ExampleWithSplitK() {
	const k = 128
	a, b := gemm.NewMatrix[float32](1, k), gemm.NewMatrix[float32](k, 1)
	for i := range k {
		a.Set(0, i, 1)
		b.Set(i, 0, 0x1p-15)
	}
	b.Set(0, 0, 4096)
	c := gemm.NewMatrix[float32](1, 1)
	for _, parts := range []int{1, 2} {
		if err := gemm.Multiply(c, a, b, gemm.WithArithmetic(gemm.Hopper), gemm.WithSplitK(parts)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(parts, c.At(0, 0)-4096)
	}
	// Output:
	// 1 0
	// 2 0.001953125
}

// A layer of a network is one call: y = gelu(x·W' + bias), where W has a row for each output, as
// PyTorch's Linear has it.
func ExampleWithActivation() {
	x := gemm.Of(1, 3, []float32{1, -2, 0.5})
	w := gemm.Of(2, 3, []float32{0.5, 0.25, -1, 1, 1, 2})
	y := gemm.NewMatrix[float32](1, 2)
	err := gemm.Multiply(y, x, w.T(), gemm.WithBias([]float32{1, -0.5}), gemm.WithActivation(gemm.GELU))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", y.Data)
	// Output: [0.3457 -0.1543]
}

// Numbers of 8 bits have little range, so each row of activations and each column of weights is
// divided by a scale before it is rounded. WithScales multiplies by the scales again, as
// torch._scaled_mm does with use_fast_accum, bit for bit.
func ExampleWithScales() {
	x, scaleX := gemm.NewMatrix[fp8.E4M3](2, 2), []float32{0.001, 100}
	w, scaleW := gemm.NewMatrix[fp8.E4M3](2, 2), []float32{1, 0.5}
	fp8.EncodeE4M3(x.Data, []float32{1, 2, 3, 4})
	fp8.EncodeE4M3(w.Data, []float32{1, -1, 0.5, 2})
	y := gemm.NewMatrix[bf16.BF16](2, 2)
	if err := gemm.Multiply(y, x, w, gemm.WithArithmetic(gemm.Hopper), gemm.WithScales(scaleX, scaleW)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.Data)
	// Output: [0.002 0.0015 500 250]
}

// 8-bit inputs, which may be of two types, have Hopper's arithmetic only.
func ExampleEngine_Multiply() {
	e, err := gemm.New(gemm.WithArithmetic(gemm.Hopper))
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	a, b := gemm.NewMatrix[fp8.E4M3](1, 2), gemm.NewMatrix[fp8.E5M2](2, 1)
	fp8.EncodeE4M3(a.Data, []float32{1.5, -2})
	fp8.EncodeE5M2(b.Data, []float32{4, 0.25})
	c := gemm.NewMatrix[float32](1, 1)
	if err := e.Multiply(c, a, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Data)
	// Output: [5.5]
}

func ExampleWithContext() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // another goroutine would, in the middle of the product
	a, c := gemm.NewMatrix[float32](500, 500), gemm.NewMatrix[float32](500, 500)
	fmt.Println(gemm.Multiply(c, a, a, gemm.WithContext(ctx)))
	// Output: context canceled
}

// The heads of attention lie side by side: the columns of one matrix, each head's a matrix with that one's Stride.
func ExampleMultiplyBatch() {
	const heads, rows, depth = 2, 2, 2
	queries := gemm.Of(rows, heads*depth, []float32{
		1, 2, 10, 20,
		3, 4, 30, 40,
	})
	keys := gemm.Of(rows, heads*depth, []float32{
		1, 0, 1, 1,
		0, 1, 0, 0,
	})
	head := func(m gemm.Matrix[float32], i int) gemm.Matrix[float32] {
		return gemm.Matrix[float32]{Rows: rows, Cols: depth, Stride: m.Stride, Data: m.Data[i*depth:]}
	}
	var scores, q, k []gemm.Matrix[float32]
	for i := range heads {
		scores = append(scores, gemm.NewMatrix[float32](rows, rows))
		q, k = append(q, head(queries, i)), append(k, head(keys, i).T())
	}
	if err := gemm.MultiplyBatch(scores, q, k); err != nil {
		log.Fatal(err)
	}
	fmt.Println(scores[0].Data, scores[1].Data)
	// Output: [1 2 3 4] [30 0 70 0]
}
