package tile_test

import (
	"strings"
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/tile"
)

func readReductions(t testing.TB) []golden.Reduction {
	t.Helper()
	all := recorded(t, "reduce.txt.gz", golden.ParseReductions)
	if len(all) != 79 {
		t.Fatalf("%d reductions in the file, want 79", len(all))
	}
	return all
}

// Every reduction that an H200 did in any place leaves the same bytes.
func TestReducePlacesGolden(t *testing.T) {
	for _, r := range readReductions(t) {
		got, err := replay.Reduce(&r)
		if err != nil {
			t.Errorf("%s: %v", r.Place, err)
			continue
		}
		if d := firstDiff(got, r.After); d >= 0 {
			typ := tile.DataType(r.DataType)
			d &^= typ.Size() - 1
			end := d + typ.Size()
			t.Errorf("%s %v %v: element at %d: old %x, x %x: got %x, the GPU left %x", r.Place, tile.ReduceOp(r.Op),
				typ, d, r.Before[d:end], r.Operand[d:end], got[d:end], r.After[d:end])
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
		op, typ := tile.ReduceOp(r.Op), tile.DataType(r.DataType)
		defined[triple{r.Place, op, typ}] = true
		if r.Place != "tensor" && op >= tile.ReduceAnd {
			defined[triple{r.Place, op, typ + 1}] = true // recorded as b32 and b64
		}
	}
	ones := make([]byte, 16)
	for i := range ones {
		ones[i] = 1
	}
	for _, place := range []string{"tensor", "global", "cluster"} {
		for op := tile.ReduceOp(0); op < 12; op++ {
			for typ := tile.Uint8; typ <= tile.TFloat32FTZ; typ++ {
				after, err := replay.Reduce(&golden.Reduction{Place: place, Op: int(op), DataType: int32(typ),
					Before: make([]byte, 16), Operand: ones})
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
