package pipeline

import (
	"context"
	"fmt"
	"testing"
)

// transfer is a program in roles: the producer of each CTA fills its own part
// of a stage and its share of the part that is multicast, and every consumer of the
// cluster checks what it reads. The payload is plain memory, so that the race
// detector sees a wait that orders too little.
type transfer struct {
	depth, ctas, consumers, items int

	private [][]uint64 // [stage*ctas + cta]
	shared  [][]uint64 // [stage], a word for each CTA
}

const privateWords = 3

func stamp(item, who, word int) uint64 {
	return uint64(item+1)<<32 | uint64(who+1)<<16 | uint64(word)
}

func (tr *transfer) producer(cta int) Role {
	return func(_ context.Context, r *Ring) error {
		s := ProducerStart(tr.depth)
		for item := range tr.items {
			if err := r.ProducerAcquire(s); err != nil {
				return err
			}
			r.ProducerExpect(s, cta, privateWords*8+tr.ctas*8)
			own := tr.private[s.Index*tr.ctas+cta]
			for i := range own {
				own[i] = stamp(item, cta, i)
				r.Full(s.Index, cta).CompleteTx(8)
			}
			tr.shared[s.Index][cta] = stamp(item, cta, 99)
			for i := range r.Multicast(s.Index) {
				r.Multicast(s.Index)[i].CompleteTx(8)
			}
			s.Next()
		}
		return nil
	}
}

func (tr *transfer) consumer(cta int) Role {
	return func(_ context.Context, r *Ring) error {
		s := ConsumerStart(tr.depth)
		for item := range tr.items {
			if err := r.ConsumerWait(s, cta); err != nil {
				return err
			}
			for i, v := range tr.private[s.Index*tr.ctas+cta] {
				if want := stamp(item, cta, i); v != want {
					return fmt.Errorf("item %d, CTA %d, word %d: %#x, want %#x", item, cta, i, v, want)
				}
			}
			for from, v := range tr.shared[s.Index] {
				if want := stamp(item, from, 99); v != want {
					return fmt.Errorf("item %d, CTA %d, multicast from %d: %#x, want %#x", item, cta, from, v, want)
				}
			}
			r.ConsumerRelease(s)
			s.Next()
		}
		return nil
	}
}

func (tr *transfer) roles() []Role {
	tr.private = make([][]uint64, tr.depth*tr.ctas)
	for i := range tr.private {
		tr.private[i] = make([]uint64, privateWords)
	}
	tr.shared = make([][]uint64, tr.depth)
	for i := range tr.shared {
		tr.shared[i] = make([]uint64, tr.ctas)
	}
	var roles []Role
	for cta := range tr.ctas {
		roles = append(roles, tr.producer(cta))
		for range tr.consumers {
			roles = append(roles, tr.consumer(cta))
		}
	}
	return roles
}

// check runs the transfer on r, which is fresh, and then looks at the barriers.
func (tr *transfer) check(t *testing.T, ctx context.Context, r *Ring) {
	t.Helper()
	what := fmt.Sprintf("depth %d, %d CTAs, %d consumers, %d items", tr.depth, tr.ctas, tr.consumers, tr.items)
	var err error
	within(t, what, func() { err = Run(ctx, r, tr.roles()...) })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: the ring was stopped: %v", what, err)
	}
	for stage := range tr.depth {
		fillings := (tr.items + tr.depth - 1 - stage) / tr.depth
		empty := r.empty[stage].State()
		if empty.Phase != fillings%8 || empty.Pending != empty.Expected {
			t.Fatalf("%s: empty barrier of stage %d after %d fillings: %v", what, stage, fillings, empty)
		}
		for cta := range tr.ctas {
			if full := r.Full(stage, cta).State(); full.Phase != fillings%8 || full.Tx != 0 || full.Pending != 1 {
				t.Fatalf("%s: full barrier of stage %d, CTA %d after %d fillings: %v", what, stage, cta, fillings, full)
			}
		}
	}
}

func TestRun(t *testing.T) {
	noLeaks(t)
	rng := random(t)
	for depth := 1; depth <= MaxDepth; depth++ {
		for consumers := 1; consumers <= 8; consumers++ {
			for ctas := 1; ctas <= 4; ctas++ {
				items := 2*depth + 1 + rng.IntN(depth)
				r, err := NewRing(depth, ctas, ctas*consumers)
				if err != nil {
					t.Fatal(err)
				}
				tr := transfer{depth: depth, ctas: ctas, consumers: consumers, items: items}
				tr.check(t, context.Background(), r)
			}
		}
	}
}

// TestRunShort has fewer items than stages, down to none.
func TestRunShort(t *testing.T) {
	noLeaks(t)
	for depth := 1; depth <= MaxDepth; depth++ {
		for _, items := range []int{0, 1, depth - 1, depth, depth + 1} {
			r, err := NewRing(depth, 2, 4)
			if err != nil {
				t.Fatal(err)
			}
			tr := transfer{depth: depth, ctas: 2, consumers: 2, items: items}
			tr.check(t, context.Background(), r)
		}
	}
}

func TestRunNothing(t *testing.T) {
	r, err := NewRing(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), r); err != nil || r.Err() != nil {
		t.Errorf("no roles: %v, ring %v", err, r.Err())
	}
}

func BenchmarkRing(b *testing.B) {
	for _, depth := range []int{1, 4} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			r, err := NewRing(depth, 1, 1)
			if err != nil {
				b.Fatal(err)
			}
			tr := transfer{depth: depth, ctas: 1, consumers: 1, items: b.N}
			roles := tr.roles()
			b.ResetTimer()
			if err := Run(context.Background(), r, roles...); err != nil {
				b.Fatal(err)
			}
		})
	}
}
