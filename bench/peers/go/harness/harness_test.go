package harness

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
)

// naive multiplies row by row; spoil is added to its first entry.
func naive(spoil float64) Library {
	return Library{Name: "naive", Prepare: func(p *Product, _ int) (*Call, error) {
		var c Values
		result := func() Values { return c }
		switch p.DType {
		case F32:
			c.F32 = make([]float32, p.M*p.N)
			return &Call{Run: rows(p, c.F32, p.A.F32, p.B.F32, float32(spoil)), Result: result}, nil
		case F64:
			c.F64 = make([]float64, p.M*p.N)
			return &Call{Run: rows(p, c.F64, p.A.F64, p.B.F64, spoil), Result: result}, nil
		}
		return nil, ErrUnsupported
	}}
}

func rows[T float32 | float64](p *Product, c, a, b []T, spoil T) func() error {
	down, across := p.N, 1
	if p.Trans {
		down, across = 1, p.K
	}
	return func() error {
		for i := range p.M {
			for j := range p.N {
				var sum T
				for l := range p.K {
					sum += a[i*p.K+l] * b[l*down+j*across]
				}
				c[i*p.N+j] = sum
			}
		}
		c[0] += spoil
		return nil
	}
}

func TestRun(t *testing.T) {
	quick := []string{"-min-time", "1", "-count", "2"}
	for _, test := range []struct {
		name, args  string
		spoil       float64
		status      int
		out, stderr string
		in          string // with -step
		lines       int
	}{
		{"one", "-dtype f32 5", 0, 0, "naive,f32,5,5,5,1,", "", "", 1},
		{"rectangle", "-dtype f32 -threads 2 3x4x5", 0, 0, "naive,f32,3,4,5,2,", "", "", 1},
		{"transposed", "-dtype f32 -trans NT 3x4x5", 0, 0, "naive,f32,3,4,5,1,", "", "", 1},
		{"layout", "-trans TT 5", 0, 2, "", `-trans: "TT" is neither NN nor NT`, "", 0},
		{"float64", "-dtype f64 3x4x5", 0, 0, "naive,f64,3,4,5,1,", "", "", 1},
		{"float64 transposed", "-dtype f64 -trans NT 3x4x5", 0, 0, "naive,f64,3,4,5,1,", "", "", 1},
		{"types", "-dtype f64,f32 5", 0, 0, "naive,f64,5,5,5,1,", "", "", 2},
		{"unsupported", "-dtype bf16 5", 0, 0, "", "naive: bf16 skipped", "", 0},
		{"wrong", "-dtype f32 5", 0.5, 1, "", "entry 0, 0 of C is wrong", "", 0},
		{"wrong in float64", "-dtype f64 5", 0x1p-48, 1, "", "entry 0, 0 of C is wrong", "", 0},
		{"within the bound", "-dtype f32 5", 0x1p-23, 0, "naive,f32,5,5,5,1,", "", "", 1},
		{"no shape", "", 0, 2, "", "no shapes", "", 0},
		{"two sizes", "3x4", 0, 2, "", `"3x4" is not N or MxNxK`, "", 0},
		{"zero", "0", 0, 2, "", `"0" is not N or MxNxK with sizes in 1..16384`, "", 0},
		{"second is bad", "5 5x", 0, 2, "", `"5x" is not`, "", 0},
		{"type", "-dtype f16 5", 0, 2, "", `"f16" is not one of bf16, f32, f64`, "", 0},
		{"count", "-count 0 5", 0, 2, "", "-count: 0 is not in 1..1000", "", 0},
		{"steps", "-step -dtype f32 5", 0, 0, "naive,f32,5,5,5,1,", "", "\n\n", 2},
		{"steps of two", "-step -dtype f32 5 6", 0, 0, "naive,f32,5,5,5,1,", "", "\n\n\n\n", 4},
		{"too few steps", "-step -dtype f32 5 6", 0, 0, "naive,f32,5,5,5,1,", "", "\n\n\n", 3},
		{"steps, unsupported", "-step -dtype bf16 5", 0, 0, "naive,bf16,5,5,5,1,NaN\n", "naive: bf16 skipped", "\n\n",
			2},
		{"steps, wrong", "-step -dtype f32 5", 0.5, 1, "naive,f32,5,5,5,1,NaN\n", "entry 0, 0 of C is wrong", "\n\n",
			2},
		{"flag", "-speed 5", 0, 2, "", "not defined", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			args := append(quick[:len(quick):len(quick)], strings.Fields(test.args)...)
			if got := naive(test.spoil).run(args, strings.NewReader(test.in), &out, &stderr); got != test.status {
				t.Errorf("status %d, want %d", got, test.status)
			}
			if !strings.HasPrefix(out.String(), test.out) || strings.Count(out.String(), "\n") != test.lines {
				t.Errorf("stdout %q, want %d lines that begin %q", &out, test.lines, test.out)
			}
			if !strings.Contains(stderr.String(), test.stderr) || (test.stderr == "") != (stderr.Len() == 0) {
				t.Errorf("stderr %q, want …%q…", &stderr, test.stderr)
			}
			if test.status == 2 && strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("stderr %q is not one line", &stderr)
			}
		})
	}
}

// TestUnwritten has the usage and a result go where they cannot be written.
func TestUnwritten(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	for _, args := range []string{"-h", "-dtype f32 -min-time 1 5"} {
		var stderr bytes.Buffer
		status := naive(0).run(strings.Fields(args), strings.NewReader(""), w, &stderr)
		if want := "naive: writing the result: io: read/write on closed pipe\n"; status != 1 || stderr.String() != want {
			t.Errorf("%s: status %d, stderr %q", args, status, &stderr)
		}
	}
}

// TestOperand has elements that need all bits of a float64, and whose products have exact sums.
func TestOperand(t *testing.T) {
	odd := 0
	for _, x := range operand(F64, 100, 1).F64 {
		n := x * 0x1p53
		if n != math.Trunc(n) || math.Abs(x) > 1 {
			t.Fatalf("%x is not a multiple of 2^-53 up to 1", x)
		}
		odd += int(int64(n) & 1)
	}
	if odd < 20 || odd > 80 {
		t.Errorf("of 100 last bits %d are set", odd)
	}
}
