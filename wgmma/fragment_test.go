package wgmma

import (
	"fmt"
	"testing"
)

// Every place of D belongs to one element of one thread, for every N.
func TestAccumulatorCoord(t *testing.T) {
	for n := 8; n <= 256; n += 8 {
		seen := make([]bool, M*n)
		for thread := range Threads {
			for i := range n / 2 {
				row, col := AccumulatorCoord(thread, i)
				if row < 0 || row >= M || col < 0 || col >= n || seen[row*n+col] {
					t.Fatalf("n %d: element %d of thread %d is (%d, %d), taken or outside", n, i, thread, row, col)
				}
				seen[row*n+col] = true
				if gotThread, gotI := AccumulatorIndex(row, col); gotThread != thread || gotI != i {
					t.Fatalf("(%d, %d) is element %d of thread %d, want %d of %d", row, col, gotI, gotThread, i, thread)
				}
			}
		}
	}
	for _, c := range [][4]int{{0, 0, 0, 0}, {0, 2, 8, 0}, {0, 5, 0, 9}, {1, 0, 0, 2}, {4, 3, 9, 1}, {32, 2, 24, 0},
		{127, 127, 63, 255}} {
		if row, col := AccumulatorCoord(c[0], c[1]); row != c[2] || col != c[3] {
			t.Errorf("element %d of thread %d is (%d, %d), want (%d, %d)", c[1], c[0], row, col, c[2], c[3])
		}
	}
}

// Every place of A belongs to one element of one thread, for every size.
func TestFragmentCoord(t *testing.T) {
	for _, size := range []int{1, 2, 4} {
		ks := RowBytes / size
		seen := make([]bool, M*ks)
		for thread := range Threads {
			for i := range 16 / size {
				row, k := FragmentCoord(size, thread, i)
				if row < 0 || row >= M || k < 0 || k >= ks || seen[row*ks+k] {
					t.Fatalf("size %d: element %d of thread %d is (%d, %d), taken or outside", size, i, thread, row, k)
				}
				seen[row*ks+k] = true
				if gotThread, gotI := FragmentIndex(size, row, k); gotThread != thread || gotI != i {
					t.Fatalf("size %d: (%d, %d) is element %d of thread %d, want %d of %d", size, row, k, gotI,
						gotThread, i, thread)
				}
				// The formulas of the PTX figures.
				lane := thread % 32
				wantRow, wantK := 16*(thread/32)+lane/4, 0
				switch size {
				case 1:
					wantRow, wantK = wantRow+8*(i/4%2), 16*(i/8)+4*(lane%4)+i%4
				case 2:
					wantRow, wantK = wantRow+8*(i/2%2), 8*(i/4)+2*(lane%4)+i%2
				case 4:
					wantRow, wantK = wantRow+8*(i%2), 4*(i/2)+lane%4
				}
				if row != wantRow || k != wantK {
					t.Fatalf("size %d: element %d of thread %d is (%d, %d), want (%d, %d)", size, i, thread, row, k,
						wantRow, wantK)
				}
			}
		}
	}
}

// Threads, elements, places and sizes that no warpgroup has.
func TestCoordRanges(t *testing.T) {
	type call struct {
		name string
		f    func(args ...int)
	}
	accumulatorCoord := call{"AccumulatorCoord", func(a ...int) { AccumulatorCoord(a[0], a[1]) }}
	accumulatorIndex := call{"AccumulatorIndex", func(a ...int) { AccumulatorIndex(a[0], a[1]) }}
	fragmentCoord := call{"FragmentCoord", func(a ...int) { FragmentCoord(a[0], a[1], a[2]) }}
	fragmentIndex := call{"FragmentIndex", func(a ...int) { FragmentIndex(a[0], a[1], a[2]) }}
	register := call{"Fragment.Register", func(a ...int) { NewFragment(BF16F32).Register(a[0], a[1]) }}
	setRegister := call{"Fragment.SetRegister", func(a ...int) { NewFragment(BF16F32).SetRegister(a[0], a[1], 1) }}
	for _, c := range []struct {
		call
		args []int
		want string
	}{
		{accumulatorCoord, []int{200, 0}, "accumulator element 0 of thread 200, have 128 elements in each of 128 threads"},
		{accumulatorCoord, []int{128, 0}, "accumulator element 0 of thread 128, have 128 elements in each of 128 threads"},
		{accumulatorCoord, []int{-1, 0}, "accumulator element 0 of thread -1, have 128 elements in each of 128 threads"},
		{accumulatorCoord, []int{0, 128}, "accumulator element 128 of thread 0, have 128 elements in each of 128 threads"},
		{accumulatorCoord, []int{0, -1}, "accumulator element -1 of thread 0, have 128 elements in each of 128 threads"},
		{accumulatorIndex, []int{64, 0}, "accumulator element (64, 0), have 64 rows and 256 columns"},
		{accumulatorIndex, []int{-1, 0}, "accumulator element (-1, 0), have 64 rows and 256 columns"},
		{accumulatorIndex, []int{0, 256}, "accumulator element (0, 256), have 64 rows and 256 columns"},
		{accumulatorIndex, []int{0, -1}, "accumulator element (0, -1), have 64 rows and 256 columns"},
		{fragmentCoord, []int{0, 0, 0}, "fragment elements of 0 bytes, must be 1, 2 or 4"},
		{fragmentCoord, []int{3, 0, 0}, "fragment elements of 3 bytes, must be 1, 2 or 4"},
		{fragmentCoord, []int{8, 0, 0}, "fragment elements of 8 bytes, must be 1, 2 or 4"},
		{fragmentCoord, []int{2, 128, 0}, "fragment element 0 of thread 128, have 8 elements in each of 128 threads"},
		{fragmentCoord, []int{2, -1, 0}, "fragment element 0 of thread -1, have 8 elements in each of 128 threads"},
		{fragmentCoord, []int{1, 0, 16}, "fragment element 16 of thread 0, have 16 elements in each of 128 threads"},
		{fragmentCoord, []int{4, 0, 4}, "fragment element 4 of thread 0, have 4 elements in each of 128 threads"},
		{fragmentCoord, []int{4, 0, -1}, "fragment element -1 of thread 0, have 4 elements in each of 128 threads"},
		{fragmentIndex, []int{0, 0, 0}, "fragment elements of 0 bytes, must be 1, 2 or 4"},
		{fragmentIndex, []int{-2, 0, 0}, "fragment elements of -2 bytes, must be 1, 2 or 4"},
		{fragmentIndex, []int{2, 0, 99}, "fragment element (0, 99), have 64 rows and 16 columns"},
		{fragmentIndex, []int{1, 0, 32}, "fragment element (0, 32), have 64 rows and 32 columns"},
		{fragmentIndex, []int{4, 0, -1}, "fragment element (0, -1), have 64 rows and 8 columns"},
		{fragmentIndex, []int{4, 64, 0}, "fragment element (64, 0), have 64 rows and 8 columns"},
		{fragmentIndex, []int{4, -1, 0}, "fragment element (-1, 0), have 64 rows and 8 columns"},
		{register, []int{0, 4}, "register 4 of thread 0, have 4 registers in each of 128 threads"},
		{register, []int{128, 0}, "register 0 of thread 128, have 4 registers in each of 128 threads"},
		{setRegister, []int{0, -1}, "register -1 of thread 0, have 4 registers in each of 128 threads"},
		{setRegister, []int{-1, 0}, "register 0 of thread -1, have 4 registers in each of 128 threads"},
	} {
		if got, want := fmt.Sprint(recovered(func() { c.f(c.args...) })), "wgmma: "+c.want; got != want {
			t.Errorf("%s%v panics with %q, want %q", c.name, c.args, got, want)
		}
	}
}

// Kinds that do not exist have no sizes.
func TestKindRange(t *testing.T) {
	for _, kind := range []Kind{B1S32 + 1, 99, 255} {
		want := fmt.Sprintf("wgmma: Kind(%d) is not a kind of wgmma.mma_async", uint8(kind))
		for name, f := range map[string]func(){
			"ElementSize":     func() { kind.ElementSize() },
			"K":               func() { kind.K() },
			"AccumulatorType": func() { kind.AccumulatorType() },
			"Op.Shape":        func() { Op{Kind: kind, N: 8}.Shape() },
		} {
			if got := fmt.Sprint(recovered(f)); got != want {
				t.Errorf("%s of %v panics with %q, want %q", name, kind, got, want)
			}
		}
	}
}

func TestFragmentRegisters(t *testing.T) {
	for _, kind := range []Kind{S8S32, BF16F32, TF32F32} {
		f, size := NewFragment(kind), kind.ElementSize()
		mask := uint32(1<<(8*size) - 1)
		for row := range M {
			for k := range kind.K() {
				f.SetBits(row, k, uint32(row*1000003+k*77777)|^mask)
			}
		}
		for row := range M {
			for k := range kind.K() {
				want := uint32(row*1000003+k*77777) & mask
				if size == 4 {
					want = uint32(row*1000003+k*77777) | ^mask
				}
				if got := f.Bits(row, k); got != want {
					t.Fatalf("%v: (%d, %d) is %#x, want %#x", kind, row, k, got, want)
				}
				thread, i := FragmentIndex(size, row, k)
				per := 4 / size
				if got := f.Register(thread, i/per) >> (i % per * 8 * size) & mask; got != want {
					t.Fatalf("%v: (%d, %d) is %#x in its register, want %#x", kind, row, k, got, want)
				}
			}
		}
		f.SetRegister(5, 3, 0xdeadbeef)
		row, k := FragmentCoord(size, 5, 3*4/size)
		if got := f.Bits(row, k); got != 0xdeadbeef&mask {
			t.Errorf("%v: first element of register 3 is %#x", kind, got)
		}
	}
}

// Elements of a zero Fragment have no size; its registers are as good as any.
func TestZeroFragment(t *testing.T) {
	var f Fragment
	const want = "wgmma: fragment element (3, 1) of a zero Fragment: NewFragment must make it"
	for name, access := range map[string]func(){
		"Bits":    func() { f.Bits(3, 1) },
		"SetBits": func() { f.SetBits(3, 1, 7) },
	} {
		if got := fmt.Sprint(recovered(access)); got != want {
			t.Errorf("%s panics with %q, want %q", name, got, want)
		}
	}
	if f.SetRegister(5, 3, 9); f.Register(5, 3) != 9 {
		t.Errorf("register 3 of thread 5 is %d, want 9", f.Register(5, 3))
	}
	for _, at := range [][2]int{{-1, 0}, {M, 0}, {0, -1}, {0, 16}} {
		want := fmt.Sprintf("wgmma: fragment element (%d, %d), have 64 rows and 16 columns", at[0], at[1])
		if got := fmt.Sprint(recovered(func() { NewFragment(BF16F32).Bits(at[0], at[1]) })); got != want {
			t.Errorf("Bits%v panics with %q, want %q", at, got, want)
		}
	}
}
