package pipeline_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
)

// One producer fills a ring of three stages with numbers, and each of two
// consumers adds up its half of every stage.
func ExampleRun() {
	const depth, items, consumers = 3, 8, 2
	var stages [depth][4]int
	ring, err := pipeline.NewRing(depth, 1, consumers)
	if err != nil {
		fmt.Println(err)
		return
	}

	producer := func(_ context.Context, r *pipeline.Ring) error {
		s := pipeline.ProducerStart(depth)
		for item := range items {
			if err := r.ProducerAcquire(s); err != nil {
				return err
			}
			r.ProducerExpect(s, 0, 4)
			for i := range stages[s.Index] {
				stages[s.Index][i] = 4*item + i
				r.Full(s.Index, 0).CompleteTx(1)
			}
			s.Next()
		}
		return nil
	}

	var sums [consumers]int
	consumer := func(id int) pipeline.Role {
		return func(_ context.Context, r *pipeline.Ring) error {
			s := pipeline.ConsumerStart(depth)
			for range items {
				if err := r.ConsumerWait(s, 0); err != nil {
					return err
				}
				for _, v := range stages[s.Index][2*id : 2*id+2] {
					sums[id] += v
				}
				r.ConsumerRelease(s)
				s.Next()
			}
			return nil
		}
	}

	err = pipeline.Run(context.Background(), ring, producer, consumer(0), consumer(1))
	fmt.Println(sums, sums[0]+sums[1], err)
	// Output: [232 264] 496 <nil>
}

// Two CTAs of a cluster multiply different rows by the same column. The rows
// are private, the column is copied once and completes the bytes of both.
func ExampleRing_Multicast() {
	const depth, items, ctas = 2, 5, 2
	var rows [depth][ctas]int
	var column [depth]int
	ring, err := pipeline.NewRing(depth, ctas, ctas)
	if err != nil {
		fmt.Println(err)
		return
	}

	var roles []pipeline.Role
	var dot [ctas]int
	for cta := range ctas {
		roles = append(roles, func(_ context.Context, r *pipeline.Ring) error { // producer
			s := pipeline.ProducerStart(depth)
			for k := range items {
				if err := r.ProducerAcquire(s); err != nil {
					return err
				}
				// Everybody expects the column, but only the first CTA copies it.
				r.ProducerExpect(s, cta, 8+8)
				rows[s.Index][cta] = k + 10*cta
				r.Full(s.Index, cta).CompleteTx(8)
				if cta == 0 {
					column[s.Index] = k
					bars := r.Multicast(s.Index)
					for i := range bars {
						bars[i].CompleteTx(8)
					}
				}
				s.Next()
			}
			return nil
		}, func(_ context.Context, r *pipeline.Ring) error { // consumer
			s := pipeline.ConsumerStart(depth)
			for range items {
				if err := r.ConsumerWait(s, cta); err != nil {
					return err
				}
				dot[cta] += rows[s.Index][cta] * column[s.Index]
				r.ConsumerRelease(s)
				s.Next()
			}
			return nil
		})
	}
	err = pipeline.Run(context.Background(), ring, roles...)
	fmt.Println(dot, err)
	// Output: [30 130] <nil>
}

// squares is a program of one copy job and four slabs an item.
type squares struct {
	stages [2]int
	sum    atomic.Int64
}

func (p *squares) Expect(item, cta int) int { return 8 }

func (p *squares) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	p.stages[stage] = item * item
	bars[0].CompleteTx(8)
}

func (p *squares) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}

func (p *squares) Compute(stage, item, cta, slab int) { p.sum.Add(int64(p.stages[stage])) }

// A grid executes the pieces of a program on the caller's goroutine and on
// those helpers of a crew that come in time.
func ExampleCrew_Run() {
	crew := pipeline.NewCrew(3)
	defer crew.Close()
	var (
		grid pipeline.Grid
		prog squares
	)
	shape := pipeline.Shape{Depth: 2, Items: 10, CTAs: 1, Slabs: 4, Private: 1}
	if err := grid.Reset(context.Background(), shape, &prog, 4); err != nil {
		fmt.Println(err)
		return
	}
	crew.Run(&grid, 4)
	fmt.Println(prog.sum.Load(), grid.Err())
	// Output: 1140 <nil>
}
