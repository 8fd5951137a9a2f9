package harness

import (
	"bytes"
	"strings"
	"testing"
)

// naive multiplies row by row; spoil is added to its first entry.
func naive(spoil float32) Library {
	return Library{Name: "naive", Prepare: func(p *Product, _ int) (*Call, error) {
		down, across := p.N, 1
		if p.Trans {
			down, across = 1, p.K
		}
		if p.BF16 {
			return nil, ErrUnsupported
		}
		c := make([]float32, p.M*p.N)
		run := func() error {
			for i := range p.M {
				for j := range p.N {
					var sum float32
					for l := range p.K {
						sum += p.A[i*p.K+l] * p.B[l*down+j*across]
					}
					c[i*p.N+j] = sum
				}
			}
			c[0] += spoil
			return nil
		}
		return &Call{Run: run, Result: func() []float32 { return c }}, nil
	}}
}

func TestRun(t *testing.T) {
	quick := []string{"-min-time", "1", "-count", "2"}
	for _, test := range []struct {
		name, args  string
		spoil       float32
		status      int
		out, stderr string
		in          string // with -step
		lines       int
	}{
		{"one", "-dtype f32 5", 0, 0, "naive,f32,5,5,5,1,", "", "", 1},
		{"rectangle", "-dtype f32 -threads 2 3x4x5", 0, 0, "naive,f32,3,4,5,2,", "", "", 1},
		{"transposed", "-dtype f32 -trans NT 3x4x5", 0, 0, "naive,f32,3,4,5,1,", "", "", 1},
		{"layout", "-trans TT 5", 0, 2, "", `-trans: "TT" is neither NN nor NT`, "", 0},
		{"unsupported", "-dtype bf16 5", 0, 0, "", "naive: bf16 skipped", "", 0},
		{"wrong", "-dtype f32 5", 0.5, 1, "", "entry 0, 0 of C is wrong", "", 0},
		{"no shape", "", 0, 2, "", "no shapes", "", 0},
		{"two sizes", "3x4", 0, 2, "", `"3x4" is not N or MxNxK`, "", 0},
		{"zero", "0", 0, 2, "", `"0" is not N or MxNxK with sizes in 1..16384`, "", 0},
		{"second is bad", "5 5x", 0, 2, "", `"5x" is not`, "", 0},
		{"type", "-dtype f64 5", 0, 2, "", `"f64" is not one of`, "", 0},
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
