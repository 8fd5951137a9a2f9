package golden

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// encodeReplacement is the writer that ParseReplacements reads.
func encodeReplacement(r Replacement) []byte {
	var b []byte
	put := func(v ...int32) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	inGlobal := int32(0)
	if r.InGlobal {
		inGlobal = 1
	}
	put(inGlobal, r.Same, int32(len(r.Changes)), 0)
	put(r.Base.DataType, r.Base.Rank, r.Base.Swizzle, r.Base.Fill, r.Base.Mode, 0)
	put(r.Base.Extent[:]...)
	put(r.Base.ElementStrides[:]...)
	put(r.Base.Lower[:]...)
	put(r.Base.Upper[:]...)
	for _, v := range slices.Concat(r.Base.Dims[:], r.BaseStrides[:]) {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, c := range r.Changes {
		put(int32(c.Field), int32(c.Ord))
		b = binary.LittleEndian.AppendUint64(b, c.Value)
	}
	return append(b, encode(r.Copy)...)
}

func TestReplacements(t *testing.T) {
	a := Replacement{
		Base: Box{
			DataType: 11, Rank: 3, Swizzle: 2, Fill: 1, Mode: Im2colMap, Extent: [5]int32{8, 9, 1, 1, 1},
			ElementStrides: [5]int32{1, 2, 3, 1, 1}, Lower: [3]int32{-1}, Upper: [3]int32{2}, Dims: [5]uint64{7, 6, 5, 1, 1},
		},
		BaseStrides: [4]uint64{64, 512, 16, 16}, InGlobal: true, Same: SameBits,
		Changes: []Change{{GlobalStride, 3, 1 << 39}, {FillMode, 0, 1}}, Copy: sample(),
	}
	b := Replacement{Base: a.Base, Same: Faulted, Copy: sample()}
	data := append(encodeReplacement(a), encodeReplacement(b)...)
	got, err := ParseReplacements(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !bytes.Equal(encodeReplacement(got[0]), encodeReplacement(a)) ||
		!bytes.Equal(encodeReplacement(got[1]), encodeReplacement(b)) {
		t.Errorf("ParseReplacements = %+v, want %+v and %+v", got, a, b)
	}
	first := len(encodeReplacement(a))
	for n := range data {
		if _, err := ParseReplacements(data[:n]); (err == nil) != (n == first) {
			t.Errorf("cut to %d of %d bytes: error %v", n, len(data), err)
		}
	}
	for name, change := range map[string]func([]byte){
		"place":        func(b []byte) { b[0] = 2 },
		"outcome":      func(b []byte) { b[4] = 4 },
		"number":       func(b []byte) { b[11] = 0x80 },
		"reserved":     func(b []byte) { b[12] = 1 },
		"base":         func(b []byte) { b[16] = 13 },
		"field":        func(b []byte) { b[baseFixed] = 10 },
		"ordinal":      func(b []byte) { b[baseFixed+4] = 5 },
		"copy's kind":  func(b []byte) { b[baseFixed+2*changeSize] = 3 },
		"number again": func(b []byte) { b[8] = 3 },
	} {
		broken := encodeReplacement(a)
		change(broken)
		if _, err := ParseReplacements(broken); err == nil {
			t.Errorf("no error with a broken %s", name)
		}
	}
}
