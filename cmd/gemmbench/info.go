package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/internal/cli"
)

func setupInfo(fs *flag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	var out output
	out.declare(fs, "table", "json")
	return func(_ context.Context, stdout, _ io.Writer) error {
		if err := out.open(stdout); err != nil {
			return err
		}
		defer out.discard()
		return out.write(func(w io.Writer) error {
			m := bench.ThisMachine()
			if out.format == "json" {
				return cli.WriteJSON(w, struct {
					Machine bench.Machine `json:"machine"`
				}{m})
			}
			return writeInfo(w, m)
		})
	}
}

func writeInfo(w io.Writer, m bench.Machine) error {
	build := m.Module + " " + m.Version
	if m.Commit != "" {
		build += ", commit " + m.Commit
	}
	if m.Modified {
		build += " with changes"
	}
	pinned := m.Pinned
	if pinned == "" {
		pinned = "not set"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"cpu", m.CPU},
		{"cores", coresLine(m)},
		{"workers", workersLine(m)},
		{"caches", fmt.Sprintf("L1d %s, L2 %s, L3 %s", size(m.L1D), size(m.L2), size(m.L3))},
		{"memory", size(m.Memory)},
		{"os", m.OS},
		{"go", fmt.Sprintf("%s %s/%s", m.Go, m.GOOS, m.GOARCH)},
		{"build", strings.TrimSpace(build)},
		{"kernels", strings.Join(m.Kernels, ", ")},
		{asm.KernelEnv, pinned},
	} {
		fmt.Fprintf(t, "%s\t%s\n", line[0], line[1])
	}
	return t.Flush()
}

// coresLine says how many processors there are, physical ones only where that is known.
func coresLine(m bench.Machine) string {
	line := fmt.Sprintf("%d logical, GOMAXPROCS %d", m.Threads, m.GOMAXPROCS)
	if m.Cores > 0 {
		line = fmt.Sprintf("%d physical, %s", m.Cores, line)
	}
	return line
}

// workersLine says how many workers a product has if nobody says, and why.
func workersLine(m bench.Machine) string {
	return fmt.Sprintf("%d by default, for %s", m.Workers, m.WorkersBy)
}

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n <= 0:
		return "unknown"
	case n < 1<<20:
		return fmt.Sprintf("%.4g KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.4g GiB", float64(n)/(1<<30))
}
