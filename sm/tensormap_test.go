package sm_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

func TestNewTensorMap(t *testing.T) {
	data := make([]int32, 8*6*4)
	m, err := sm.NewTensorMap(data, tile.Config{Dims: []uint64{8, 6, 4}, Box: []uint32{4, 3, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if m.DataType() != tile.Int32 || m.BoxBytes() != 4*4*3*2 {
		t.Errorf("a map of %v with boxes of %d bytes", m.DataType(), m.BoxBytes())
	}
	// The strides are dense: the last element of the tensor is the last of data.
	if _, err := sm.NewTensorMap(data[1:], tile.Config{Dims: []uint64{8, 6, 4}, Box: []uint32{4, 3, 2}}); err == nil {
		t.Error("a tensor that begins off 16 bytes, and ends behind its memory, is accepted")
	}
	if _, err := sm.NewTensorMap(data[:len(data)-1],
		tile.Config{Dims: []uint64{8, 6, 4}, Box: []uint32{4, 3, 2}}); err == nil {
		t.Error("a tensor that ends behind its memory is accepted")
	}
	if _, err := sm.NewTensorMap([]bool{true}, tile.Config{}); err == nil || !strings.Contains(err.Error(), "[]bool") {
		t.Errorf("a tensor of bools: %v", err)
	}
	tf32, err := sm.NewTensorMap(make([]float32, 64),
		tile.Config{DataType: tile.TFloat32, Dims: []uint64{8, 8}, Box: []uint32{8, 8}})
	if err != nil || tf32.DataType() != tile.TFloat32 {
		t.Errorf("the type that is named: %v, %v", tf32, err)
	}
}

// TestStridesOfBytes leaves out the strides of a tensor whose type is not the slice's.
func TestStridesOfBytes(t *testing.T) {
	data := make([]byte, 2*64*8)
	x := bf16.FromBits(make([]uint16, 64*8))
	for i := range x {
		x[i] = bf16.FromFloat32(float32(i % 251))
	}
	copy(data, bf16Bytes(x))
	m, err := sm.NewTensorMap(data, tile.Config{DataType: tile.BFloat16, Dims: []uint64{64, 8}, Box: []uint32{64, 8}})
	if err != nil {
		t.Fatal(err)
	}
	err = sm.Launch(t.Context(), sm.Config{}, func(b *sm.Block) {
		buf, bar := sm.Shared[bf16.BF16](b, 64*8, 128), b.Barrier()
		b.Threads(func(th *sm.Thread) {
			bar.Init(th, 1)
			bar.ArriveTx(th, 1, m.BoxBytes())
			th.LoadTensor(buf, m, bar, 0, 0)
			bar.WaitParity(th, 0)
			for i := range x {
				if got := buf.Load(th, i); got != x[i] {
					t.Errorf("element (%d, %d) is %v, want %v", i%64, i/64, got, x[i])
					return
				}
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMisuseOfCopies has each rule of package tile broken, which is behind a fault of that name.
func TestMisuseOfCopies(t *testing.T) {
	m, err := sm.NewTensorMap(ramp(64), tile.Config{Dims: []uint64{8, 8}, Box: []uint32{4, 4}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		do   func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier)
		rule sm.Rule
		of   tile.Rule
	}{
		{"CopyBulk: bulk copy: 32 bytes at source offset 0 and destination offset 16 overlap",
			func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) { t.CopyBulk(x.At(4), x.Slice(0, 8), bar) },
			sm.RuleBytes, tile.RuleBytes},
		{"LoadTensor: load: destination offset 16 is not a multiple of 128",
			func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) { t.LoadTensor(x.At(4), m, bar, 0, 0) },
			sm.RuleAlignment, tile.RuleAlignment},
		{"StoreTensor: store: coordinate -1 of dimension 1 is negative",
			func(t *sm.Thread, x *sm.Array[int32], _ *sm.Barrier) { t.StoreTensor(m, x, 0, -1) },
			sm.RuleMap, tile.RuleMap},
		{"PrefetchTensor: prefetch: 1 coordinates for a map of rank 2",
			func(t *sm.Thread, _ *sm.Array[int32], _ *sm.Barrier) { t.PrefetchTensor(m, 0) },
			sm.RuleMap, tile.RuleMap},
		{"ReduceTensor: reduce: ReduceInc is not defined for Int32",
			func(t *sm.Thread, x *sm.Array[int32], _ *sm.Barrier) { t.ReduceTensor(tile.ReduceInc, m, x, 0, 0) },
			sm.RuleMap, tile.RuleMap},
	} {
		err := launch(t, sm.Config{}, func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 64, 128), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				c.do(t, x, bar)
			})
		})
		faultOf(t, err, c.rule, c.want)
		if misuse := (*tile.Misuse)(nil); !errors.As(err, &misuse) || misuse.Rule != c.of {
			t.Errorf("behind it is %v, want a misuse of %v", misuse, c.of)
		}
	}
}
