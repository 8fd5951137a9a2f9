package wgmma

import (
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/hopper"
)

// floatKinds maps the types of recorded instructions to the kinds of floats.
var floatKinds = map[uint32]Kind{
	golden.WGMMABF16: BF16F32, golden.WGMMAF16: F16F32, golden.WGMMATF32: TF32F32,
	golden.WGMMAE4M3: E4M3F32, golden.WGMMAE5M2: E5M2F32,
	golden.WGMMAE4M3xE5M2: E4M3E5M2F32, golden.WGMMAE5M2xE4M3: E5M2E4M3F32,
	golden.WGMMAF16Acc: F16F16, golden.WGMMAE4M3F16: E4M3F16, golden.WGMMAE5M2F16: E5M2F16,
	golden.WGMMAE4M3xE5M2F16: E4M3E5M2F16, golden.WGMMAE5M2xE4M3F16: E5M2E4M3F16,
}

// Instructions with scale-d and imm-scale-a/b, mostly of zeros, subnormals, and what is at the end of a format, give
// the recorded bits, and so does the definition. No zero that a GPU leaves is negative: not where all products and C
// are, nor where a negative sum is rounded to nothing.
func TestGoldenScale(t *testing.T) {
	records, err := golden.Records("testdata/wgmma_scale.bin.gz", golden.ParseScaledWGMMAs)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any]int{}
	var negative, overwritten, lost int // elements that are 0
	for n := range records {
		r := &records[n]
		op := Op{Kind: floatKinds[r.Type], N: golden.WGMMAColumns, Overwrite: r.Overwrite, NegateA: r.NegateA,
			NegateB: r.NegateB}
		checkTiles(t, op, records[n:n+1])
		seen[r.Type]++
		seen[r.Scale]++

		spec := kinds[op.Kind].spec
		var a [golden.WGMMARows][]hopper.Word
		for i := range a {
			a[i] = negated(words(spec.A, r.A[i][:]), op.NegateA)
		}
		for j := range r.B {
			b := negated(words(spec.B, r.B[j][:]), op.NegateB)
			for i := range r.D {
				acc, want := r.C[i][j], r.D[i][j]
				if op.Overwrite {
					acc = 0
				}
				if got := spec.Step(acc, a[i], b); got != want {
					t.Fatalf("record %d, %v: Step(%#x) of (%d, %d) is %#x, want %#x", n, op, acc, i, j, got, want)
				}
				if want&^spec.Acc.SignBit() != 0 {
					continue
				}
				switch zero := allNegativeZeros(a[i], b); {
				case want != 0:
					t.Fatalf("record %d, %v: (%d, %d) is recorded as -0", n, op, i, j)
				case zero && op.Overwrite:
					overwritten++
				case zero && acc == spec.Acc.SignBit():
					negative++
				case acc&^spec.Acc.SignBit() == 0 && onlyNegative(a[i], b):
					lost++
				}
			}
		}
	}
	if len(records) != 72 || len(seen) != len(floatKinds)+8 || negative < 100 || overwritten < 50 || lost < 50 {
		t.Errorf("%d records, of each type and scale %v; all terms are -0 in %d elements, all products with scale-d 0 "+
			"in %d, and negative sums vanish in %d: the file tests too little", len(records), seen, negative, overwritten, lost)
	}
}

// negated returns w, whose signs it flips if negate is set.
func negated(w []hopper.Word, negate bool) []hopper.Word {
	for i := range w {
		w[i].Neg = w[i].Neg != negate
	}
	return w
}

// allNegativeZeros reports whether all products are -0.
func allNegativeZeros(a, b []hopper.Word) bool {
	for k := range a {
		if a[k].Sig != 0 && b[k].Sig != 0 || a[k].Neg == b[k].Neg {
			return false
		}
	}
	return true
}

// onlyNegative reports whether some products are below zero and none above.
func onlyNegative(a, b []hopper.Word) bool {
	below := false
	for k := range a {
		if a[k].Sig == 0 || b[k].Sig == 0 {
			continue
		}
		if a[k].Neg == b[k].Neg {
			return false
		}
		below = true
	}
	return below
}
