package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArrows holds the packages in which a product is decided on and computed to design.md's rule for imports, file by
// file: none uses what is declared in one that uses it, directly or by way of others.
func TestArrows(t *testing.T) {
	for _, dir := range []string{"../gemm", "../internal/plan"} {
		uses := usesOf(t, dir)
		for _, cycle := range cyclesOf(uses) {
			t.Errorf("%s: files use each other: %s", dir, strings.Join(cycle, " -> "))
		}
	}
	// The last comment of package gemm names its files in order.
	text, err := os.ReadFile("../gemm/doc.go")
	_, list, ok := strings.Cut(string(text), "\npackage gemm\n")
	uses, at := usesOf(t, "../gemm"), map[string]int{}
	for i, word := range regexp.MustCompile(`\w+`).FindAllString(list, -1) {
		if _, twice := at[word+".go"]; !twice {
			at[word+".go"] = i
		}
	}
	if err != nil || !ok {
		t.Fatal(err, ok)
	}
	for from, all := range uses {
		for _, to := range all {
			if i, named := at[from]; !named || at[to] <= i {
				t.Errorf("gemm/doc.go does not have %s before %s, which it uses", from, to)
			}
		}
	}
	if cyclesOf(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": {"a"}}) == nil {
		t.Error("no cycle in a circle of three")
	}
}

// usesOf returns what other files of a package each uses the declarations of.
func usesOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	set, files := token.NewFileSet(), []*ast.File(nil)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, failed := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err == nil {
			err = failed
		}
		files = append(files, file)
	}
	if err != nil || len(files) < 2 {
		t.Fatal(dir, len(files), err)
	}
	// What is imported is not looked at, so there are errors, and the types of what comes from there are not known.
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check(dir, set, files, &info)
	of := func(at token.Pos) string { return filepath.Base(set.Position(at).Filename) }
	uses := map[string][]string{}
	for id, object := range info.Uses {
		from, to := of(id.Pos()), of(object.Pos())
		if object.Pkg() == pkg && from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	if len(uses) < 2 {
		t.Fatalf("%s: %d files use others", dir, len(uses))
	}
	return uses
}

// cyclesOf returns ways from files back to themselves, some for every cycle.
func cyclesOf(uses map[string][]string) (cycles [][]string) {
	done := map[string]bool{}
	var visit func(path []string)
	visit = func(path []string) {
		last := path[len(path)-1]
		if at := slices.Index(path[:len(path)-1], last); at >= 0 {
			cycles = append(cycles, path[at:])
		} else if !done[last] {
			for _, next := range uses[last] {
				visit(append(slices.Clip(path), next))
			}
			done[last] = true
		}
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		visit([]string{file})
	}
	return cycles
}
