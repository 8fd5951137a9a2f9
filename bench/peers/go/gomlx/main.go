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
	dtype := dtypes.Float32
	if p.BF16 {
		dtype = dtypes.BFloat16
	}
	exec, inputs, err := compile(backend, dtype, p)
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
	result := func() []float32 {
		buffer, err := execute()
		if err != nil {
			return nil
		}
		c := make([]float32, p.M*p.N)
		shape, err := backend.BufferShape(buffer)
		switch {
		case err != nil:
			return nil
		case shape.DType == dtypes.Float32:
			err = backend.BufferToFlatData(buffer, c)
		default:
			half := make([]bfloat16.BFloat16, len(c))
			err = backend.BufferToFlatData(buffer, half)
			for i, v := range half {
				c[i] = v.Float32()
			}
		}
		if err != nil {
			return nil
		}
		return c
	}
	return &harness.Call{Run: run, Result: result, BF16Out: p.BF16}, nil
}

// compile returns the executable of A·B and its inputs.
func compile(
	backend backends.Backend, dtype dtypes.DType, p *harness.Product,
) (backends.Executable, []backends.Buffer, error) {
	builder := backend.Builder(fmt.Sprint(p))
	var ops [2]backends.Op
	var inputs []backends.Buffer
	for i, x := range []struct {
		name       string
		rows, cols int
		data       []float32
	}{{"a", p.M, p.K, p.A}, {"b", p.K, p.N, p.B}} {
		shape := shapes.Make(dtype, x.rows, x.cols)
		var flat any = x.data
		if p.BF16 {
			half := make([]bfloat16.BFloat16, len(x.data))
			for j, v := range x.data {
				half[j] = bfloat16.FromFloat32(v)
			}
			flat = half
		}
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
