package golden

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// encodeWGMMAs is the writer that ParseWGMMAs reads.
func encodeWGMMAs(all []WGMMA) []byte {
	b := binary.LittleEndian.AppendUint32(nil, all[0].Type)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(all)))
	for t := range all {
		for i := range all[t].A {
			b = append(b, all[t].A[i][:]...)
		}
	}
	for t := range all {
		for j := range all[t].B {
			b = append(b, all[t].B[j][:]...)
		}
	}
	for t := range all {
		b = appendAccumulators(b, all[t].Type, &all[t].C)
	}
	for t := range all {
		b = appendAccumulators(b, all[t].Type, &all[t].D)
	}
	return b
}

func appendAccumulators(b []byte, typ uint32, c *[WGMMARows][WGMMAColumns]uint32) []byte {
	for i := range c {
		for _, v := range c[i] {
			if accumulatorBytes[typ] == 2 {
				b = binary.LittleEndian.AppendUint16(b, uint16(v))
			} else {
				b = binary.LittleEndian.AppendUint32(b, v)
			}
		}
	}
	return b
}

// appendScale appends the two words of s.
func appendScale(b []byte, s Scale) []byte {
	bit := map[bool]uint32{true: 1}
	b = binary.LittleEndian.AppendUint32(b, bit[s.Overwrite])
	return binary.LittleEndian.AppendUint32(b, bit[s.NegateA]|bit[s.NegateB]<<1)
}

// encodeScaled is the writer that ParseScaledWGMMAs reads.
func encodeScaled(m *WGMMA) []byte {
	b := appendScale(binary.LittleEndian.AppendUint32(nil, m.Type), m.Scale)
	for i := range m.A {
		b = append(b, m.A[i][:]...)
	}
	for j := range m.B {
		b = append(b, m.B[j][:]...)
	}
	return appendAccumulators(appendAccumulators(b, m.Type, &m.C), m.Type, &m.D)
}

// encodeDescriptor is the writer that ParseDescriptors reads.
func encodeDescriptor(c *DescriptorCase) []byte {
	var b []byte
	put := func(v ...uint32) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	bit := map[bool]uint32{true: 1}
	put(uint32(c.N), bit[c.A.MNMajor], bit[c.B.MNMajor], c.Seed)
	put(c.A.Start, c.A.LBO, c.A.SBO, c.A.Swizzle)
	put(c.B.Start, c.B.LBO, c.B.SBO, c.B.Swizzle)
	sparse := uint32(0)
	if c.Sparse {
		sparse = 1 + uint32(c.Selector)
	}
	put(c.A.BaseOffset, c.B.BaseOffset, sparse, 0)
	for _, v := range c.D {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

func sampleWGMMAs(kind uint32) []WGMMA {
	all := make([]WGMMA, 2)
	v := uint32(1)
	next := func() uint32 { v = v*1664525 + 1013904223; return v >> 16 }
	for t := range all {
		m := &all[t]
		m.Type = kind
		for i := range WGMMARows {
			for k := range WGMMARowBytes {
				m.A[i][k] = byte(next())
				m.B[i%WGMMAColumns][k] = byte(next())
			}
			for j := range WGMMAColumns {
				m.C[i][j], m.D[i][j] = next(), next()
			}
		}
	}
	return all
}

func sampleDescriptor() *DescriptorCase {
	c := &DescriptorCase{
		N: 16, Seed: 0xdeadbeef,
		A: MatrixDescriptor{Start: 1024, LBO: 16, SBO: 262128, Swizzle: 1, BaseOffset: 7, MNMajor: true},
		B: MatrixDescriptor{Start: 48, LBO: 0, SBO: 512, Swizzle: 3},
		D: make([]int16, WGMMARows*16),
	}
	for i := range c.D {
		c.D[i] = int16(31*i - 4000)
	}
	return c
}

func TestWGMMAs(t *testing.T) {
	for kind := range accumulatorBytes {
		data := encodeWGMMAs(sampleWGMMAs(kind))
		got, err := ParseWGMMAs(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[1].Type != kind || !bytes.Equal(encodeWGMMAs(got), data) {
			t.Errorf("type %d: the tiles read encode to other bytes", kind)
		}
		for _, n := range []int{0, 4, 7, 8, 9, len(data) / 2, len(data) - 1} {
			if _, err := ParseWGMMAs(data[:n]); err == nil {
				t.Errorf("type %d: no error when cut to %d of %d bytes", kind, n, len(data))
			}
		}
		if _, err := ParseWGMMAs(append(data, 0)); err == nil {
			t.Errorf("type %d: no error for a byte too many", kind)
		}
	}
	data := encodeWGMMAs(sampleWGMMAs(WGMMABF16))
	for name, change := range map[string]func([]byte){
		"type":         func(b []byte) { b[0] = 7 },
		"no tiles":     func(b []byte) { b[4] = 0 },
		"more tiles":   func(b []byte) { b[4] = 3 },
		"most tiles":   func(b []byte) { copy(b[4:], "\xff\xff\xff\xff") },
		"narrow C":     func(b []byte) { b[0] = WGMMAF16Acc },
		"tiles modulo": func(b []byte) { b[7] = 0x80 },
	} {
		broken := bytes.Clone(data)
		change(broken)
		if _, err := ParseWGMMAs(broken); err == nil {
			t.Errorf("no error with a broken header: %s", name)
		}
	}
	if _, err := ParseWGMMAs([]byte{0, 0, 0, 0, 0, 0, 0, 0}); err == nil {
		t.Error("no error for a file of no tiles")
	}
}

func TestScaledWGMMAs(t *testing.T) {
	a, b := sampleWGMMAs(WGMMAF16Acc)[0], sampleWGMMAs(WGMMATF32)[1]
	a.Scale, b.Scale = Scale{Overwrite: true, NegateA: true}, Scale{NegateB: true}
	first := encodeScaled(&a)
	data := append(bytes.Clone(first), encodeScaled(&b)...)
	got, err := ParseScaledWGMMAs(data)
	if err != nil || len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("%d records read, or others than were written: %v", len(got), err)
	}
	for _, n := range []int{0, 1, 11, 12, 13, 1000, len(first) - 1, len(first) + 1, len(data) - 1} {
		if _, err := ParseScaledWGMMAs(data[:n]); err == nil {
			t.Errorf("no error when cut to %d of %d bytes", n, len(data))
		}
	}
	for name, change := range map[string]func([]byte){
		"type":      func(b []byte) { b[0] = 7 },
		"integers":  func(b []byte) { b[0] = WGMMAS8 },
		"overwrite": func(b []byte) { b[4] = 2 },
		"negate":    func(b []byte) { b[8] = 4 },
	} {
		broken := bytes.Clone(data)
		change(broken)
		if _, err := ParseScaledWGMMAs(broken); err == nil {
			t.Errorf("no error with a broken head: %s", name)
		}
	}
}

func TestDescriptors(t *testing.T) {
	a, b := sampleDescriptor(), sampleDescriptor()
	b.N, b.D, b.Sparse, b.Selector = 8, b.D[:8*WGMMARows], true, 1
	data := append(encodeDescriptor(a), encodeDescriptor(b)...)
	got, err := ParseDescriptors(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !bytes.Equal(append(encodeDescriptor(&got[0]), encodeDescriptor(&got[1])...), data) {
		t.Errorf("%d cases read, or they encode to other bytes", len(got))
	}
	first := len(encodeDescriptor(a))
	for n := range data {
		if _, err := ParseDescriptors(data[:n]); (err == nil) != (n == first) {
			t.Errorf("cut to %d of %d bytes: error %v", n, len(data), err)
		}
	}
	for name, change := range map[string]func([]byte){
		"n":           func(b []byte) { b[0] = 12 },
		"no n":        func(b []byte) { b[0] = 0 },
		"large n":     func(b []byte) { b[1] = 2 },
		"transpose":   func(b []byte) { b[4] = 2 },
		"start":       func(b []byte) { b[16] = 8 },
		"LBO":         func(b []byte) { b[22] = 4 },
		"swizzle":     func(b []byte) { b[28] = 4 },
		"base offset": func(b []byte) { b[48] = 8 },
		"selector":    func(b []byte) { b[56] = 3 },
		"reserved":    func(b []byte) { b[60] = 1 },
	} {
		broken := encodeDescriptor(a)
		change(broken)
		if _, err := ParseDescriptors(broken); err == nil {
			t.Errorf("no error with a broken %s", name)
		}
	}
}

// The pattern of shared memory stays within the range the recorder states and
// takes every value of it.
func TestDescriptorElement(t *testing.T) {
	c := sampleDescriptor()
	seen := map[int]int{}
	for i := range uint32(1 << 12) {
		seen[c.Element(i)]++
	}
	for v := -8; v <= 8; v++ {
		if seen[v] == 0 {
			t.Errorf("value %d does not occur", v)
		}
		delete(seen, v)
	}
	if len(seen) > 0 {
		t.Errorf("values outside -8 to 8: %v", seen)
	}
}

func FuzzParseWGMMAs(f *testing.F) {
	f.Add(encodeWGMMAs(sampleWGMMAs(WGMMABF16)))
	f.Add(encodeWGMMAs(sampleWGMMAs(WGMMAF16Acc)))
	f.Add(encodeWGMMAs(sampleWGMMAs(WGMMAS8))[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseWGMMAs(data)
		if err != nil {
			return
		}
		if !bytes.Equal(encodeWGMMAs(all), data) {
			t.Errorf("%d tiles encode to other bytes than they were read from", len(all))
		}
	})
}

// FuzzParseDescriptors varies the headers of records, each followed by as many results as it tells, and where the file
// is cut: inputs of whole files, most of which are accepted, keep the fuzzer busy making them smaller.
func FuzzParseDescriptors(f *testing.F) {
	c := sampleDescriptor()
	c.N = 8
	header := encodeDescriptor(c)[:descriptorHeader]
	f.Add(header, 0)
	f.Add(slices.Concat(header, header), 0)
	f.Add(header, 1000)
	f.Add(header[:50], 0)
	f.Fuzz(func(t *testing.T, headers []byte, cut int) {
		if len(headers) > 2*descriptorHeader {
			return
		}
		var data []byte
		for h := range slices.Chunk(headers, descriptorHeader) {
			data = append(data, h...)
			if len(h) == descriptorHeader {
				n := min(binary.LittleEndian.Uint32(h), 256)
				data = append(data, bytes.Repeat(h[12:14], int(WGMMARows*n))...)
			}
		}
		data = data[:len(data)-min(max(cut, 0), len(data))]
		cases, err := ParseDescriptors(data)
		if err != nil {
			return
		}
		var again []byte
		for i := range cases {
			again = append(again, encodeDescriptor(&cases[i])...)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%d cases encode to other bytes than they were read from", len(cases))
		}
	})
}
