package pipeline

import (
	"fmt"
	"math"
	"testing"
)

// closedForm is what the state of item j must be.
func closedForm(depth, j int, producer bool) PipelineState {
	s := PipelineState{Index: j % depth, Phase: uint32(j/depth) & 1, Count: j, depth: depth}
	if producer {
		s.Phase ^= 1
	}
	return s
}

func TestStateNext(t *testing.T) {
	for depth := 1; depth <= MaxDepth; depth++ {
		c, p := ConsumerStart(depth), ProducerStart(depth)
		for j := range 5*depth + 3 {
			if want := closedForm(depth, j, false); c != want {
				t.Fatalf("depth %d, item %d: consumer %+v, want %+v", depth, j, c, want)
			}
			if want := closedForm(depth, j, true); p != want {
				t.Fatalf("depth %d, item %d: producer %+v, want %+v", depth, j, p, want)
			}
			c.Next()
			p.Next()
		}
	}
}

func TestStateAdvance(t *testing.T) {
	for depth := 1; depth <= MaxDepth; depth++ {
		for from := range 2*depth + 1 {
			for n := range 4*depth + 2 {
				for _, producer := range []bool{false, true} {
					s := closedForm(depth, from, producer)
					s.Advance(n)
					if want := closedForm(depth, from+n, producer); s != want {
						t.Fatalf("depth %d: item %d advanced by %d is %+v, want %+v", depth, from, n, s, want)
					}
				}
			}
		}
	}
}

// TestStateFar advances by nearly as much as an int holds.
func TestStateFar(t *testing.T) {
	for depth := 1; depth <= MaxDepth; depth++ {
		for _, producer := range []bool{false, true} {
			s := closedForm(depth, 1, producer)
			s.Advance(math.MaxInt - 2)
			s.Next()
			if want := closedForm(depth, math.MaxInt, producer); s != want {
				t.Errorf("depth %d: %+v, want %+v", depth, s, want)
			}
		}
	}
}

// TestStateBack moves states by less than nothing, which must leave them as they are.
func TestStateBack(t *testing.T) {
	for _, n := range []int{-1, -4, math.MinInt} {
		s := ConsumerStart(4)
		s.Next()
		want := fmt.Sprintf("pipeline: state advanced by %d stages, want 0 or more", n)
		if got := fmt.Sprint(thrown(func() { s.Advance(n) })); got != want {
			t.Errorf("Advance(%d) panics with %q, want %q", n, got, want)
		}
		if want := closedForm(4, 1, false); s != want {
			t.Errorf("Advance(%d) left %+v, want %+v", n, s, want)
		}
	}
}

// TestStateWithoutDepth moves states that no ring can have.
func TestStateWithoutDepth(t *testing.T) {
	for _, s := range []PipelineState{{}, {Phase: 1}, ConsumerStart(0), ProducerStart(0), ConsumerStart(-2)} {
		want := fmt.Sprintf("pipeline: state of depth %d, must be at least 1: ConsumerStart and ProducerStart set it",
			s.depth)
		for name, move := range map[string]func(PipelineState){
			"Next":       func(s PipelineState) { s.Next() },
			"Advance(0)": func(s PipelineState) { s.Advance(0) },
			"Advance(3)": func(s PipelineState) { s.Advance(3) },
		} {
			if got := fmt.Sprint(thrown(func() { move(s) })); got != want {
				t.Errorf("%+v: %s panics with %q, want %q", s, name, got, want)
			}
		}
	}
}
