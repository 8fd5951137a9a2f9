package gemm_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/gemm"
	"example.com/leafhopper/pipeline"
)

// TestTrace has every route leave a trace that says what its statistics say.
func TestTrace(t *testing.T) {
	processors(t, 2)
	for _, tc := range []struct {
		m, n, k int
		opts    []gemm.Option
	}{
		{3, 3, 0, nil},
		{30, 30, 30, nil},
		{256, 256, 256, nil},
		{4, 600, 2000, []gemm.Option{gemm.WithKernel("go")}},
		{300, 200, 900, []gemm.Option{gemm.WithDepth(1)}},
		{300, 200, 900, []gemm.Option{gemm.WithDepth(3), gemm.WithWorkers(3)}},
	} {
		a, b := gemm.NewMatrix[float32](tc.m, tc.k), gemm.NewMatrix[float32](tc.k, tc.n)
		c := gemm.NewMatrix[float32](tc.m, tc.n)
		for i := range a.Data {
			a.Data[i] = float32(i % 7)
		}
		for i := range b.Data {
			b.Data[i] = float32(i % 5)
		}
		if err := gemm.Multiply(c, a, b, tc.opts...); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(c.Data)
		var (
			tr gemm.Trace
			st gemm.Stats
		)
		for range 2 { // the second empties it first
			opts := slices.Concat(tc.opts, []gemm.Option{gemm.WithTrace(&tr), gemm.WithStats(&st)})
			if err := gemm.Multiply(c, a, b, opts...); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(c.Data, want) {
			t.Errorf("%v: other bits with a trace", st)
		}
		pieces, copies := 0, 0
		for _, l := range tr.Lanes {
			for _, s := range l.Spans {
				switch s.Kind {
				case pipeline.TraceCompute:
					pieces++
				case pipeline.TraceCopy:
					copies++
				}
			}
		}
		if len(tr.Lanes) != max(1, st.Workers) || (tc.k > 0) != (pieces > 0) || (st.Copy > 0) != (copies > 0) {
			t.Errorf("%v: %d lanes, %d pieces, %d copies", st, len(tr.Lanes), pieces, copies)
		}
		if st.Inline && tc.k > 0 && pieces != 1 {
			t.Errorf("%v: %d pieces", st, pieces)
		}
		if d := tr.Elapsed(); d > st.Elapsed {
			t.Errorf("%v: a trace of %v", st, d)
		}
		var file bytes.Buffer
		_, err := tr.WriteTo(&file)
		if err != nil || !json.Valid(file.Bytes()) || strings.Count(file.String(), `"ph":"X"`) < pieces+copies {
			t.Errorf("%v: %v in\n%s", st, err, file.Bytes())
		}
	}
	_, err := gemm.New(gemm.WithTrace(new(gemm.Trace)))
	if err == nil || !strings.Contains(err.Error(), "WithTrace belongs to a call") {
		t.Errorf("New: %v", err)
	}
}
