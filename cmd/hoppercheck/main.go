// Hoppercheck replays recordings of a Hopper GPU on the emulator and says where
// they differ.
//
//	hoppercheck [flags] [DIR ...]
//
// A DIR is a folder of files as hopper/README.md describes them, or one such
// file, plain or compressed by gzip: those of this module, which it takes by
// default, or those that hopper/probe wrote on another GPU. For every file it prints how many
// records it checked, how many came out different, and what the first of them
// is. Below that stand how many products of cublas*.json agree with K split, which -v
// names, and how many were left out.
//
// The exit status is 0 if everything agreed, 1 if a record differs, 2 if a file
// could not be read, the result not be written, or the arguments are bad, such as
// a -max-flops that leaves nothing to compare, and 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"example.com/leafhopper/internal/cli"
)

func main() { cli.Main(run) }

// What else than that all agree, or an interrupt, the exit status says.
const (
	exitDifferent  = cli.Failed
	exitUnreadable = cli.Usage // or unwritable, or nothing compared, or bad arguments
)

// A config is the command line.
type config struct {
	dirs     []string
	format   string
	maxFlops float64
	run      string
	match    *regexp.Regexp // of run
	verbose  bool
}

const help = `Usage: hoppercheck [flags] [DIR ...]

Hoppercheck replays recordings of a Hopper GPU on the emulator. A DIR is a folder
of them or a single file, plain or .gz; hopper/README.md describes them, and
hopper/probe makes such files on any Hopper GPU. Without DIR it takes the
recordings in this module, below the working directory or one of its parents.

A record is a script of mbarrier.txt, a call of tensormap*.txt, a copy of tma.bin, tma_*.bin,
tensormap_*.bin or tma_illegal.txt, a word of tma_tf32.txt, a reduction of reduce.txt, an
instruction of warp.txt, an operation of atomic.txt, an access of banks.txt or banks_ncu.txt, a scenario of
cluster.jsonl, an instruction of wgmma_*.bin, mma.txt, mma_b1.txt or mma_sp.txt, and a product of cublas.json,
cublas_few.json, cublas_fp8_tf32.json or cublas_epilogue.json. A line below the table says how many products agree with
K split, which -v names, and how many were left out.

Exit status: 0 all agree, 1 a record differs, 2 a file is unreadable, the result
cannot be written, nothing was compared or the arguments are bad,
130 after an interrupt.

Flags:
`

// flags returns the flags, which set c.
func (c *config) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("hoppercheck", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.format, "format", "table", "`format` of the result: table, json")
	fs.Float64Var(&c.maxFlops, "max-flops", 5e9,
		"leave out products of cublas*.json that take more than `n` operations, 2·M·N·K")
	fs.StringVar(&c.run, "run", "", "replay only files whose name matches `regexp`")
	fs.BoolVar(&c.verbose, "v", false,
		"name every file before it is replayed, all that is skipped, and the products that agree with K split")
	return fs
}

func writeHelp(w io.Writer) error {
	var text strings.Builder
	text.WriteString(help)
	fs := new(config).flags()
	fs.SetOutput(&text)
	fs.PrintDefaults()
	_, err := io.WriteString(w, text.String())
	return err
}

// parse reads the command line. Flags may follow a DIR.
func parse(args []string) (*config, error) {
	var c config
	fs := c.flags()
	if len(args) == 1 && args[0] == "help" { // a folder of that name is ./help
		args = []string{"-h"}
	}
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			break
		}
		c.dirs = append(c.dirs, fs.Arg(0))
		args = fs.Args()[1:]
	}
	if c.format = strings.ToLower(c.format); c.format != "table" && c.format != "json" {
		return nil, fmt.Errorf("-format: %q is not table or json", c.format)
	}
	if !(c.maxFlops >= 0) {
		return nil, fmt.Errorf("-max-flops: %v is not a number of operations", c.maxFlops)
	}
	var err error
	if c.match, err = regexp.Compile(c.run); err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	return &c, nil
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	say := func(format string, args ...any) {
		text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
		fmt.Fprintf(stderr, "hoppercheck: %s\n", text)
	}
	c, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		if err := writeHelp(stdout); err != nil {
			say("writing the help: %v", err)
			return exitUnreadable
		}
		return cli.OK
	}
	if err != nil {
		say("%v (see hoppercheck -h)", err)
		return exitUnreadable
	}
	files, err := c.find(say)
	if err != nil {
		say("%v", err)
		return exitUnreadable
	}

	code := cli.OK
	var results []result
	for _, f := range files {
		if c.verbose {
			say("%s: %s", f.path, f.kind.what)
		}
		r, err := f.replay(ctx, c)
		if ctx.Err() != nil {
			say("interrupted")
			return cli.Interrupted
		}
		if err != nil {
			say("%s: %s", f.path, bare(err, f.path))
			code = exitUnreadable
			continue
		}
		if c.verbose {
			for _, s := range r.splits {
				say("%s: %s agrees with K split in %d", f.path, s.Product, s.Parts)
			}
		}
		if r.different > 0 && code == cli.OK {
			code = exitDifferent
		}
		results = append(results, r)
	}
	if err := write(stdout, c, results); err != nil {
		say("writing the result: %v", err)
		return exitUnreadable
	}
	records, leftOut := 0, 0
	for _, r := range results {
		records, leftOut = records+r.records, leftOut+r.leftOut
	}
	if records == 0 && leftOut > 0 {
		say("nothing compared: %d products of more than %g operations left out (-max-flops)", leftOut, c.maxFlops)
		return exitUnreadable
	}
	return code
}

// bare returns the text of err without the package and the file at path that it
// begins with.
func bare(err error, path string) string {
	text := strings.TrimPrefix(err.Error(), "golden: ")
	var file *os.PathError
	if errors.As(err, &file) && file.Path == path {
		return file.Err.Error()
	}
	return strings.TrimPrefix(text, path+": ")
}
