package tile_test

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// A reduction is one that an H200 did: 512 bytes of x into as many of old.
// Files hold one a line: place, operation and type as the name, the number of
// the type, then the bytes in hexadecimal.
type reduction struct {
	place         string // tensor, global or cluster
	op            tile.ReduceOp
	typ           tile.DataType
	old, x, after []byte
}

func readReductions(t testing.TB) []reduction {
	t.Helper()
	names := []string{"", "add", "min", "max", "inc", "dec", "and", "or", "xor"}
	var all []reduction
	for i, line := range strings.Split(strings.TrimSpace(string(readGolden(t, "reduce.txt.gz"))), "\n") {
		f := strings.Fields(line)
		if len(f) != 6 {
			t.Fatalf("line %d has %d fields", i+1, len(f))
		}
		typ, err := strconv.Atoi(f[2])
		r := reduction{place: f[0], op: tile.ReduceOp(slices.Index(names, f[1])), typ: tile.DataType(typ)}
		for k, dst := range []*[]byte{&r.old, &r.x, &r.after} {
			b, hexErr := hex.DecodeString(f[3+k])
			if err != nil || hexErr != nil || len(b) != 512 {
				t.Fatalf("line %d, field %d is broken", i+1, 4+k)
			}
			*dst = b
		}
		all = append(all, r)
	}
	if len(all) != 79 {
		t.Fatalf("%d reductions in the file, want 79", len(all))
	}
	return all
}

// reduceAt reduces x into old, wherever place says.
func reduceAt(t testing.TB, place string, op tile.ReduceOp, typ tile.DataType, old, x []byte) (after []byte, err error) {
	t.Helper()
	s := newShared(t, len(x))
	copy(s.Bytes(), x)
	after = slices.Clone(old)
	switch place {
	case "tensor":
		n := len(old) / typ.Size()
		rows := max(1, n/256)
		m := newMap(t, tile.Config{
			DataType: typ, Global: after,
			Dims: []uint64{uint64(n / rows), uint64(rows)}, Strides: []uint64{uint64(len(old) / rows)},
			Box: []uint32{uint32(n / rows), uint32(rows)},
		})
		return after, tile.Reduce(m, op, []int32{0, 0}, s, 0)
	case "global":
		return after, tile.ReduceBulk(tile.Global{Bytes: after}, 0, op, typ, s, 0, len(x))
	}
	dst := newShared(t, len(old))
	copy(dst.Bytes(), old)
	bar, barErr := barrier.New(1)
	if barErr != nil {
		t.Fatal(barErr)
	}
	bar.ArriveExpectTx(len(x))
	err = tile.ReduceShared(dst, 0, op, typ, s, 0, len(x), bar)
	if done := bar.TestWaitParity(0); done != (err == nil) {
		t.Errorf("%v of %v: error %v, barrier completed: %v", op, typ, err, done)
	}
	return dst.Bytes(), err
}

// Every reduction that an H200 did in any place leaves the same bytes.
func TestReducePlacesGolden(t *testing.T) {
	for _, r := range readReductions(t) {
		got, err := reduceAt(t, r.place, r.op, r.typ, r.old, r.x)
		if err != nil {
			t.Errorf("%s: %v", r.place, err)
			continue
		}
		if d := firstDiff(got, r.after); d >= 0 {
			d &^= r.typ.Size() - 1
			end := d + r.typ.Size()
			t.Errorf("%s %v %v: element at %d: old %x, x %x: got %x, the GPU left %x", r.place, r.op, r.typ, d, r.old[d:end], r.x[d:end], got[d:end], r.after[d:end])
		}
	}
}

// Exactly the recorded triples of place, operation and type are defined: the
// GPU or its assembler refused all others. Those are errors that name both
// operands and leave everything alone.
func TestReduceTypes(t *testing.T) {
	type triple struct {
		place string
		op    tile.ReduceOp
		typ   tile.DataType
	}
	defined := map[triple]bool{}
	for _, r := range readReductions(t) {
		defined[triple{r.place, r.op, r.typ}] = true
		if r.place != "tensor" && r.op >= tile.ReduceAnd {
			defined[triple{r.place, r.op, r.typ + 1}] = true // recorded as b32 and b64
		}
	}
	ones := make([]byte, 16)
	for i := range ones {
		ones[i] = 1
	}
	for _, place := range []string{"tensor", "global", "cluster"} {
		for op := tile.ReduceOp(0); op < 12; op++ {
			for typ := tile.Uint8; typ <= tile.TFloat32FTZ; typ++ {
				after, err := reduceAt(t, place, op, typ, make([]byte, 16), ones)
				if ok := defined[triple{place, op, typ}]; ok != (err == nil) {
					t.Errorf("%s: %v of %v: error %v, recorded: %v", place, op, typ, err, ok)
				}
				if err == nil {
					continue
				}
				if want := op.String() + " is not defined for " + typ.String(); !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %q, want %q in it", place, err, want)
				}
				if firstDiff(after, make([]byte, 16)) >= 0 {
					t.Errorf("%s: %v of %v changed the destination", place, op, typ)
				}
			}
		}
	}
}
