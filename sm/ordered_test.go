package sm_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// An unordered is a kernel with an access of shared memory that the program orders too little, and the same kernel
// with what orders it. The lines of the two accesses end with "// first" and "// second", or "// both" if either may be
// either; a read of what nobody has written is "// first".
type unordered struct {
	name   string
	cfg    sm.Config
	kernel func(b *sm.Block, broken bool)
	rule   sm.Rule
	also   []sm.Rule // may come first, in some schedules
	rare   bool      // some schedules order it by chance
}

func unorderedKernels() []unordered {
	return slices.Concat(
		syncUnordered(), agentUnordered(), ringUnordered(), asyncUnordered(), cpAsyncUnordered(), pipelineUnordered(),
		storeUnordered(), clusterUnordered(), copyBulkUnordered(), proxyUnordered(), wgmmaUnordered(), phaseUnordered(),
		unwrittenKernels(), atomicUnordered(), warpUnordered(), tensorMapUnordered(),
	)
}

// TestUnordered: in whatever order the accesses come, and whenever copies land, the report is the same, and names both.
func TestUnordered(t *testing.T) {
	t.Parallel()
	marks := marksOf(t)
	for _, c := range unorderedKernels() {
		t.Run(c.name, func(t *testing.T) {
			found := false
			for _, m := range modes[1:] {
				for seed := range uint64(max(3, few(10))) {
					cfg := in(m, c.cfg)
					cfg.Seed = seed
					err := launch(t, cfg, func(b *sm.Block) { c.kernel(b, true) })
					var f *sm.Fault
					switch {
					case err == nil && c.rare:
						continue
					case !errors.As(err, &f):
						t.Fatalf("%s, seed %d: %v, want a fault", mode(m), seed, err)
					case strings.Contains(f.Detail, "preceding phase unobserved"): // with the build tag invariants
						continue
					case f.Rule != c.rule && !slices.Contains(c.also, f.Rule):
						t.Fatalf("%s, seed %d: rule %v, want %v:\n%v", mode(m), seed, f.Rule, c.rule, f)
					case f.Rule != c.rule && f.Rule != sm.RuleRace:
						continue
					case !marks[c.name].in(f):
						t.Fatalf("%s, seed %d: not the lines %v and %v:\n%v", mode(m), seed, marks[c.name].first,
							marks[c.name].second, f)
					case !found:
						t.Log(f)
					}
					found = found || f.Rule == c.rule
				}
			}
			if !found {
				t.Errorf("never %v", c.rule)
			}
		})
	}
}

// TestUnorderedExplored: since the order of the moment does not matter, Explore leaves little of it.
func TestUnorderedExplored(t *testing.T) {
	t.Parallel()
	for _, c := range unorderedKernels() {
		err := sm.Explore(t.Context(), in(modes[3], c.cfg), 2, func(b *sm.Block) { c.kernel(b, true) })
		if err == nil && c.rare {
			continue
		}
		if f := fault(t, err); f.Rule == c.rule && len(f.Switches) > 4 {
			t.Errorf("%s: %d switches, want at most 4: %v", c.name, len(f.Switches), f)
		}
	}
}

// TestUnorderedCorrected: what orders the accesses silences the report.
func TestUnorderedCorrected(t *testing.T) {
	t.Parallel()
	for _, c := range unorderedKernels() {
		t.Run(c.name, func(t *testing.T) {
			silent(t, c.cfg, func(b *sm.Block) { c.kernel(b, false) })
		})
	}
}

// few is how many schedules a test has time for, one of so many.
func few(of int) int {
	if race.Enabled {
		of *= 6
	} else if testing.Short() {
		of *= 2
	}
	return max(1, *seeds/of)
}

// silent checks that a kernel has no fault, in any mode.
func silent(t *testing.T, cfg sm.Config, kernel sm.Kernel) {
	n := few(5)
	for _, m := range modes {
		var err error
		if m.Check {
			err = sm.Explore(t.Context(), in(m, cfg), n, kernel)
		} else {
			err = launch(t, cfg, kernel)
		}
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// A marked is the lines of a kernel where its accesses are.
type marked struct{ first, second []string }

var (
	caseName = regexp.MustCompile(`name: "([^"]+)"`)
	aSite    = regexp.MustCompile(`\bordered\w*_test\.go:\d+\b`)
)

// marksOf reads the marks of all kernels.
func marksOf(t *testing.T) map[string]*marked {
	marks := map[string]*marked{}
	files, err := filepath.Glob("ordered*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the source is not here")
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		current := new(marked)
		lines := bufio.NewScanner(f)
		for i := 1; lines.Scan(); i++ {
			line, site := lines.Text(), fmt.Sprintf("%s:%d", name, i)
			if m := caseName.FindStringSubmatch(line); m != nil {
				current = new(marked)
				marks[m[1]] = current
			}
			if strings.HasSuffix(line, "// first") || strings.HasSuffix(line, "// both") {
				current.first = append(current.first, site)
			}
			if strings.HasSuffix(line, "// second") || strings.HasSuffix(line, "// both") {
				current.second = append(current.second, site)
			}
		}
	}
	return marks
}

// in reports whether a fault names a line of each kind.
func (m *marked) in(f *sm.Fault) bool {
	sites := append([]string{f.Site}, aSite.FindAllString(f.Detail, -1)...)
	for i, first := range sites {
		if !slices.Contains(m.first, first) {
			continue
		}
		if len(m.second) == 0 {
			return true
		}
		for j, second := range sites {
			if j != i && slices.Contains(m.second, second) {
				return true
			}
		}
	}
	return false
}

// block is a CTA of n threads, pair a cluster of two of them.
func block(n int) sm.Config { return sm.Config{Block: sm.Dim3{X: n}} }

func pair(n int) sm.Config {
	return sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: n}}
}

// specialised starts a warp that fills stages, one thread of it, and warps that empty them. A stage is full when one
// has arrived and empty when every consumer has.
func specialised(b *sm.Block, stages, consumers int, produce func(t *sm.Thread, full, empty []sm.Barrier),
	consume func(w *sm.Warp, full, empty []sm.Barrier)) {
	full, empty := b.Barriers(stages), b.Barriers(stages)
	b.Start(sm.Warps(0, 1+consumers, func(w *sm.Warp) {
		if w.Rank() > 0 {
			w.SyncThreads()
			consume(w, full, empty)
			return
		}
		for s := range stages {
			full[s].Init(w.Thread(0), 1)
			empty[s].Init(w.Thread(0), consumers)
		}
		w.SyncThreads()
		produce(w.Thread(0), full, empty)
	}))
}

// multiplying is specialised with one consumer, which is a warpgroup.
func multiplying(b *sm.Block, stages int, produce func(t *sm.Thread, full, empty []sm.Barrier),
	consume func(w *sm.Warpgroup, full, empty []sm.Barrier)) {
	full, empty := b.Barriers(stages), b.Barriers(stages)
	b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
		for s := range stages {
			full[s].Init(w.Thread(0), 1)
			empty[s].Init(w.Thread(0), 1)
		}
		w.SyncThreads()
		produce(w.Thread(0), full, empty)
	}), sm.Warpgroups(1, 2, func(w *sm.Warpgroup) {
		w.SyncThreads()
		consume(w, full, empty)
	}))
}

// ones is the map of n rows, as wide as a swizzle spans, of bfloat16 ones.
func ones(n int, s tile.Swizzle) *tile.TensorMap {
	span := max(s.Span(), 32) / 2
	data := make([]bf16.BF16, n*span)
	for i := range data {
		data[i] = bf16.FromFloat32(1)
	}
	m, err := sm.NewTensorMap(data, tile.Config{
		Dims: []uint64{uint64(span), uint64(n)}, Box: []uint32{uint32(span), uint32(n)}, Swizzle: s,
	})
	assert(err == nil, "%v", err)
	return m
}

// An A of one step of K in rows of 32 bytes, and a B of eight columns.
const (
	sizeA, bytesA = 64 * 16, 2 * sizeA
	sizeB, bytesB = 8 * 16, 2 * sizeB
)

var (
	onesA, onesB = ones(64, tile.Swizzle32B), ones(8, tile.Swizzle32B)
	narrow       = wgmma.Op{Kind: wgmma.BF16F32, N: 8}
	in64         = ramp(64)
)

// operands declares room for stages of A and B.
func operands(b *sm.Block, stages int) (x, y *sm.Array[bf16.BF16]) {
	return sm.Shared[bf16.BF16](b, stages*sizeA, 1024), sm.Shared[bf16.BF16](b, stages*sizeB, 256)
}
