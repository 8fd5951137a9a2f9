package sm_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// A matrix whose chunks of 16 bytes say where they are.
const matrixRows, matrixChunks = 640, 64

var matrix = func() []byte {
	data := make([]byte, matrixRows*matrixChunks*16)
	for i := range matrixRows * matrixChunks {
		binary.LittleEndian.PutUint32(data[16*i:], uint32(1+i))
	}
	return data
}()

// A scattering is an operand of a random kind in boxes of the matrix: across times along of them, each of so many rows
// of a span, those of the same columns one behind the other and then, pitch bytes further, those of the next. Or it is
// one box of three dimensions that is the same.
type scattering struct {
	op            wgmma.Op
	a             bool
	major         wgmma.Major
	n, span       int
	rows          int // of a box
	across, along int
	pitch         int
	solid         bool // one box
	x, y          int  // of the matrix, in chunks and rows
	m             *tile.TensorMap
	d             wgmma.Descriptor
}

func (s *scattering) size() int { return s.op.Kind.ElementSize() }

// lines and bytes are the extent of the operand.
func (s *scattering) extent() (lines, bytes int) {
	if s.major == wgmma.MNMajorLayout {
		return s.op.Kind.K(), s.n * s.size()
	}
	return s.n, 32
}

// scatter draws one, and the right descriptor.
func scatter(t *testing.T, r *rand.Rand) *scattering {
	of := func(n ...int) int { return n[r.IntN(len(n))] }
	s := &scattering{a: r.IntN(2) == 0, n: 64}
	kinds := []wgmma.Kind{wgmma.BF16F32, wgmma.F16F32, wgmma.TF32F32, wgmma.E4M3F32, wgmma.S8S32}
	s.op.Kind = kinds[r.IntN(len(kinds))]
	s.op.N = of(8, 16, 24, 32, 64, 96, 128, 256)
	swizzle := tile.Swizzle(r.IntN(4))
	s.span = max(16, swizzle.Span())
	s.major = wgmma.Major(s.size() == 2 && r.IntN(2) == 0)
	if s.a {
		s.op.TransposeA = bool(s.major)
	} else {
		s.n, s.op.TransposeB = s.op.N, bool(s.major)
	}
	lines, bytes := s.extent()
	s.rows = of(8, 16, 24, 32, 64, 128)
	s.along = (bytes+s.span-1)/s.span + r.IntN(2)
	s.across = (lines+s.rows-1)/s.rows + r.IntN(2)
	if s.solid = s.along > 1 && r.IntN(3) == 0; s.solid {
		s.rows *= s.across
		s.across = 1
	}
	s.pitch = s.across * s.rows * s.span
	if !s.solid {
		s.pitch += 1024 * r.IntN(2)
	}
	if s.rows > 256 || s.along*s.pitch > 200<<10 {
		return scatter(t, r)
	}
	s.x, s.y = r.IntN(matrixChunks-s.along*s.span/16+1), 8*r.IntN((matrixRows-s.across*s.rows)/8+1)

	size := s.size()
	cfg := tile.Config{
		DataType: map[int]tile.DataType{1: tile.Uint8, 2: tile.BFloat16, 4: tile.Float32}[size],
		Dims:     []uint64{uint64(matrixChunks * 16 / size), matrixRows},
		Box:      []uint32{uint32(s.span / size), uint32(s.rows)}, Swizzle: swizzle,
	}
	if s.solid {
		cfg.Dims = append(cfg.Dims, 1)
		cfg.Strides = []uint64{matrixChunks * 16, uint64(s.span)}
		cfg.Box = append(cfg.Box, uint32(s.along))
		cfg.Dims[0], cfg.Dims[2] = cfg.Dims[0]-uint64((s.along-1)*s.span/size), uint64(s.along)
	}
	var err error
	if s.m, err = sm.NewTensorMap(matrix, cfg); err != nil {
		t.Fatal(err)
	}

	s.d = wgmma.Descriptor{Swizzle: swizzle, LBO: s.pitch, SBO: 8 * s.span}
	if s.major == wgmma.MNMajorLayout && s.span == 16 {
		s.d.LBO, s.d.SBO = s.d.SBO, s.d.LBO
	}
	s.d.Start = 8 * s.span * r.IntN((s.across*s.rows-lines)/8+1)
	if bytes < s.span {
		s.d.Start += bytes * r.IntN(s.span/bytes)
	}
	return s
}

// mistake has the descriptor be another.
func (s *scattering) mistake(r *rand.Rand) {
	switch d := &s.d; r.IntN(8) {
	case 0:
		d.LBO, d.SBO = d.SBO, d.LBO
	case 1:
		d.SBO /= 2
	case 2:
		d.SBO *= 2
	case 3:
		d.SBO += 128 * (1 + r.IntN(16))
	case 4:
		d.LBO = max(0, d.LBO+128*(r.IntN(17)-8))
	case 5:
		d.Start += 16 * (1 + r.IntN(16))
	case 6:
		d.Start += s.span * (1 + r.IntN(16))
	case 7:
		d.BaseOffset = 1 + r.IntN(7)
	}
}

// boxes calls f for each load.
func (s *scattering) boxes(f func(at int, coord []int)) {
	if s.solid {
		f(0, []int{s.x * 16 / s.size(), s.y, 0})
		return
	}
	for i := range s.along {
		for j := range s.across {
			f(i*s.pitch+j*s.rows*s.span, []int{(s.x*16 + i*s.span) / s.size(), s.y + j*s.rows})
		}
	}
}

func (s *scattering) kernel(b *sm.Block) {
	x, other := sm.Shared[byte](b, s.along*s.pitch, 1024), sm.Shared[byte](b, 2048, 128)
	assert(x.Address() == 0, "the operand is at %d", x.Address())
	bar := b.Barrier()
	b.Warpgroups(func(w *sm.Warpgroup) {
		t := w.Thread(0)
		bar.Init(t, 1)
		other.Write(w, 0, make([]byte, other.Len()))
		w.FenceProxyAsync()
		n := 0
		s.boxes(func(at int, coord []int) {
			t.LoadTensor(x.At(at), s.m, bar, coord...)
			n += s.m.BoxBytes()
		})
		bar.ArriveTx(t, 1, n)
		bar.WaitParity(w, 0)
		d := w.Accumulators(s.op.Kind.AccumulatorType(), s.op.N)
		rest := wgmma.Descriptor{Start: other.Address(), LBO: 128, SBO: 256}
		w.Fence()
		if s.a {
			rest.SBO = 0
			w.MMA(s.op, d, s.d, rest)
		} else {
			w.MMA(s.op, d, rest, s.d)
		}
		w.CommitGroup()
		w.WaitGroup(0)
	})
}

// A chunkAt is where a chunk that the operand has comes from: the row and chunk of the matrix, counted from the first
// box.
type chunkAt struct{ row, chunk int }

// chunks returns the operand as lines of chunks, and whether all of it has been loaded.
func (s *scattering) chunks(t *testing.T) (operand [][]chunkAt, all bool) {
	shared, err := tile.NewShared(512 << 10)
	if err != nil {
		t.Fatal(err)
	}
	s.boxes(func(at int, coord []int) {
		var c []int32
		for _, i := range coord {
			c = append(c, int32(i))
		}
		if err := tile.Load(shared, at, s.m, c, nil); err != nil {
			t.Fatal(err)
		}
	})
	lines, bytes := s.extent()
	for i := range lines {
		var line []chunkAt
		for j := 0; j < bytes; j += 16 {
			r, k := i, j/s.size()
			if s.major == wgmma.MNMajorLayout {
				r, k = k, r
			}
			id := int(binary.LittleEndian.Uint32(shared.Bytes()[s.d.Address(s.major, s.size(), r, k):])) - 1
			if id < 0 {
				return nil, false
			}
			line = append(line, chunkAt{id/matrixChunks - s.y, id%matrixChunks - s.x})
		}
		operand = append(operand, line)
	}
	return operand, true
}

// right reports whether the operand is a part of the matrix.
func right(operand [][]chunkAt) bool {
	first := operand[0][0]
	for i, line := range operand {
		for j, c := range line {
			if c != (chunkAt{first.row + i, first.chunk + j}) {
				return false
			}
		}
	}
	return true
}

// possible reports whether the operand is parts of several matrices, one in each box or each of its blocks, that a
// kernel may have meant to put together.
func (s *scattering) possible(operand [][]chunkAt) bool {
	width := s.span / 16
	type spot struct{ column, box, row, chunk int }
	where := func(c chunkAt) spot {
		if s.solid {
			return spot{0, 0, c.chunk/width*s.rows + c.row, c.chunk % width}
		}
		return spot{c.chunk / width, c.row / s.rows, c.row % s.rows, c.chunk % width}
	}
	for i, line := range operand {
		for j := range line {
			at := where(line[j])
			if i > 0 {
				was := where(operand[i-1][j])
				next := was
				next.row++
				if was.row == s.rows-1 && at.row == 0 && !s.solid {
					next = spot{at.column, at.box, 0, was.chunk}
					begins := s.rows - i
					if at.column == was.column && at.box == was.box ||
						at.column != was.column && begins > 0 && begins%8 > 0 {
						return false
					}
				}
				if s.solid && i%8 == 0 && at.row == was.row-7+s.rows {
					next.row = at.row
				}
				if at != next {
					return false
				}
			}
			if i > 0 || j == 0 {
				continue
			}
			was := where(line[j-j%width])
			next := was
			next.chunk += j % width
			if j%width == 0 {
				was = where(line[j-width])
				next = was
				if s.solid {
					next.row += s.rows
				} else if at.column != was.column || at.box != was.box {
					next.column, next.box = at.column, at.box
				} else {
					return false
				}
			}
			if at != next {
				return false
			}
		}
	}
	return true
}

// TestLayoutRandom: of the descriptors of operands that lie any way, those are faults that do not have a part of the
// matrix, unless each part that they have of it comes from another box.
func TestLayoutRandom(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	var clean, faults, pieced int
	for range 10 * few(1) {
		s := scatter(t, r)
		if r.IntN(4) > 0 {
			s.mistake(r)
		}
		lines, bytes := s.extent()
		op := fmt.Sprintf("%v, A %v, %d lines of %d bytes, %v, %d rows, %d×%d, pitch %d, solid %v, %+v", s.op, s.a, lines,
			bytes, s.major, s.rows, s.across, s.along, s.pitch, s.solid, s.d)
		err := launch(t, sm.Config{Block: sm.Dim3{X: 128}, Check: true}, s.kernel)
		var f *sm.Fault
		if errors.As(err, &f) && f.Rule == sm.RuleWGMMA {
			continue // no such descriptor
		}
		operand, all := s.chunks(t)
		if !all {
			continue // what lies there is nobody's, or not loaded
		}
		switch {
		case right(operand) && err != nil:
			t.Fatalf("%s: right, but %v", op, err)
		case right(operand):
			clean++
		case s.possible(operand):
			if pieced++; err != nil {
				t.Fatalf("%s: possible, but %v", op, err)
			}
		case err == nil:
			t.Fatalf("%s: clean, but wrong", op)
		case f.Rule != sm.RuleLayout:
			t.Fatalf("%s: rule %v", op, err)
		default:
			faults++
		}
	}
	t.Logf("%d clean, %d faults, %d of several matrices", clean, faults, pieced)
	if clean < faults/10 || faults < clean/10 || pieced > faults/4 {
		t.Error("hardly a test")
	}
}
