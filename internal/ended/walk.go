package ended

import (
	"context"

	"example.com/leafhopper/internal/spin"
)

// Walk calls do with part after part of a matrix of rows x cols, deep rows by wide columns or what is left of them, row
// and col being the first of n and m, until ctx, which may be nil, has ended, and returns why. In between it gives way:
// who does long work in one call has the whole program wait as soon as the garbage collector wants to stop the world.
func Walk(ctx context.Context, rows, cols, deep, wide int, do func(row, n, col, m int)) error {
	var t spin.Turn
	t.Begin()
	for row := 0; row < rows; row += deep {
		for col := 0; col < cols; col += wide {
			do(row, min(deep, rows-row), col, min(wide, cols-col))
			t.Look()
			if err := Err(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
