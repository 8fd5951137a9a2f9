package golden

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// encodeSparse is the writer that ParseSparseWGMMAs reads.
func encodeSparse(m *SparseWGMMA) []byte {
	var b []byte
	bit := map[bool]uint32{true: 1}
	for _, v := range []uint32{
		m.Type, bit[m.Saturate], uint32(m.Selector), bit[m.Registers], m.SwizzleA, m.SwizzleB,
	} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = appendScale(b, m.Scale)
	for i := range m.A {
		b = append(b, m.A[i][:]...)
	}
	for j := range m.B {
		b = append(b, m.B[j][:]...)
	}
	for _, v := range m.Meta {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return appendAccumulators(appendAccumulators(b, m.Type, &m.C), m.Type, &m.D)
}

func sampleSparse(kind uint32) *SparseWGMMA {
	dense := &sampleWGMMAs(kind)[1]
	m := &SparseWGMMA{Type: kind, Saturate: true, Selector: 1, Registers: kind%2 == 0, SwizzleA: 3, SwizzleB: 2,
		Scale: Scale{Overwrite: kind%2 == 0, NegateB: kind%2 == 1}, A: dense.A, C: dense.C, D: dense.D}
	for j := range m.B {
		copy(m.B[j][:], dense.A[2*j][:])
		copy(m.B[j][WGMMARowBytes:], dense.A[2*j+1][:])
	}
	for t := range m.Meta {
		m.Meta[t] = uint32(t) * 0x01234567
	}
	return m
}

func TestSparseWGMMAs(t *testing.T) {
	a, b := encodeSparse(sampleSparse(WGMMATF32)), encodeSparse(sampleSparse(WGMMAE5M2xE4M3F16))
	data := append(bytes.Clone(a), b...)
	got, err := ParseSparseWGMMAs(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !bytes.Equal(append(encodeSparse(&got[0]), encodeSparse(&got[1])...), data) {
		t.Errorf("%d records read, or they encode to other bytes", len(got))
	}
	for _, n := range []int{0, 1, 31, 32, 33, 1000, len(a) - 1, len(a) + 1, len(data) - 1} {
		if _, err := ParseSparseWGMMAs(data[:n]); err == nil {
			t.Errorf("no error when cut to %d of %d bytes", n, len(data))
		}
	}
	for name, at := range map[string]int{"type": 0, "saturate": 4, "selector": 8, "registers": 12, "swizzle of A": 16,
		"swizzle of B": 20, "overwrite": 24, "negate": 28} {
		broken := bytes.Clone(a)
		broken[at] += 7
		if _, err := ParseSparseWGMMAs(broken); err == nil {
			t.Errorf("no error with a broken %s", name)
		}
	}
	integers := sampleSparse(WGMMAS8)
	integers.Scale = Scale{NegateA: true}
	if _, err := ParseSparseWGMMAs(encodeSparse(integers)); err == nil {
		t.Error("no error with integers that are negated")
	}
}

// The metadata of a descriptor's case names two places in the threads that count, each pair somewhere.
func TestDescriptorMetadata(t *testing.T) {
	c := sampleDescriptor()
	c.Sparse, c.Selector = true, 1
	seen := map[uint32]int{}
	for thread, v := range c.Metadata() {
		for i := range 8 {
			field := v >> (4 * i) & 15
			if counts := thread%4 >= 2; counts == (field == 15) {
				t.Fatalf("field %d of thread %d is %#x", i, thread, field)
			}
			seen[field]++
		}
	}
	if len(seen) != 13 || seen[0]+seen[5]+seen[10] > 0 {
		t.Errorf("fields %v", seen)
	}
}
