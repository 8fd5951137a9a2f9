package plan

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
)

// bounds find what a reason holds against a bound: the number, what it counts as, and the bound, which it is above or,
// of "is to have", below.
var bounds = []struct {
	*regexp.Regexp
	above bool
}{
	{regexp.MustCompile(`: ([\d.]+) .*are to be at most ([\d.]+)`), true},
	{regexp.MustCompile(`: ([\d.]+) MFLOP(?: count as ([\d.]+))?, and up to ([\d.]+) stay with it`), true},
	{regexp.MustCompile(`no other: ([\d.]+) MFLOP(?: count as ([\d.]+))?, and up to ([\d.]+) stay with their`), false},
	{regexp.MustCompile(`more workers: ([\d.]+) MFLOP(?: count as ([\d.]+))?, and up to ([\d.]+) stay with their`), false},
	{regexp.MustCompile(`B has (\d+) elements, and is to have (\d+)`), false},
}

// TestReasons checks that every number that a plan is explained by is on the right side of its bound.
func TestReasons(t *testing.T) {
	found := make([]int, len(bounds))
	for _, m := range Machines {
		on := m.Machine.Tune()
		for _, elem := range []asm.Type{asm.BF16, asm.F32, asm.F64} {
			k := best(t, &m, elem)
			for _, layout := range []string{"NN", "NT", "TN", "NP"} {
				for _, shape := range goldenShapes() {
					for _, workers := range []int{1, 2, 4, 16, 32} {
						q := posed(on, k, elem, layout, shape[0], shape[1], shape[2])
						q.Staff(workers, workers, false)
						g := Choose(&q)
						var text strings.Builder
						q.Explain(&text, &g)
						for line := range strings.Lines(text.String()) {
							if of := unreasonable(line, found); of != "" {
								t.Errorf("%s %v %s %v, %d workers: %s\n%s", m.Name, elem, layout, shape, workers, of, &text)
							}
						}
					}
				}
			}
		}
	}
	for i, n := range found {
		if n == 0 {
			t.Errorf("no plan is explained by %v", bounds[i])
		}
	}
}

// unreasonable returns what is wrong with a line, and counts in found which bounds it names.
func unreasonable(line string, found []int) string {
	for i, b := range bounds {
		m := b.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found[i]++
		is, of := m[1], m[len(m)-1]
		if len(m) == 4 && m[2] != "" {
			is = m[2]
		}
		x, _ := strconv.ParseFloat(is, 64)
		y, _ := strconv.ParseFloat(of, 64)
		if b.above && x < y || !b.above && x > y { // three digits may be equal
			return is + " is on the wrong side of " + of
		}
	}
	return ""
}
