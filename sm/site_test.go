package sm

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// place returns the place of who called it so many calls below, and what runtime.Callers
// says it is.
//
//go:noinline
func place(depth int) (got, want site) {
	got.here(depth)
	runtime.Callers(depth+1, want[:])
	return got, want
}

func inlined() (got, want site) { return place(1) }

//go:noinline
func method(depth int) (got, want site) { return place(depth) }

func deep(n, depth int) (got, want site) {
	if n > 0 {
		return deep(n-1, depth)
	}
	return place(depth)
}

// TestHere finds places again and again, from several lines, through functions that are
// inlined,
// near the bottom of a stack and at the end of a long one, on goroutines that share
// the table.
func TestHere(t *testing.T) {
	check := func(what string, got, want site) {
		if got != want || got[0] == 0 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				for n := range 12 {
					got, want := deep(n, min(n+1, 3))
					check("deep", got, want)
				}
				a, b := inlined()
				check("inlined", a, b)
				a, b = inlined()
				check("inlined", a, b)
				a, b = method(2)
				check("method", a, b)
				c, d := method(2)
				check("method", c, d)
				if a == c {
					t.Errorf("%v and %v are one place", a, c)
				}
				c, d = method(1)
				check("method", c, d)
				func() {
					got, want := place(1)
					check("closure", got, want)
				}()
			}
		})
	}
	all.Wait()
}

func BenchmarkHere(b *testing.B) {
	var s site
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			s.here(1)
		}
	})
	b.Run("runtime.Callers", func(b *testing.B) {
		for b.Loop() {
			runtime.Callers(2, s[:])
		}
	})
}

// TestNames: reports name what a CTA declares as the kernel does, whatever it keeps it in.
func TestNames(t *testing.T) {
	type state struct{ full, empty []Barrier }
	kept := map[string]*Barrier{}
	err := Launch(t.Context(), Config{}, func(b *Block) {
		one, two := b.Barriers(1), b.Barriers(2)
		var three = b.Barrier()
		s := state{full: b.Barriers(1), empty: b.Barriers(1)}
		var p state
		p.full, p.empty = b.Barriers(1), b.Barriers(3)
		var list [2]*Barrier
		list[1] = b.Barrier()
		all := []*Barrier{
			&one[0], &two[1], three, &s.full[0], &s.empty[0], &p.full[0], &p.empty[2], list[1],
			b.Barrier(),
		}
		for i, want := range []string{"one", "two[1]", "three", "full", "empty", "full", "empty[2]", "list",
			"barrier(site_test.go:"} {
			if got := all[i].m.name(); !strings.HasPrefix(got, want) {
				t.Errorf("barrier %d is called %s, want %s", i, got, want)
			}
		}
		kept["key"] = b.Barrier()
		if got := kept["key"].m.name(); got != "kept" {
			t.Errorf("an element of a map is called %s", got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
