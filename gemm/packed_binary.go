package gemm

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/ended"
)

// The binary form of a Packed, little-endian:
//
//	offset  bytes
//	 0       8     "LHPACKED"
//	 8       4     version of this form: 1 had elements of float32 for Hopper's arithmetic truncated, not rounded
//	12       4     element type, an asm.Type and 1: 1 bf16, 2 f16, 3 f32, 4 e4m3, 5 e5m2, 6 f64
//	16      32     name of the kernel, padded with zeros
//	48      20     MR, NR, KPack, KStep, and the bytes of a panel one stage deep
//	68       4     elements of K in a stage
//	72      16     rows, columns of B
//	88             the panels, as they lie in memory, or the columns
//	last     4     CRC-32C of all that comes before
const (
	packedMagic   = "LHPACKED"
	packedVersion = 2

	packedNameAt   = 16
	packedLayoutAt = 48
	packedShapeAt  = 72
	packedHeader   = 88
	packedTrailer  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	_ encoding.BinaryMarshaler   = (*Packed[float32])(nil)
	_ encoding.BinaryAppender    = (*Packed[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*Packed[float32])(nil)
)

// MarshalBinary returns p as bytes, at most Size and 100 more, for [Packed.UnmarshalBinary]. They hold the layout of
// p's kernel and serve where the same kernel runs, in this build or another that lays panels out alike; to keep a
// matrix for longer than that, keep the matrix. It is an error if p is nil or zero, or on a big-endian machine.
func (p *Packed[T]) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// AppendBinary appends what [Packed.MarshalBinary] returns to b.
func (p *Packed[T]) AppendBinary(b []byte) ([]byte, error) {
	switch {
	case p == nil || p.b.kernel == nil:
		return b, errors.New("gemm: MarshalBinary: nil or zero Packed; make one with Pack")
	case !littleEndian():
		return b, fmt.Errorf("gemm: MarshalBinary: %w", errBigEndian)
	}
	start := len(b)
	if size := packedHeader + p.Size() + packedTrailer; size > cap(b)-start {
		b = append(make([]byte, 0, start+start/4+size), b...) // slices.Grow would clear all of it at once
	}
	b = append(b, packedMagic...)
	b = binary.LittleEndian.AppendUint32(b, packedVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(p.b.elem)+1)
	var name [packedLayoutAt - packedNameAt]byte
	copy(name[:], p.b.kernel.Name)
	b = append(b, name[:]...)
	for _, f := range p.b.fields() {
		b = binary.LittleEndian.AppendUint32(b, uint32(f.value))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(p.b.rows))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.b.cols))
	sum := crc32.Checksum(b[start:], castagnoli)
	inTurns(p.b.memory(), func(piece []byte) { b, sum = append(b, piece...), crc32.Update(sum, castagnoli, piece) })
	return binary.LittleEndian.AppendUint32(b, sum), nil
}

// inTurns calls f with one piece of data after the other.
func inTurns(data []byte, f func(piece []byte)) {
	ended.Walk(context.Background(), 1, len(data), 1, fillBytes, func(_, _, at, n int) { f(data[at : at+n]) })
}

var errBigEndian = errors.New("the binary form of a Packed is little-endian, this machine is big-endian")

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// A layoutField is a number that decides where elements lie.
type layoutField struct {
	name  string
	value int
}

// fields returns the layout of v's kernel as this build has it.
func (v *view) fields() [6]layoutField {
	k, t, bk := v.kernel, v.elem, v.stride
	return [...]layoutField{
		{"MR", k.MR}, {"NR", k.NR}, {"KPack", k.KPack}, {"KStep", k.KStep(t)},
		{"bytes of a panel", k.StoredB(t, bk)}, {"elements of K in a stage", bk},
	}
}

// UnmarshalBinary makes p what it was when data came from [Packed.MarshalBinary]; data is copied. It is an error,
// which leaves p as it was, if data is cut short or damaged, has another version or element type, or if this machine
// and build do not run its kernel with the same layout. Like any write, it must not coincide with other uses of p.
//
// data may come from strangers. The checksum finds damage, not malice, so all that a kernel relies on is checked as
// well: whatever data is, a product neither faults nor hangs nor reads beside its operands. The elements are what
// data says.
func (p *Packed[T]) UnmarshalBinary(data []byte) error {
	if p == nil {
		return errors.New("gemm: UnmarshalBinary: nil Packed")
	}
	q, panels, err := parsePacked(data, elementType[T]())
	if err == nil {
		err = q.load(panels)
	}
	if err != nil {
		return fmt.Errorf("gemm: UnmarshalBinary: %w", err)
	}
	p.b = q
	return nil
}

// parsePacked reads the binary form of a Packed of elements of type t, and returns the
// panels, of the right size, apart. It allocates nothing.
func parsePacked(data []byte, t asm.Type) (v view, panels []byte, err error) {
	bad := func(format string, args ...any) (view, []byte, error) {
		return view{}, nil, fmt.Errorf(format, args...)
	}
	switch {
	case len(data) < packedHeader+packedTrailer:
		return bad("%d bytes, fewer than the %d of an empty Packed", len(data), packedHeader+packedTrailer)
	case string(data[:len(packedMagic)]) != packedMagic:
		return bad("begins with %q, a Packed with %q", data[:len(packedMagic)], packedMagic)
	case !littleEndian():
		return view{}, nil, errBigEndian
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
	if version := word(8); version != packedVersion {
		return bad("version %d, this build reads version %d", version, packedVersion)
	}
	end := len(data) - packedTrailer
	sum := uint32(0)
	inTurns(data[:end], func(piece []byte) { sum = crc32.Update(sum, castagnoli, piece) })
	if want := word(end); sum != want {
		return bad("damaged or cut short: its CRC-32C is 0x%08x, not 0x%08x", sum, want)
	}
	if code := word(12); code != uint32(t)+1 {
		return bad("holds %v, want %v", asm.Type(code-1), t)
	}
	name := bytes.TrimRight(data[packedNameAt:packedLayoutAt], "\x00")
	k := asm.Named(string(name))
	if k == nil {
		return bad("packed for kernel %q, which is unknown in this build", name)
	}
	if k, err = asm.SelectArithmetic(t, k.Arithmetic, k.Name); err != nil {
		return view{}, nil, err
	}
	v = panelsFor(k, t, 0, 0)
	for i, f := range v.fields() {
		if n := word(packedLayoutAt + 4*i); uint64(n) != uint64(f.value) {
			return bad("packed for kernel %q with %s = %d, which is %d in this build", name, f.name, n, f.value)
		}
	}
	rows, cols := binary.LittleEndian.Uint64(data[packedShapeAt:]), binary.LittleEndian.Uint64(data[packedShapeAt+8:])
	panels = data[packedHeader:end]
	if err := v.shape(rows, cols, len(panels)); err != nil {
		return view{}, nil, err
	}
	return v, panels, nil
}

// load copies the panels to v. All that a kernel relies on in a panel follows from its
// elements, and so is made from them anew: where it comes out otherwise, it was forged.
func (v *view) load(panels []byte) error {
	data := v.hold(len(panels))
	if v.keeps() {
		inTurns(panels, func(piece []byte) { data = data[copy(data, piece):] })
		return nil
	}
	var forged error
	ended.Walk(context.Background(), v.rows, v.cols, v.stride, v.kernel.NR, func(k0, n, col, _ int) {
		size := v.panelPitch(k0)
		from, to := panels[:size], data[:size]
		panels, data = panels[size:], data[size:]
		copy(to, from)
		v.kernel.RestoreB(v.elem, unsafe.Pointer(unsafe.SliceData(to)), n)
		if !bytes.Equal(to, from) {
			forged = fmt.Errorf("forged: the panel of row %d and column %d is not what its elements make", k0, col)
		}
	})
	return cmp.Or(forged, v.spread(context.Background()))
}

// shape sets the size of B if that makes size bytes of panels.
func (v *view) shape(rows, cols uint64, size int) error {
	// Every element takes bytes of its own; once there are enough for them, the size cannot overflow.
	over, elements := bits.Mul64(rows, cols)
	enough := max(rows, cols) <= math.MaxInt && over == 0 && elements <= uint64(size/v.elem.Size())
	v.rows, v.cols = int(rows), int(cols)
	if !enough || v.wants() != int64(size) {
		return fmt.Errorf("%d bytes of panels do not make a B of %dx%d for kernel %q", size, rows, cols, v.kernel.Name)
	}
	return nil
}
