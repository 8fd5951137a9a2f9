package golden

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

const (
	refusedRow = "case 1 kind 1 dt 6 rank 2 il 0 sw 3 oob 1 smoff 640 box 16,15,1,1,1 es 1,2,1 crd 14,-16,0,0,0 " +
		"dims 16,24,1\n"
	wordRow = "0065b282 -> 0065c000\n"
)

// encode is the writer that ParseCopies reads.
func encode(c Copy) []byte {
	var b []byte
	put := func(v ...int32) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	put(c.Kind, c.Red, c.DataType, c.Rank, c.Interleave, c.Swizzle, c.Fill, c.SharedOffset, c.Done, c.Bytes)
	put(c.Extent[:]...)
	put(c.ElementStrides[:]...)
	put(c.Coord[:]...)
	put(c.Mode)
	put(c.Lower[:]...)
	put(c.Upper[:]...)
	put(c.Offsets[:]...)
	put(c.Multicast)
	put(make([]int32, 4)...)
	for _, v := range slices.Concat(c.Dims[:], c.Strides[:]) {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	put(int32(c.Seed), int32(len(c.After)))
	return append(b, c.After...)
}

func sample() Copy {
	return Copy{
		Box: Box{
			Kind: KindStore, Red: 1, DataType: 7, Rank: 2, Swizzle: 3, Fill: 1, SharedOffset: 128,
			Extent: [5]int32{16, 3, 1, 1, 1}, ElementStrides: [5]int32{1, 2, 1, 1, 1},
			Coord: [5]int32{-4, 7}, Dims: [5]uint64{1 << 40, 9, 1, 1, 1},
		},
		Done: 1, Bytes: 96, Strides: [4]uint64{64, 1, 2, 3}, Seed: 0xdeadbeef, After: []byte("memory"),
	}
}

func TestCopies(t *testing.T) {
	a, b := sample(), sample()
	b.Kind, b.Red, b.After = KindLoad, 0, []byte{}
	b.Rank, b.Mode, b.Multicast = 5, Im2colMap, 1
	b.Lower, b.Upper, b.Offsets = [3]int32{-16, -1}, [3]int32{0, 1, 15}, [3]int32{7, 8, 65535}
	data := append(encode(a), encode(b)...)
	got, err := ParseCopies(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !bytes.Equal(encode(got[0]), encode(a)) || !bytes.Equal(encode(got[1]), encode(b)) {
		t.Errorf("ParseCopies = %+v, want %+v and %+v", got, a, b)
	}
	first := len(encode(a))
	for n := range data {
		if _, err := ParseCopies(data[:n]); (err == nil) != (n == first) {
			t.Errorf("cut to %d of %d bytes: error %v", n, len(data), err)
		}
	}
	for name, change := range map[string]func([]byte){
		"kind":           func(b []byte) { b[0] = 3 },
		"type":           func(b []byte) { b[8] = 13 },
		"rank":           func(b []byte) { b[12] = 6 },
		"swizzle":        func(b []byte) { b[23] = 0x80 },
		"box":            func(b []byte) { b[40] = 0 },
		"element stride": func(b []byte) { b[60] = 0 },
		"dimension":      func(b []byte) { clear(b[160:168]) },
		"mode":           func(b []byte) { b[100] = 4 },
		"rank of im2col": func(b []byte) { b[100] = 1 },
		"multicast":      func(b []byte) { b[140] = 2 },
		"reserved":       func(b []byte) { b[144] = 1 },
	} {
		broken := encode(a)
		change(broken)
		if _, err := ParseCopies(broken); err == nil {
			t.Errorf("no error with a broken %s", name)
		}
	}
	long := b
	long.After = make([]byte, SharedSize+1)
	if _, err := ParseCopies(encode(long)); err == nil {
		t.Error("no error with a load larger than shared memory")
	}
}

func TestRefused(t *testing.T) {
	got, err := ParseRefused([]byte(refusedRow))
	if err != nil {
		t.Fatal(err)
	}
	want := Box{
		Kind: 1, DataType: 6, Rank: 2, Swizzle: 3, Fill: 1, SharedOffset: 640,
		Extent: [5]int32{16, 15, 1, 1, 1}, ElementStrides: [5]int32{1, 2, 1, 1, 1},
		Coord: [5]int32{14, -16}, Dims: [5]uint64{16, 24, 1, 1, 1},
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("ParseRefused = %+v, want %+v", got, want)
	}
	for _, broken := range []string{
		"", "\n", refusedRow[:len(refusedRow)-1], refusedRow[1:], refusedRow + "\n",
		strings.Replace(refusedRow, "kind 1", "kind 3", 1),
		strings.Replace(refusedRow, "dt 6", "dt 99999999999", 1),
		strings.Replace(refusedRow, "es 1,2,1", "es 1,0,1", 1),
		strings.Replace(refusedRow, "crd 14,-16,0,0,0", "crd 14,--16,0,0,0", 1),
		strings.Replace(refusedRow, "crd 14,-16,0,0,0", "crd 14,-2147483649,0,0,0", 1),
		strings.Replace(refusedRow, "dims 16,24,1", "dims 16,24", 1),
	} {
		if _, err := ParseRefused([]byte(broken)); err == nil {
			t.Errorf("no error for %q", broken)
		}
	}
}

func TestWords(t *testing.T) {
	got, err := ParseWords([]byte(wordRow))
	if err != nil || len(got) != 1 || got[0] != (Word{0x0065b282, 0x0065c000}) {
		t.Errorf("ParseWords = %+v, %v", got, err)
	}
	for _, broken := range []string{"", wordRow[:len(wordRow)-1], wordRow[1:], " " + wordRow,
		strings.ToUpper(wordRow)} {
		if _, err := ParseWords([]byte(broken)); err == nil {
			t.Errorf("no error for %q", broken)
		}
	}
}

func FuzzParseCopies(f *testing.F) {
	f.Add(encode(sample()))
	f.Add(encode(sample())[:200])
	f.Fuzz(func(t *testing.T, data []byte) {
		copies, err := ParseCopies(data)
		if err != nil {
			return
		}
		var again []byte
		for _, c := range copies {
			again = append(again, encode(c)...)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%d copies encode to other bytes than they were read from", len(copies))
		}
	})
}
