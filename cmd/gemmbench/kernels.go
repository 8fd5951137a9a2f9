package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/internal/cli"
)

var (
	types       = []asm.Type{asm.BF16, asm.F16, asm.F32, asm.E4M3, asm.E5M2, asm.F64} // of A and B
	outputs     = []asm.Type{asm.F32, asm.BF16, asm.F16, asm.F64}                     // of C
	arithmetics = []asm.Arithmetic{asm.Native, asm.Hopper}
	scales      = []bench.Scales{bench.NoScales, bench.TensorScales, bench.RowScales}
)

// A kernelInfo is what the command kernels says of one kernel. The JSON names are
// an interface.
type kernelInfo struct {
	Name      string            `json:"name"`
	ISA       string            `json:"isa"`
	Arith     string            `json:"arith"`
	Supported bool              `json:"supported"`
	Reason    string            `json:"reason,omitempty"` // why it cannot run
	MR        int               `json:"mr"`
	NR        int               `json:"nr"`
	KPack     int               `json:"kpack"`
	Accepts   []string          `json:"accepts"` // types
	Chosen    []string          `json:"chosen"`  // types, in the kernel's arithmetic
	Why       map[string]string `json:"why"`     // by type; what speaks for or against it where none is pinned
}

func setupKernels(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	var out output
	out.declare(fs, "table", "json")
	return func(_ context.Context, stdout, _ io.Writer) error {
		if err := out.open(stdout); err != nil {
			return err
		}
		defer out.discard()
		return out.write(func(w io.Writer) error { return listKernels("").write(w, out.format) })
	}
}

// A kernelList is what the command kernels says. The JSON names are an interface.
type kernelList struct {
	Machine bench.Machine `json:"machine"`
	Pin     string        `json:"pin,omitempty"` // what LEAFHOPPER_KERNEL does, if it is set
	Kernels []kernelInfo  `json:"kernels"`
	Errors  []string      `json:"errors,omitempty"` // why a type has no kernel chosen for it

	unknown bool // Pin is about a name that is no kernel's, and says what all Errors do
}

// listKernels returns all kernels and what each is chosen for, by products that
// pin the one called name or, if that is empty, leave the choice to package asm.
func listKernels(name string) *kernelList {
	chosen, errs := choices(name)
	m := bench.ThisMachine()
	pinned := cmp.Or(name, m.Pinned)
	return &kernelList{m, pin(pinned), kernelInfos(chosen), errs, pinned != "" && unknown(pinned) >= 0}
}

// pin says what it means that LEAFHOPPER_KERNEL is name; "" is the variable not set.
func pin(name string) string {
	if name == "" {
		return ""
	}
	names := asm.Names(name)
	if i := unknown(name); i >= 0 {
		what := "names no kernel"
		if len(names) > 1 {
			what = fmt.Sprintf("names %q, which is no kernel", names[i])
		}
		return fmt.Sprintf("%s=%s %s: every product fails that names none itself; choices: %s",
			asm.KernelEnv, name, what, strings.Join(bench.ThisMachine().Kernels, ", "))
	}
	var of []string
	for _, one := range names {
		k := asm.Named(one)
		switch {
		case k.Supported() != nil && len(names) > 1:
			return fmt.Sprintf("%s=%s names %q, which cannot run here: what it is the first to multiply fails",
				asm.KernelEnv, name, one)
		case k.Supported() != nil:
			return fmt.Sprintf("%s=%s pins a kernel that cannot run here: nothing is chosen for it in %v arithmetic",
				asm.KernelEnv, name, k.Arithmetic)
		}
		of = append(of, k.Arithmetic.String())
	}
	slices.Sort(of)
	what := "the kernel"
	if len(of) > 1 {
		what = "kernels"
	}
	return fmt.Sprintf("%s=%s pins %s of %s arithmetic", asm.KernelEnv, name, what,
		strings.Join(slices.Compact(of), " and "))
}

// unknown returns the index of the first name in a list that is no kernel's, or -1.
func unknown(list string) int {
	return slices.IndexFunc(asm.Names(list), func(name string) bool { return asm.Named(name) == nil })
}

// A choice is what a product asks for.
type choice struct {
	arith asm.Arithmetic
	elem  asm.Type
}

// choices returns the kernel that a product of each arithmetic and type gets, and
// why others get none, each reason once: name, or LEAFHOPPER_KERNEL if that is
// empty, pins a kernel that does not do them. Types that no kernel of an arithmetic
// multiplies need no word.
func choices(name string) (chosen map[choice]*asm.Kernel, errs []string) {
	chosen = map[choice]*asm.Kernel{}
	for _, arith := range arithmetics {
		for _, t := range types {
			if !multiplied(t, arith) {
				continue
			}
			k, err := asm.SelectArithmetic(t, arith, name)
			if err == nil {
				chosen[choice{arith, t}] = k
			} else if !slices.Contains(errs, err.Error()) {
				errs = append(errs, err.Error())
			}
		}
	}
	return chosen, errs
}

// multiplied reports whether a kernel of arith, which may not run here, accepts t.
func multiplied(t asm.Type, arith asm.Arithmetic) bool {
	return slices.ContainsFunc(asm.Kernels(), func(k *asm.Kernel) bool { return k.Arithmetic == arith && k.Accepts(t) })
}

func kernelInfos(chosen map[choice]*asm.Kernel) []kernelInfo {
	var infos []kernelInfo
	for _, k := range asm.Kernels() {
		info := kernelInfo{
			Name: k.Name, ISA: k.ISA, Arith: k.Arithmetic.String(), MR: k.MR, NR: k.NR, KPack: k.KPack,
			Supported: k.Supported() == nil,
			Accepts:   []string{}, Chosen: []string{}, Why: map[string]string{},
		}
		if err := k.Supported(); err != nil {
			info.Reason = err.Error()
		}
		for _, t := range types {
			if k.Accepts(t) {
				info.Accepts = append(info.Accepts, t.String())
			}
			if chosen[choice{k.Arithmetic, t}] == k {
				info.Chosen = append(info.Chosen, t.String())
			}
			info.Why[t.String()] = k.Why(t)
		}
		infos = append(infos, info)
	}
	return infos
}

func (l *kernelList) write(w io.Writer, format string) error {
	if format == "json" {
		return cli.WriteJSON(w, l)
	}
	if l.Pin != "" {
		fmt.Fprintf(w, "%s\n\n", l.Pin)
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "kernel\tISA\tarithmetic\ttile\truns here\ttypes\tchosen for")
	for _, k := range l.Kernels {
		runs := "yes"
		if !k.Supported {
			runs = "no"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%dx%d\t%s\t%s\t%s\n", k.Name, k.ISA, k.Arith,
			k.MR, k.NR, runs, strings.Join(k.Accepts, " "), orDash(k.Chosen))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !l.unknown {
		for _, err := range l.Errors {
			fmt.Fprintf(w, "\n%s\n", err)
		}
	}
	if l.Pin != "" {
		fmt.Fprintf(w, "\nWithout %s:\n", asm.KernelEnv)
	}
	for _, k := range l.Kernels {
		fmt.Fprintf(w, "\n%s:\n", k.Name)
		if !k.Supported {
			fmt.Fprintf(w, "  cannot run: %s\n", k.Reason)
			continue
		}
		for _, name := range k.Accepts {
			fmt.Fprintf(w, "  %s\n", k.Why[name])
		}
	}
	return nil
}

func orDash(s []string) string {
	if len(s) == 0 {
		return "-"
	}
	return strings.Join(s, " ")
}
