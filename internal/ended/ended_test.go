package ended_test

import (
	"context"
	"testing"

	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/hostile"
)

func TestErr(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-ctx.Done()
	if err := ended.Err(ctx); err != context.DeadlineExceeded {
		t.Errorf("a deadline is over: %v", err)
	}
	silent := hostile.Kind{Closes: true, Err: func() error { return nil }}.New(2)
	for range 2 {
		if err := ended.Err(silent); err != nil {
			t.Errorf("open: %v", err)
		}
	}
	if err := ended.Err(silent); err != context.Canceled {
		t.Errorf("closed without an error: %v, want %v", err, context.Canceled)
	}
	if err := ended.Err(context.Background()); err != nil {
		t.Errorf("Background: %v", err)
	}
}
