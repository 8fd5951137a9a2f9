package asm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/x448/float16"
)

func TestWidenF16(t *testing.T) {
	for h := range 1 << 16 {
		got, want := widenF16(uint16(h)), math.Float32bits(float16.Frombits(uint16(h)).Float32())
		if got != want {
			t.Errorf("widenF16(%#04x) = %#08x, want %#08x", h, got, want)
		}
	}
}

// panelWord is the definition of a panel: word (kd, i) of a source of k elements a row. element returns the bits of
// one. Words beyond the source are zero.
func panelWord(typ Type, kpack, k, kd, i int, element func(i, kk int) uint32) uint32 {
	if typ.is8() {
		elements := element
		wide := &wide8[typ-E4M3]
		typ, element = BF16, func(i, kk int) uint32 { return uint32(wide[elements(i, kk)]) }
	}
	switch {
	case kpack == 2:
		w := element(i, 2*kd)
		if 2*kd+1 < k {
			w |= element(i, 2*kd+1) << 16
		}
		return w
	case typ == BF16:
		return element(i, kd) << 16
	case typ == F16:
		return widenF16(uint16(element(i, kd)))
	}
	return element(i, kd)
}

func TestPack(t *testing.T) {
	const maxK = 70
	forKernels(t, func(t *testing.T, kern *Kernel) {
		for _, side := range []struct {
			name  string
			width int
			tiled bool // the words of a tile lie row by row
			pack  func(Type, bool) PackFunc
		}{{"A", kern.MR, kern.step == amxStep, kern.PackA}, {"B", kern.NR, false, kern.PackB}} {
			maxR := 2*side.width + 1
			if side.width < 16 || kern.step == amxStep {
				maxR = 5*side.width + 1 // past a group of panels that are packed together
			}
			dst := newGuarded(t, (maxR+side.width)*(maxK+kern.step)*kern.Word+canary)
			src := newGuarded(t, (maxR+9)*(maxK+9)*kern.Word)
			want := make([]byte, (maxR+side.width)*(maxK+kern.step)*kern.Word)
			for typ := range Type(numTypes) {
				for _, kContiguous := range []bool{true, false} {
					pack := side.pack(typ, kContiguous)
					if (pack != nil) != kern.Accepts(typ) {
						t.Errorf("%s of %v: packer %v, but Accepts is %v", side.name, typ, pack != nil,
							kern.Accepts(typ))
					}
					if pack == nil {
						continue
					}
					t.Run(fmt.Sprintf("%s/%v/kContiguous=%v", side.name, typ, kContiguous), func(t *testing.T) {
						rnd := rand.New(rand.NewPCG(5, uint64(typ)))
						for i := range src.mem {
							src.mem[i] = byte(rnd.Uint32())
						}
						for r := 1; r <= maxR; r++ {
							for k := 1; k <= maxK; k++ {
								if (raceEnabled || testing.Short()) && (r*maxK+k)%11 != 0 {
									continue
								}
								if kern.step == amxStep && r > 2*side.width+1 && (r+k)%3 != 0 {
									continue // only the number of whole panels is new: their rest has had every K
								}
								c := packCase{typ, kern.KPack, side.width, kern.KStep(typ), side.tiled, kContiguous, r,
									k, pack}
								if err := c.check(dst, src, want, rnd.IntN(9)); err != nil {
									t.Fatalf("r=%d k=%d: %v", r, k, err)
								}
							}
						}
					})
				}
			}
		}
	})
}

// canary is the number of bytes beside the panels that are checked where there is no guard page.
const canary = 64

type packCase struct {
	typ          Type
	kpack, width int
	kstep        int
	tiled        bool
	kContiguous  bool
	r, k         int
	pack         PackFunc
}

// check packs from the very end and from the very start of src, whose rows have extra elements between them, to the
// very end and start of dst.
func (c packCase) check(dst, src guarded, want []byte, extra int) error {
	size := c.typ.Size()
	rows, columns := c.r, c.k
	if !c.kContiguous {
		rows, columns = c.k, c.r
	}
	stride := (columns + extra) * size
	span := (rows-1)*stride + columns*size
	depth := ((c.k+c.kpack-1)/c.kpack + c.kstep - 1) / c.kstep * c.kstep
	panels := (c.r + c.width - 1) / c.width
	halves := max(1, size/4) // of 32 bits, of a word
	n := panels * c.width * depth * 4 * halves
	for _, atEnd := range []bool{true, false} {
		from, to := src.first(span), dst.first(n)
		beside := dst.mem[n : n+canary]
		if atEnd {
			from, to = src.last(span), dst.last(n)
			beside = dst.mem[len(dst.mem)-n-canary : len(dst.mem)-n]
		}
		half := 0
		element := func(i, kk int) uint32 {
			o := i*stride + kk*size + half*4
			if !c.kContiguous {
				o = kk*stride + i*size + half*4
			}
			switch size {
			case 1:
				return uint32(*(*uint8)(unsafe.Add(from, o)))
			case 2:
				return uint32(*(*uint16)(unsafe.Add(from, o)))
			}
			return *(*uint32)(unsafe.Add(from, o))
		}
		words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(want))), n/4)
		clear(words)
		for row := range c.r {
			panel, i := words[row/c.width*c.width*depth*halves:], row%c.width
			for kd := range (c.k + c.kpack - 1) / c.kpack {
				at := kd*c.width + i
				if c.tiled {
					at = (kd/c.kstep*c.width+i)*c.kstep + kd%c.kstep
				}
				for half = range halves {
					panel[at*halves+half] = panelWord(c.typ, c.kpack, c.k, kd, row, element)
				}
			}
		}
		got := unsafe.Slice((*byte)(to), n)
		for i := range got {
			got[i] = 0xa5
		}
		for i := range beside {
			beside[i] = 0x5a
		}
		c.pack(to, from, stride, c.r, c.k)
		if !bytes.Equal(got, want[:n]) {
			for i, w := range unsafe.Slice((*uint32)(to), n/4) {
				if w != words[i] {
					return fmt.Errorf("stride=%d atEnd=%v: panel %d step %d word %d is %#x, want %#x", stride, atEnd,
						i/halves/(c.width*depth), i/halves/c.width%depth, i/halves%c.width, w, words[i])
				}
			}
		}
		for i, x := range beside {
			if x != 0x5a {
				return fmt.Errorf("stride=%d atEnd=%v: byte %d of %d beside the panels was written", stride, atEnd, i,
					canary)
			}
		}
	}
	return nil
}

// TestPackLong crosses the bound on one call of an assembly packer, and packs nothing.
func TestPackLong(t *testing.T) {
	const r, k = 33, 3*4096 + 11
	forKernels(t, func(t *testing.T, kern *Kernel) {
		src := make([]uint32, r*k*kern.Word/4)
		for i := range src {
			src[i] = uint32(i) * 0x9e3779b1
		}
		from := unsafe.Pointer(unsafe.SliceData(src))
		for typ := range Type(numTypes) {
			for _, kContiguous := range []bool{true, false} {
				pack := kern.PackB(typ, kContiguous)
				if pack == nil {
					continue
				}
				stride := k * typ.Size()
				if !kContiguous {
					stride = r * typ.Size()
				}
				n := 2 * 32 * (k + kern.step) * kern.Word / 4
				got, want := make([]uint32, n), make([]uint32, n)
				pack(unsafe.Pointer(unsafe.SliceData(got)), from, stride, 0, k)
				pack(unsafe.Pointer(unsafe.SliceData(got)), from, stride, r, 0)
				for i, w := range got {
					if w != 0 {
						t.Fatalf("%v: packing nothing wrote word %d", typ, i)
					}
				}
				pack(unsafe.Pointer(unsafe.SliceData(got)), from, stride, r, k)
				twin := packerGo(typ, kern.KPack, kern.NR, kContiguous)
				if kern.step == amxStep {
					twin = packTilesB(kContiguous)
					if typ.is8() {
						twin = packing8(kern, typ, kern.NR, kContiguous, twin)
					}
				}
				twin(unsafe.Pointer(unsafe.SliceData(want)), from, stride, r, k)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("%v kContiguous=%v: word %d is %#x, want %#x", typ, kContiguous, i, got[i], want[i])
					}
				}
			}
		}
	})
}
