// Package course is what the kernels in examples share: their inputs, the names and
// checksums of their outputs, and how they are run and tested.
package course

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"strings"

	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/sm"
)

// Element returns element i of the input with that seed.
func Element(i, seed uint32) uint32 { return i*2654435761 + seed*40503 }

// Ints returns the first n elements of the input with that seed.
func Ints(n int, seed uint32) []int32 {
	ints := make([]int32, n)
	for i := range ints {
		ints[i] = int32(Element(uint32(i), seed))
	}
	return ints
}

// An Output is what a kernel has written: a slice of numbers.
type Output struct {
	Name string
	Data any
}

// String returns the line that records the output: its name, and the size and CRC-32 (IEEE)
// of its little-endian bytes.
func (o Output) String() string {
	b := o.bytes()
	return fmt.Sprintf("%s bytes=%d crc32=%08x", o.Name, len(b), crc32.ChecksumIEEE(b))
}

func (o Output) bytes() []byte {
	b, err := binary.Append(nil, binary.LittleEndian, o.Data)
	if err != nil {
		panic(err)
	}
	return b
}

// A Run launches the kernels of an example on fresh inputs by launch, which is
// [sm.Launch] in some mode, and returns what they wrote.
type Run func(launch func(sm.Config, sm.Kernel) error) ([]Output, error)

// Main runs an example and prints its outputs, and then what they show if they are the
// recorded ones; if not, if they cannot be written, or if there are arguments, it ends the program.
func Main(run Run, recorded, shown string) (outputs []Output) {
	cli.Print(func(w io.Writer) (err error) {
		outputs, err = run(func(cfg sm.Config, kernel sm.Kernel) error {
			return sm.Launch(context.Background(), cfg, kernel)
		})
		if err != nil {
			return err
		}
		for _, o := range outputs {
			fmt.Fprintln(w, o)
		}
		if err := asRecorded(outputs, recorded); err != nil {
			return err
		}
		fmt.Fprintf(w, "As on an H100: %s.\n", shown)
		return nil
	})
	return outputs
}

// asRecorded compares outputs with the lines of a record.
func asRecorded(outputs []Output, recorded string) error {
	var lines []string
	for line := range strings.Lines(recorded) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(outputs) != len(lines) {
		return fmt.Errorf("%d outputs, the record has %d", len(outputs), len(lines))
	}
	for i, o := range outputs {
		if o.String() != lines[i] {
			return fmt.Errorf("%v, the record has %s", o, lines[i])
		}
	}
	return nil
}

var seeds = flag.Int("seeds", 4, "orders of its agents in which an example is checked, for each schedule of copies")

// Check runs an example freely, and under Check with several seeds and every schedule, and
// compares its outputs with those wanted and with the record. A fault's schedule is the
// shortest that [sm.Explore] finds.
func Check(ctx context.Context, run Run, recorded string, want []Output) error {
	if *seeds < 1 {
		return fmt.Errorf("-seeds %d, want at least 1", *seeds)
	}
	if err := asRecorded(want, recorded); err != nil {
		return fmt.Errorf("the reference: %w", err)
	}
	try := func(mode string, launch func(sm.Config, sm.Kernel) error) error {
		got, err := run(launch)
		if err == nil {
			err = same(got, want)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		return nil
	}
	for range *seeds {
		err := try("free", func(cfg sm.Config, kernel sm.Kernel) error { return sm.Launch(ctx, cfg, kernel) })
		if err != nil {
			return err
		}
	}
	for _, schedule := range []sm.Schedule{sm.Late, sm.Eager, sm.Random} {
		for seed := range uint64(*seeds) {
			err := try(fmt.Sprintf("%v, seed %d", schedule, seed), func(cfg sm.Config, kernel sm.Kernel) error {
				cfg.Seed, cfg.Schedule = seed, schedule
				return sm.Explore(ctx, cfg, 1, kernel)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// same reports the first element in which outputs differ.
func same(got, want []Output) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.Name != w.Name || reflect.TypeOf(g.Data) != reflect.TypeOf(w.Data) {
			return fmt.Errorf("output %s of %T, want %s of %T", g.Name, g.Data, w.Name, w.Data)
		}
		if bytes.Equal(g.bytes(), w.bytes()) {
			continue
		}
		x, y := reflect.ValueOf(g.Data), reflect.ValueOf(w.Data)
		if x.Len() != y.Len() {
			return fmt.Errorf("%s has %d elements, want %d", g.Name, x.Len(), y.Len())
		}
		for e := range x.Len() {
			if a, b := x.Index(e).Interface(), y.Index(e).Interface(); a != b {
				return fmt.Errorf("%s[%d] = %v, want %v", g.Name, e, a, b)
			}
		}
	}
	return nil
}
