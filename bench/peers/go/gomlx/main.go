// Command gomlx measures the matrix product of GoMLX's own backend, the one
// without XLA. It writes a bf16 product in bf16.
package main

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/dtypes/bfloat16"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"example.com/leafhopper/bench/peers/go/harness"
)

func main() { harness.Main(harness.Library{Name: "gomlx", Prepare: prepare}) }

// prepare compiles the product and hands the operands over, both once. A call
// executes it and gives C's buffer back to the backend's pool, so that the next
// call need not allocate.
func prepare(p *harness.Product, _ int) (*harness.Call, error) {
	if p.Trans {
		return nil, harness.ErrUnsupported
	}
	backend := simplego.GetBackend()
	exec, inputs, err := compile(backend, p)
	if err != nil {
		return nil, err
	}
	execute := func() (backends.Buffer, error) {
		out, err := exec.Execute(inputs, nil, 0)
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	run := func() error {
		c, err := execute()
		if err != nil {
			return err
		}
		return backend.BufferFinalize(c)
	}
	result := func() (c harness.Values) {
		buffer, err := execute()
		if err != nil {
			return harness.Values{}
		}
		switch p.DType {
		case harness.BF16:
			half := make([]bfloat16.BFloat16, p.M*p.N)
			err = backend.BufferToFlatData(buffer, half)
			c.F32 = make([]float32, len(half))
			for i, v := range half {
				c.F32[i] = v.Float32()
			}
		case harness.F32:
			c.F32 = make([]float32, p.M*p.N)
			err = backend.BufferToFlatData(buffer, c.F32)
		case harness.F64:
			c.F64 = make([]float64, p.M*p.N)
			err = backend.BufferToFlatData(buffer, c.F64)
		}
		if err != nil {
			return harness.Values{}
		}
		return c
	}
	return &harness.Call{Run: run, Result: result, BF16Out: p.DType == harness.BF16}, nil
}

// compile returns the executable of A·B and its inputs.
func compile(backend backends.Backend, p *harness.Product) (backends.Executable, []backends.Buffer, error) {
	builder := backend.Builder(fmt.Sprint(p))
	var ops [2]backends.Op
	var inputs []backends.Buffer
	for i, x := range []struct {
		name       string
		rows, cols int
		data       harness.Values
	}{{"a", p.M, p.K, p.A}, {"b", p.K, p.N, p.B}} {
		dtype, flat := flatten(p.DType, x.data)
		shape := shapes.Make(dtype, x.rows, x.cols)
		buffer, err := backend.BufferFromFlatData(0, flat, shape)
		if err != nil {
			return nil, nil, err
		}
		inputs = append(inputs, buffer)
		if ops[i], err = builder.Parameter(x.name, shape, nil); err != nil {
			return nil, nil, err
		}
	}
	product, err := builder.Dot(ops[0], ops[1])
	if err != nil {
		return nil, nil, err
	}
	exec, err := builder.Compile([]backends.Op{product}, nil)
	return exec, inputs, err
}

// flatten returns elements of a type as GoMLX has them.
func flatten(dtype string, v harness.Values) (dtypes.DType, any) {
	switch dtype {
	case harness.F32:
		return dtypes.Float32, v.F32
	case harness.F64:
		return dtypes.Float64, v.F64
	}
	half := make([]bfloat16.BFloat16, len(v.F32))
	for i, x := range v.F32 {
		half[i] = bfloat16.FromFloat32(x)
	}
	return dtypes.BFloat16, half
}
