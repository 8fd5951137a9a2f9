package gemm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// Offsets in the binary form.
const (
	atVersion = 8
	atType    = 12
	atName    = 16
	atLayout  = 48
	atRows    = 72
	atCols    = 80
	atPanels  = 88
)

func marshal[T gemm.Element](t testing.TB, p *gemm.Packed[T]) []byte {
	t.Helper()
	data, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// seal gives data the checksum of what comes before it.
func seal(data []byte) []byte {
	at := len(data) - 4
	binary.LittleEndian.PutUint32(data[at:], crc32.Checksum(data[:at], crc32.MakeTable(crc32.Castagnoli)))
	return data
}

// TestBinary marshals and unmarshals for every kernel, type and size, and
// multiplies by what comes out.
func TestBinary(t *testing.T) {
	t.Run("bf16", testBinary[bf16.BF16])
	t.Run("f16", testBinary[float16.Float16])
	t.Run("f32", testBinary[float32])
}

func testBinary[T gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[T](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		for _, d := range [][3]int{{2, 5, 3}, {3, k.NR + 1, 700}, {3, 0, 5}, {3, 5, 0}, {0, 5, 3}, {1, 2, 131100}} {
			if d[2] > 1000 && (slowKernel(k.Name) || k.Arithmetic != gemm.Native || raceEnabled) {
				continue
			}
			s := size(d[0], d[1], d[2], opts...)
			want := product[float32, T](t, s)
			o := build[float32, T](t, s)
			p := pack(t, o.b, opts...)
			data := marshal(t, p)
			if len(data) < p.Size() || len(data) > p.Size()+100 {
				t.Errorf("%v: %d bytes for %d of panels", d, len(data), p.Size())
			}
			more, err := p.AppendBinary([]byte("before"))
			if err != nil || string(more[:6]) != "before" || !bytes.Equal(more[6:], data) {
				t.Errorf("%v: AppendBinary: other bytes than MarshalBinary, %v", d, err)
			}
			q := pack(t, gemm.NewMatrix[T](2, 2))
			if err := q.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			again := marshal(t, q)
			clear(data) // q must not refer to it
			if q.Rows() != p.Rows() || q.Cols() != p.Cols() || q.Size() != p.Size() || q.Kernel() != k.Name ||
				!bytes.Equal(again, marshal(t, p)) {
				t.Errorf("%v: %dx%d of %d bytes for %s came back", d, q.Rows(), q.Cols(), q.Size(), q.Kernel())
			}
			if err := gemm.Multiply(o.c, o.a, q, opts...); err != nil {
				t.Fatal(err)
			}
			same(t, dense(o.c), want, s.n)
			o.free()
		}
	})
}

// TestBinaryForm pins the bytes of this version.
func TestBinaryForm(t *testing.T) {
	for _, form := range []struct {
		cols   uint32
		panels []uint32
	}{
		{2, append( // pairs of K, 32 columns each
			append([]uint32{0x40003f80, 0x40003f80}, make([]uint32, 30)...),
			append([]uint32{0xc040, 0xc040}, make([]uint32, 30)...)...,
		)},
		{1, []uint32{0x40003f80, 0xc040}}, // the column
	} {
		b := gemm.NewMatrix[bf16.BF16](3, int(form.cols))
		for i, v := range []bf16.BF16{0x3f80, 0x4000, 0xc040} {
			for j := range b.Cols {
				b.Set(i, j, v)
			}
		}
		p := pack(t, b, gemm.WithKernel("gobf16"))
		want := []byte("LHPACKED\x02\x00\x00\x00\x01\x00\x00\x00gobf16")
		want = append(want, make([]byte, atLayout-len(want))...)
		for _, v := range append([]uint32{8, 32, 2, 1, 32 * 256 * 4, 512, 3, 0, form.cols, 0}, form.panels...) {
			want = binary.LittleEndian.AppendUint32(want, v)
		}
		want = want[:atLayout+10*4+p.Size()]
		if data := marshal(t, p); !bytes.Equal(data, seal(append(want, 0, 0, 0, 0))) {
			t.Errorf("%x\nwant %x", data, want)
		}
	}
}

// TestBinaryNames checks that the header has room for the names of all kernels.
func TestBinaryNames(t *testing.T) {
	for _, k := range asm.Kernels() {
		if len(k.Name) > atLayout-atName {
			t.Errorf("kernel %q has a name of %d bytes, there are %d", k.Name, len(k.Name), atLayout-atName)
		}
	}
}

func TestBinaryGob(t *testing.T) {
	p := pack(t, gemm.Matrix[float32]{Rows: 1, Cols: 2, Stride: 2, Data: []float32{3, 4}})
	var buf bytes.Buffer
	q := new(gemm.Packed[float32])
	if err := gob.NewEncoder(&buf).Encode(p); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&buf).Decode(q); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(marshal(t, q), marshal(t, p)) {
		t.Error("another Packed came back")
	}
}

// TestBinaryErrors damages the binary form. Unless it says raw, the checksum is
// made to fit, so that it is not what finds the damage.
func TestBinaryErrors(t *testing.T) {
	put := func(at int, v uint32) func([]byte) []byte {
		return func(d []byte) []byte { binary.LittleEndian.PutUint32(d[at:], v); return d }
	}
	put64 := func(at int, v uint64) func([]byte) []byte {
		return func(d []byte) []byte { binary.LittleEndian.PutUint64(d[at:], v); return d }
	}
	name := func(s string) func([]byte) []byte {
		return func(d []byte) []byte { clear(d[atName:atLayout]); copy(d[atName:atLayout], s); return d }
	}
	type edit = func([]byte) []byte
	for _, tc := range []struct {
		name string
		edit edit
		raw  bool
		want []string
	}{
		{name: "empty", edit: func(d []byte) []byte { return nil }, raw: true, want: []string{"0 bytes", "92"}},
		{name: "header only", edit: func(d []byte) []byte { return d[:91] }, raw: true,
			want: []string{"91 bytes", "92"}},
		{name: "magic", edit: func(d []byte) []byte { d[0] = 'l'; return d },
			want: []string{`"lHPACKED"`, `"LHPACKED"`}},
		{name: "version before", edit: put(atVersion, 1), want: []string{"version 1", "version 2"}},
		{name: "next version", edit: put(atVersion, 3), want: []string{"version 3", "version 2"}},
		{name: "other type", edit: put(atType, 3), want: []string{"holds f32", "want bf16"}},
		{name: "no type", edit: put(atType, 0), want: []string{"Type(255)", "want bf16"}},
		{name: "unknown type", edit: put(atType, 1<<31), want: []string{"holds Type(255)", "want bf16"}},
		{name: "no kernel", edit: name(""), want: []string{`""`, "unknown"}},
		{name: "unknown kernel", edit: name("sse9"), want: []string{`"sse9"`, "unknown"}},
		{name: "two kernels", edit: name("gobf16,go"), want: []string{`"gobf16,go"`, "unknown"}},
		{name: "kernel and space", edit: name("gobf16 "), want: []string{`"gobf16 "`, "unknown"}},
		{name: "long kernel", edit: name(strings.Repeat("k", 40)), want: []string{strings.Repeat("k", 32), "unknown"}},
		{name: "other kernel", edit: name("go"), want: []string{`"go"`, "= 8,"}},
		{name: "MR", edit: put(atLayout, 6), want: []string{"MR = 6", "8 in this build"}},
		{name: "NR", edit: put(atLayout+4, 0), want: []string{"NR = 0", "32 in this build"}},
		{name: "KPack", edit: put(atLayout+8, math.MaxUint32), want: []string{"KPack = 4294967295", "2 in this build"}},
		{name: "KStep", edit: put(atLayout+12, 16), want: []string{"KStep = 16", "1 in this build"}},
		{name: "panel", edit: put(atLayout+16, 64), want: []string{"panel = 64", "32768 in this build"}},
		{name: "stage", edit: put(atLayout+20, 256), want: []string{"stage = 256", "512 in this build"}},
		{name: "rows", edit: put64(atRows, 9), want: []string{"512 bytes", "9x33"}},
		{name: "more rows", edit: put64(atRows, 1<<40), want: []string{"512 bytes", "1099511627776x33"}},
		{name: "huge", edit: put64(atRows, math.MaxUint64), want: []string{"18446744073709551615x33"}},
		{name: "wrap", edit: func(d []byte) []byte { return put64(atCols, 1<<62)(put64(atRows, 1<<62)(d)) },
			want: []string{"4611686018427387904x4611686018427387904"}},
		{name: "no columns", edit: put64(atCols, 0), want: []string{"512 bytes", "3x0"}},
		{name: "fewer columns", edit: put64(atCols, 32), want: []string{"512 bytes", "3x32"}},
		{name: "short", edit: func(d []byte) []byte { return d[:len(d)-1] }, want: []string{"511 bytes", "3x33"}},
		{name: "long", edit: func(d []byte) []byte { return append(d, 0) }, want: []string{"513 bytes", "3x33"}},
		{name: "panels", edit: func(d []byte) []byte { d[atPanels+7] ^= 1; return d }, raw: true,
			want: []string{"damaged", "CRC-32C"}},
		{name: "behind the name", edit: func(d []byte) []byte { d[atLayout-1] ^= 1; return d },
			want: []string{`"gobf16\x00`, "unknown"}},
		{name: "kernel", edit: func(d []byte) []byte { d[atLayout-1] ^= 1; return d }, raw: true,
			want: []string{"damaged", "CRC-32C"}},
		{name: "cut", edit: func(d []byte) []byte { return d[:len(d)-1] }, raw: true,
			want: []string{"damaged", "CRC-32C"}},
		{name: "checksum", edit: func(d []byte) []byte { d[len(d)-1] ^= 0x80; return d }, raw: true,
			want: []string{"damaged", "CRC-32C is 0x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := build[float32, bf16.BF16](t, size(1, 33, 3))
			defer o.free()
			data := tc.edit(marshal(t, pack(t, o.b, gemm.WithKernel("gobf16"))))
			if !tc.raw {
				data = seal(data)
			}
			p := pack(t, gemm.NewMatrix[bf16.BF16](2, 2))
			before := marshal(t, p)
			checkError(t, p.UnmarshalBinary(data), append(tc.want, "UnmarshalBinary")...)
			if !bytes.Equal(marshal(t, p), before) {
				t.Error("the Packed has changed")
			}
		})
	}
	// What this machine lacks is refused, too.
	for _, k := range asm.Kernels() {
		if k.Supported() != nil && k.Accepts(asm.BF16) {
			data := seal(name(k.Name)(marshal(t, pack(t, gemm.NewMatrix[bf16.BF16](1, 1)))))
			checkError(t, new(gemm.Packed[bf16.BF16]).UnmarshalBinary(data), k.Name, "cannot run")
		}
	}
}

// TestBinaryBits flips every bit of the header and of some panels.
func TestBinaryBits(t *testing.T) {
	data := marshal(t, pack(t, gemm.NewMatrix[float32](3, 5), gemm.WithKernel("go")))
	for i := range 8 * len(data) {
		d := slices.Clone(data)
		d[i/8] ^= 1 << (i % 8)
		if err := new(gemm.Packed[float32]).UnmarshalBinary(d); err == nil {
			t.Errorf("bit %d of byte %d may flip", i%8, i/8)
		}
	}
	for n := range data {
		if err := new(gemm.Packed[float32]).UnmarshalBinary(data[:n]); err == nil {
			t.Errorf("the first %d of %d bytes do", n, len(data))
		}
	}
}

// TestBinaryNone marshals and unmarshals what is no Packed.
func TestBinaryNone(t *testing.T) {
	var none *gemm.Packed[float32]
	for _, p := range []*gemm.Packed[float32]{none, new(gemm.Packed[float32])} {
		_, err := p.MarshalBinary()
		checkError(t, err, "nil or zero Packed", "Pack")
		b, err := p.AppendBinary([]byte{7})
		checkError(t, err, "nil or zero Packed")
		if !bytes.Equal(b, []byte{7}) {
			t.Errorf("AppendBinary returned %v along with %v", b, err)
		}
	}
	checkError(t, none.UnmarshalBinary(marshal(t, pack(t, gemm.NewMatrix[float32](1, 1)))), "nil Packed")
}
