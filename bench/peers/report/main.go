// Command report joins what run.sh measured: reports of gemmbench compare in
// JSON and lines of the peers in CSV, of each round a file of each program, or several.
//
//	report FILE...
//
// It prints GFLOP/s of every library by the median over the rounds, and how
// Leafhopper does against the best peer of each product: the ratio of the
// medians, and the smallest and largest ratio within a round, which is how far
// to trust it.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"example.com/leafhopper/bench/peers/measured"
	"example.com/leafhopper/internal/cli"
)

// ours is the name of gemmbench's results among the libraries.
const ours = "leafhopper"

func main() { os.Exit(cli.Status("report", run(os.Args[1:], os.Stdout), os.Stderr)) }

const usage = `usage: report FILE...

Report joins what run.sh measured: files PROGRAM-ROUND-THREADS.json of gemmbench compare and .csv of the peers.
`

func run(args []string, w io.Writer) error {
	text, err := report(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return err
	}
	if _, failed := io.WriteString(w, text); failed != nil {
		return cli.Usagef("writing the result: %w", failed)
	}
	return err
}

// report returns the table of the files, or the usage and [flag.ErrHelp].
func report(args []string) (string, error) {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return usage, err
	case err != nil:
		return "", cli.Usagef("%w (report -h)", err)
	case fs.NArg() == 0:
		return "", cli.Usagef("no files: give the JSON and CSV files of a run (report -h)")
	}
	t := table{}
	for _, path := range fs.Args() {
		if err := t.read(path); err != nil {
			if _, named := errors.AsType[*os.PathError](err); named {
				return "", err
			}
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(t) == 0 {
		return "", errors.New("there is no result in the files")
	}
	var text strings.Builder
	err := t.write(&text)
	return text.String(), err
}

// compare orders the rows of the table.
func compare(p, q measured.Product) int {
	return cmp.Or(cmp.Compare(p.DType, q.DType), cmp.Compare(p.Threads, q.Threads),
		cmp.Compare(p.M*p.N*p.K, q.M*q.N*q.K), cmp.Compare(p.M, q.M), cmp.Compare(p.N, q.N))
}

// A table holds GFLOP/s of each product and library by round.
type table map[measured.Product]map[string]map[int]float64

// read adds the file at path. Its name is PROGRAM-ROUND-THREADS and the
// extension of its format.
func (t table) read(path string) error {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return errors.New("the name is not PROGRAM-ROUND-THREADS")
	}
	round, err := strconv.Atoi(parts[1])
	if err != nil {
		return fmt.Errorf("round %q in the name is not a number", parts[1])
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch filepath.Ext(path) {
	case ".json":
		return t.readJSON(f, round)
	case ".csv":
		return t.readCSV(f, round)
	}
	return errors.New("neither .json nor .csv")
}

func (t table) readJSON(r io.Reader, round int) error {
	var rep struct {
		Results []struct {
			M, N, K, Workers int
			DType            string
			SecondsMedian    float64 `json:"seconds_median"`
		}
	}
	if err := json.NewDecoder(r).Decode(&rep); err != nil {
		return err
	}
	for i, s := range rep.Results {
		for _, size := range []struct {
			field string
			n     int
		}{{"m", s.M}, {"n", s.N}, {"k", s.K}, {"workers", s.Workers}} {
			if size.n < 1 || size.n > measured.MaxSize {
				return fmt.Errorf("results[%d]: %s: %d is outside 1..%d", i, size.field, size.n, measured.MaxSize)
			}
		}
		p := measured.Product{DType: s.DType, M: s.M, N: s.N, K: s.K, Threads: s.Workers}
		if err := t.add(p, ours, round, s.SecondsMedian); err != nil {
			return fmt.Errorf("results[%d]: seconds_median: %w", i, err)
		}
	}
	return nil
}

// readCSV reads lines of lib,dtype,m,n,k,threads,seconds_median.
func (t table) readCSV(r io.Reader, round int) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		l, err := measured.Parse(lines.Text())
		if err == nil {
			err = t.add(l.Product, l.Lib, round, l.Seconds)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

func (t table) add(p measured.Product, lib string, round int, seconds float64) error {
	if !(seconds > 0) {
		return fmt.Errorf("%v is not a time", seconds)
	}
	if t[p] == nil {
		t[p] = map[string]map[int]float64{}
	}
	if t[p][lib] == nil {
		t[p][lib] = map[int]float64{}
	}
	t[p][lib][round] = p.Flops() / seconds / 1e9
	return nil
}

// libs returns the libraries in the table, ours first.
func (t table) libs() []string {
	found := map[string]bool{}
	for _, row := range t {
		for lib := range row {
			found[lib] = true
		}
	}
	delete(found, ours)
	return append([]string{ours}, slices.Sorted(maps.Keys(found))...)
}

func (t table) write(w io.Writer) error {
	libs := t.libs()
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "dtype\tthreads\tMxNxK\t%s\tbest peer\tratio\tin a round\n", strings.Join(libs, "\t"))
	for _, p := range slices.SortedFunc(maps.Keys(t), compare) {
		row := t[p]
		fmt.Fprintf(tw, "%s\t%d\t%dx%dx%d", p.DType, p.Threads, p.M, p.N, p.K)
		best, most := "-", 0.0
		for _, lib := range libs {
			if len(row[lib]) == 0 {
				fmt.Fprint(tw, "\t-")
				continue
			}
			v := median(row[lib])
			fmt.Fprintf(tw, "\t%s", significant(v))
			if lib != ours && v > most {
				best, most = lib, v
			}
		}
		ratio, span := "-", "-"
		if len(row[ours]) > 0 && most > 0 {
			ratio = fmt.Sprintf("%.2f", median(row[ours])/most)
			if lo, hi, ok := ratios(row[ours], row[best]); ok {
				span = fmt.Sprintf("%.2f..%.2f", lo, hi)
			}
		}
		fmt.Fprintf(tw, "\t%s\t%s\t%s\n", best, ratio, span)
	}
	return tw.Flush()
}

// significant keeps three digits of small numbers and all of large ones.
func significant(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func median(rounds map[int]float64) float64 {
	s := slices.Sorted(maps.Values(rounds))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// ratios returns the smallest and the largest x/y over the rounds that have both.
func ratios(x, y map[int]float64) (lo, hi float64, ok bool) {
	for round, v := range x {
		u, both := y[round]
		if !both {
			continue
		}
		r := v / u
		if !ok {
			lo, hi, ok = r, r, true
		}
		lo, hi = min(lo, r), max(hi, r)
	}
	return lo, hi, ok
}
