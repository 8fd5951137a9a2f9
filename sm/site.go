package sm

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"example.com/leafhopper/internal/race"
)

// A site is a place in a kernel's code, that of a call of this package.
type site [1]uintptr

// A stack is the innermost return addresses of a goroutine: those of this package's
// functions, and at least one of the kernel's.
type stack [8]uintptr

// sites has places by the stacks that lead to them, each where its hash says or, if another has come there since,
// beside that: runtime.Callers, which knows what has been inlined, takes longer than most operations.
var sites [1 << 10]atomic.Pointer[siteAt]

type siteAt struct {
	stack stack
	site  site
}

// here sets s to the place so many calls below the caller, and returns what frames does. The
// race detector is not to believe that agents which come to the same place are ordered.
//
//go:norace
func (s *site) here(depth int) (g uintptr) {
	race.Hide()
	defer race.Show()
	var at stack
	if g = frames(&at); g == 0 {
		runtime.Callers(depth+2, s[:])
		return 0
	}
	hash := uint64(0)
	for _, pc := range at {
		hash = (hash ^ uint64(pc)) * 0x9E3779B97F4A7C15
	}
	slot, beside := &sites[hash>>54], &sites[hash>>54^1]
	if known := slot.Load(); known != nil && known.stack == at {
		*s = known.site
		return g
	}
	if known := beside.Load(); known != nil && known.stack == at {
		*s = known.site
		return g
	}
	runtime.Callers(depth+2, s[:])
	beside.Store(slot.Swap(&siteAt{at, *s}))
	return g
}

// panicked sets s to the place of the panic that the caller has recovered from, or of the
// runtime.Goexit, in code that is not of the packages below the kernel.
func (s *site) panicked() {
	var pcs [64]uintptr
	n := runtime.Callers(1, pcs[:])
	frames := runtime.CallersFrames(pcs[:n])
	for more, inside := true, false; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch pkg := packageOf(f.Function); {
		case f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit":
			inside = true
		case inside && pkg != "runtime" && !ours[pkg]:
			s[0] = f.PC + 1 // as Callers has it: where the call returns to
			return
		}
	}
}

// ours are the packages that a kernel stands on.
var ours = map[string]bool{}

func init() {
	self := packageOf(runtime.FuncForPC(reflect.ValueOf(Launch).Pointer()).Name())
	for _, name := range []string{"sm", "tile", "barrier", "wgmma", "mma", "pipeline"} {
		ours[strings.TrimSuffix(self, "sm")+name] = true
	}
}

// packageOf returns the import path of a function's package.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	if dot := strings.Index(function[slash:], "."); dot >= 0 {
		return function[:slash+dot]
	}
	return function
}

// functionName returns what a reader calls the function of a kernel: without its
// package, and without the numbers of closures.
func functionName(kernel Kernel) string {
	f := runtime.FuncForPC(reflect.ValueOf(kernel).Pointer())
	if f == nil {
		return "kernel"
	}
	name := strings.ReplaceAll(f.Name(), "[...]", "") // what a generic function has for its type arguments
	name = name[strings.LastIndex(name, "/")+1:]
	parts := strings.Split(strings.TrimSuffix(name, "-fm"), ".")[1:] // -fm: the value of a method
	for len(parts) > 1 && isClosure(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	return parts[len(parts)-1]
}

// isClosure reports whether a part of a function's name is the compiler's: func1, 2, gowrap1.
func isClosure(part string) bool {
	digits := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(part, "func"), "gowrap"), "0123456789")
	return digits == "" || digits == "-range1"
}

func (s site) frame() runtime.Frame {
	if s[0] == 0 {
		return runtime.Frame{}
	}
	f, _ := runtime.CallersFrames(s[:]).Next()
	return f
}

// String returns "file.go:line", without the folder.
func (s site) String() string {
	f := s.frame()
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
}

// A mark says who did something last, and where.
type mark struct {
	agent *agent
	site  site
}

func (a *agent) mark() mark { return mark{a, a.run.site} }

// deed is the mark of what others may wait for: an arrival, a copy, a store. What the agent has tried in vain before
// may have been in vain for want of it.
func (a *agent) deed() mark {
	a.run.polls = 0
	return a.mark()
}

func (k mark) String() string {
	if k.agent == nil {
		return "nobody"
	}
	return fmt.Sprintf("%s at %v", k.agent.inCluster(), k.site)
}

// A declaration is a call of Barriers or Shared. Reports name what it returned as the
// kernel does.
type declaration struct {
	site
	call   string       // the function's name
	before *declaration // the one before it, nil in the first

	at, size, n int // of Shared: the address, the bytes of an element and how many there are
}

// names has those of declarations, of whichever CTA, by their sites.
var names sync.Map

// name returns the variable that the kernel keeps the result in, which its source
// tells, or what and where it is.
func (d *declaration) name() string {
	if d == nil {
		return "the zero Array"
	}
	if name, ok := names.Load(d.site); ok {
		return name.(string)
	}
	name := d.find()
	names.Store(d.site, name)
	return name
}

func (d *declaration) find() string {
	f := d.frame()
	nth := 0 // of the calls that came to the line one after another
	for b := d.before; b != nil; b = b.before {
		if g := b.frame(); g.Line != f.Line || g.File != f.File {
			break
		}
		if b.call == d.call {
			nth++
		}
	}
	if name := assigned(f.File, f.Line, d.call, nth); name != "" && name != "_" {
		return name
	}
	if f.File == "" {
		return strings.ToLower(d.call)
	}
	return fmt.Sprintf("%s(%v)", strings.ToLower(d.call), d.site)
}

// assigned returns the variable or field that the nth call of a function at a line of a file is
// assigned to, or "" if there is no such file or assignment. Who comes to the line again, as the function that
// makes each of a kernel's rings does, goes through its calls in the same order.
func assigned(file string, line int, call string, nth int) (name string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return ""
	}
	var calls []ast.Expr
	to := map[ast.Expr]ast.Expr{}
	find := func(names []ast.Expr, values []ast.Expr) {
		if len(names) != len(values) {
			return
		}
		for i, v := range values {
			to[v] = names[i]
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			find(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			names := make([]ast.Expr, len(n.Names))
			for i, id := range n.Names {
				names[i] = id
			}
			find(names, n.Values)
		case *ast.KeyValueExpr:
			find([]ast.Expr{n.Key}, []ast.Expr{n.Value})
		case *ast.CallExpr:
			if fset.Position(n.Pos()).Line <= line && fset.Position(n.End()).Line >= line && lastName(n.Fun) == call {
				calls = append(calls, n)
			}
		}
		return true
	})
	if len(calls) == 0 {
		return ""
	}
	return lastName(to[calls[nth%len(calls)]])
}

// lastName returns the name of the function, variable or field that an expression means.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return lastName(e.X)
	case *ast.IndexListExpr:
		return lastName(e.X)
	}
	return ""
}
