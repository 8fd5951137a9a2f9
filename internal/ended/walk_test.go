package ended_test

import (
	"context"
	"testing"

	"example.com/leafhopper/internal/ended"
)

// TestWalk walks over every element once, row by row of parts, and stops where a context ends.
func TestWalk(t *testing.T) {
	for _, c := range []struct{ rows, cols, deep, wide, parts int }{
		{7, 5, 3, 2, 9}, {6, 4, 3, 2, 4}, {1, 9, 8, 9, 1}, {0, 5, 1, 1, 0}, {5, 0, 1, 1, 0},
	} {
		seen, parts, last := make([]int, c.rows*c.cols), 0, -1
		var none context.Context
		err := ended.Walk(none, c.rows, c.cols, c.deep, c.wide, func(row, n, col, m int) {
			for i := row; i < row+n; i++ {
				for j := col; j < col+m; j++ {
					seen[i*c.cols+j]++
				}
			}
			if at := row*c.cols + col; at <= last || n > c.deep || m > c.wide {
				t.Errorf("%+v: %d x %d at (%d, %d)", c, n, m, row, col)
			} else {
				last = at
			}
			parts++
		})
		if err != nil || parts != c.parts {
			t.Errorf("%+v: %d parts, %v", c, parts, err)
		}
		for at, n := range seen {
			if n != 1 {
				t.Errorf("%+v: element %d was seen %d times", c, at, n)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	parts := 0
	err := ended.Walk(ctx, 9, 9, 1, 1, func(_, _, _, _ int) {
		if parts++; parts == 11 {
			cancel()
		}
	})
	if err != context.Canceled || parts != 11 {
		t.Errorf("%d parts, %v", parts, err)
	}
}
