package asm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestUnpackedWhere checks which kernels multiply what is not packed.
func TestUnpackedWhere(t *testing.T) {
	has := map[string]Type{"avx512": F32, "avx2": F32, "avx512f64": F64, "avx2f64": F64}
	for _, kern := range Kernels() {
		for typ := range Type(numTypes + 1) {
			of, ok := has[kern.Name]
			want := assembled && ok && typ == of
			if u := kern.Unpacked(typ); (u != nil) != want {
				t.Errorf("%s multiplies unpacked %v: %v, want %v", kern.Name, typ, u != nil, want)
			}
		}
	}
}

// unpackedMaxK is the largest K in TestUnpacked.
const unpackedMaxK = 40

// TestUnpacked multiplies matrices of all small numbers of rows and columns, and few rows by more columns than the
// widest strips have. They lie at either end of their memory, and some products are added to what C holds. What lies
// between rows of A and B is NaN, and between rows of C stays.
func TestUnpacked(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		if kern.Unpacked(kern.Sum) == nil {
			t.Skip("packs")
		}
		for _, size := range []struct{ maxM, minN, maxN, pitch int }{{26, 1, 132, 1 << 10}, {4, 133, 540, 3 << 10}} {
			var mem [3]guarded
			for i := range mem {
				mem[i] = newGuarded(t, unpackedMaxK*size.pitch*kern.Word/4)
			}
			for _, values := range operands {
				t.Run(fmt.Sprintf("%s/%d", values.name, size.maxM), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, 2))
					fill := filler(kern, r, values.word)
					for m := 1; m <= size.maxM; m++ {
						for n := size.minN; n <= size.maxN; n++ {
							c := unpackedCase{kern: kern, m: m, n: n, k: 1 + r.IntN(unpackedMaxK),
								across: r.IntN(2) == 0, add: r.IntN(3) == 0, atEnd: r.IntN(2) == 0}
							if (testing.Short() || raceEnabled || kern.Sum == F64) && (m+n)%5 > 0 {
								continue
							}
							if err := c.check(mem, r, fill); err != nil {
								t.Fatal(err)
							}
						}
					}
				})
			}
		}
	})
}

// An unpackedCase is one call of an UnpackedFunc.
type unpackedCase struct {
	kern    *Kernel
	m, n, k int
	across  bool // K lies across the rows of A
	add     bool // to what C holds
	atEnd   bool // all operands lie at the end of their memory, otherwise at its start
}

func (c unpackedCase) String() string {
	return fmt.Sprintf("%dx%dx%d, across %v, add %v, at the end %v", c.m, c.n, c.k, c.across, c.add, c.atEnd)
}

// placed fills rows of so many bytes, pitch bytes apart, at the end of g or at its start. What lies between them and
// around them is NaN.
func placed(
	g guarded, rows, pitch, row int, atEnd bool, fill func(p unsafe.Pointer, n, kpack int),
) (at unsafe.Pointer, around []byte) {
	span := (rows-1)*pitch + row
	at, around = g.around(span, atEnd)
	for i := range around {
		around[i] = 0xff
	}
	fill(at, span, 1)
	for i := range rows - 1 {
		between := unsafe.Slice((*byte)(unsafe.Add(at, i*pitch+row)), pitch-row)
		for j := range between {
			between[j] = 0xff
		}
	}
	return at, around
}

// check compares the kernel with its twin and, payloads of NaN included, with that of panels.
func (c unpackedCase) check(mem [3]guarded, r *rand.Rand, fill func(p unsafe.Pointer, n, kpack int)) error {
	size := c.kern.Word
	rows, cols := c.m, c.k // of A as they lie
	if c.across {
		rows, cols = c.k, c.m
	}
	place := func(g guarded, rows, cols int) (at unsafe.Pointer, pitch int, around []byte) {
		pitch = cols*size + size*r.IntN(20)
		at, around = placed(g, rows, pitch, cols*size, c.atEnd, fill)
		return at, pitch, around
	}
	a, lda, aroundA := place(mem[0], rows, cols)
	b, ldb, aroundB := place(mem[1], c.k, c.n)
	dst, ldd, around := place(mem[2], c.m, c.n)
	dstAt := int(uintptr(dst) - uintptr(unsafe.Pointer(unsafe.SliceData(around))))
	before := [2][]byte{bytes.Clone(aroundA), bytes.Clone(aroundB)}

	multiply, rowA, wordA := c.kern.Unpacked(c.kern.Sum).Along, lda, size
	if c.across {
		multiply, rowA, wordA = c.kern.Unpacked(c.kern.Sum).Across, size, lda
	}
	old := bytes.Clone(around)
	multiply(c.m, c.n, c.k, a, lda, b, ldb, dst, ldd, c.add)
	if !bytes.Equal(before[0], aroundA) || !bytes.Equal(before[1], aroundB) {
		return fmt.Errorf("%v: an operand that is only read was written", c)
	}
	got := bytes.Clone(around)
	copy(around, old)
	twin := unpackedGeneric[float32]
	if c.kern.Sum == F64 {
		twin = unpackedGeneric[float64]
	}
	twin(c.m, c.n, c.k, a, wordA, rowA, b, ldb, dst, ldd, c.add)
	if at, x, y := mismatchC(c.kern, got, around, dstAt, (c.m-1)*ldd+c.n*size, ldd, c.n*size); at >= 0 {
		return fmt.Errorf("%v, ldd %d: byte %d after C is %#08x, its twin has %#08x", c, ldd, at-dstAt, x, y)
	}

	kern := c.kern
	panelsA, panelsB := (c.m+kern.MR-1)/kern.MR, (c.n+kern.NR-1)/kern.NR
	row := kern.NR * size
	toA, toB := aligned(panelsA*kern.PanelA(c.k)), aligned(panelsB*kern.PanelB(c.k))
	tiles := make([]byte, panelsA*kern.MR*row)
	to := unsafe.Pointer(unsafe.SliceData(tiles))
	kern.PackA(kern.Sum, !c.across)(toA, a, lda, c.m, c.k)
	kern.PackB(kern.Sum, false)(toB, b, ldb, c.n, c.k)
	for j := range c.n {
		if j%kern.NR == 0 {
			src := unsafe.Pointer(nil)
			if c.add {
				src = to
				clear(tiles)
				for i := range c.m {
					copy(tiles[i*row:], old[dstAt+i*ldd+j*size:][:size*min(kern.NR, c.n-j)])
				}
			}
			kern.Mul(c.k, panelsA, toA, unsafe.Add(toB, j/kern.NR*kern.PanelB(c.k)), src, EndBlock(row), to, row)
		}
		for i := range c.m {
			word := got[dstAt+i*ldd+j*size:][:size]
			if want := tiles[i*row+j%kern.NR*size:][:size]; !bytes.Equal(word, want) {
				return fmt.Errorf("%v: element (%d, %d) is %x, %x if the operands are packed", c, i, j, word, want)
			}
		}
	}
	return nil
}

// TestUnpackedLong has more flops than one call of assembly may have, in tiles of both heights.
func TestUnpackedLong(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		u := kern.Unpacked(kern.Sum)
		switch {
		case u == nil:
			t.Skip("packs")
		case kern.Sum == F64:
			testUnpackedLong[float64](t, u)
		default:
			testUnpackedLong[float32](t, u)
		}
	})
}

func testUnpackedLong[F float](t *testing.T, u *Unpacked) {
	size := int(unsafe.Sizeof(F(0)))
	m, n, k := 11*u.Rows+1, u.Columns-1, unpackedFlops/(2*u.Rows*u.Columns)/4
	a, b, got, want := make([]F, m*k), make([]F, k*n), make([]F, m*n), make([]F, m*n)
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][]F{a, b} {
		for i := range s {
			s[i] = F(r.Float64() - 0.5)
		}
	}
	at := func(s []F) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
	u.Along(m, n, k, at(a), k*size, at(b), n*size, at(got), n*size, false)
	unpackedGeneric[F](m, n, k, at(a), size, k*size, at(b), n*size, at(want), n*size, false)
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%dx%dx%d: element (%d, %d) is %v, want %v", m, n, k, i/n, i%n, got[i], want[i])
		}
	}
}

// TestVectorFunc multiplies a row by all small numbers of columns along K, and in panels, at either end of their
// memory, and adds some products to what C holds. What lies between words of A and columns of B is NaN.
func TestVectorFunc(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		u := kern.Unpacked(kern.Sum)
		if u == nil {
			t.Skip("packs")
		}
		along, panels := vectorGeneric[float32], vectorPanelsGeneric[float32]
		if kern.Sum == F64 {
			along, panels = vectorGeneric[float64], vectorPanelsGeneric[float64]
		}
		if f := u.Vector[VectorAlong]; f != nil {
			t.Run("along", func(t *testing.T) { testVectorFunc(t, kern, f, along, 1, 70) })
		}
		f := u.Vector[VectorPanels]
		t.Run("panels", func(t *testing.T) { testVectorFunc(t, kern, f, panels, kern.NR, 5*kern.NR) })
	})
}

// testVectorFunc compares f with its twin for up to maxN columns, of which wide lie together.
func testVectorFunc(t *testing.T, kern *Kernel, f, twin VectorFunc, wide, maxN int) {
	const maxK, maxPad = 600, 3
	size := kern.Word
	var mem [3]guarded
	for i, n := range []int{maxK * size * (maxPad + 1), maxN * (maxK + maxPad) * size, maxN * size} {
		mem[i] = newGuarded(t, n)
	}
	for _, values := range operands {
		t.Run(values.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			fill := filler(kern, r, values.word)
			for n := 1; n <= maxN; n++ {
				for _, k := range []int{1 + r.IntN(3), 4 + r.IntN(12), 16 * (1 + r.IntN(4)), 1 + r.IntN(maxK), 256,
					257 + r.IntN(maxK-256)} {
					stepA, stride, add, atEnd := size+size*r.IntN(maxPad+1), size*(k+r.IntN(maxPad+1)), r.IntN(2) == 0,
						r.IntN(2) == 0
					apart := stride // bytes from what lies together to the next
					if wide > 1 {
						stride, apart = wide*size, k*wide*size
					}
					a, _ := placed(mem[0], k, stepA, size, atEnd, fill)
					b, _ := placed(mem[1], (n+wide-1)/wide, apart, k*wide*size, atEnd, fill)
					dst, around := placed(mem[2], 1, 0, n*size, atEnd, fill)
					old := bytes.Clone(around)
					f(k, n, a, stepA, b, stride, dst, add)
					got := bytes.Clone(around)
					copy(around, old)
					twin(k, n, a, stepA, b, stride, dst, add)
					dstAt := int(uintptr(dst) - uintptr(unsafe.Pointer(unsafe.SliceData(around))))
					if at, x, y := mismatchC(kern, got, around, dstAt, n*size, n*size, n*size); at >= 0 {
						t.Fatalf("%d words, %d columns, step %d, stride %d, add %v, at the end %v: "+
							"byte %d of C is %#08x, its twin has %#08x",
							k, n, stepA, stride, add, atEnd, at-dstAt, x, y)
					}
				}
			}
		})
	}
}

// TestVectorFuncLong has more words than one call of assembly may have, in K and in columns.
func TestVectorFuncLong(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		u := kern.Unpacked(kern.Sum)
		switch {
		case u == nil || u.Vector[VectorAlong] == nil:
			t.Skip("has none")
		case kern.Sum == F64:
			testVectorFuncLong[float64](t, u.Vector[VectorAlong])
		default:
			testVectorFuncLong[float32](t, u.Vector[VectorAlong])
		}
	})
}

func testVectorFuncLong[F float](t *testing.T, f VectorFunc) {
	size := int(unsafe.Sizeof(F(0)))
	at := func(s []F) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
	for _, d := range [][2]int{{70000, 35}, {30000, 70}, {3, 400000}} {
		k, n := d[0], d[1]
		a, b, got, want := make([]F, k), make([]F, k*n), make([]F, n), make([]F, n)
		r := rand.New(rand.NewPCG(7, 8))
		for _, s := range [][]F{a, b} {
			for i := range s {
				s[i] = F(r.Float64() - 0.5)
			}
		}
		f(k, n, at(a), size, at(b), k*size, at(got), false)
		vectorGeneric[F](k, n, at(a), size, at(b), k*size, at(want), false)
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%d words, %d columns: sum %d is %v, want %v", k, n, i, got[i], want[i])
			}
		}
	}
}
