// Gemmbench measures matrix products of package gemm.
//
//	gemmbench [compare] [flags]   compare ring depths, sizes, types, arithmetics, epilogues, kernels, workers,
//	                              callers, batches, tiles
//	gemmbench peak [flags]        what each kernel reaches from registers alone
//	gemmbench kernels [flags]     which kernels run here, which is chosen, and why
//	gemmbench explain [flags]     how a product is computed, here or on another machine, and why
//	gemmbench neighbour [flags]   what products cost others in the same process
//	gemmbench info [flags]        the machine and the build
//	gemmbench help [command]
//
// Without arguments it compares the ring depths 1, 2, 3, 4, 6 and 8 on a bf16 product of 1024³, or smaller where that
// takes long, that uses every core, in 40 short rounds; verifies every result; and draws what the workers did in a
// product of each depth. "gemmbench help compare" lists the flags. Where workers or callers vary, the report says how
// the speed scales with them.
//
// An interrupt ends it with the report of the rounds that are whole. The exit status is 0 if all went well, 1 if a
// result failed its verification or something could not be done, 2 for bad arguments or a result that cannot be
// written, and 130 after an interrupt. How time, peak and errors are measured is described in package bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"example.com/leafhopper/internal/cli"
)

func main() { cli.Main(run) }

// errVerification says that a result is wrong; the report has said more.
var errVerification = errors.New("a result failed its verification")

// A command is a subcommand. Setup declares its flags on fs and returns what to
// do after they are parsed.
type command struct {
	name, summary string
	setup         func(fs *flag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error
	operand       string // the flag whose value an argument that is no flag is, or none
}

var commands = []command{
	{"compare", "compare ring depths, sizes, types, arithmetics, epilogues, kernels, workers, callers, batches, " +
		"tiles (the default)", setupCompare, ""},
	{"peak", "measure what each kernel reaches from registers alone", setupPeak, ""},
	{"kernels", "list the kernels: which run here, which is chosen, and why", setupKernels, ""},
	{"explain", "say how a product is computed, here or on another machine, and why not otherwise",
		setupExplain, "size"},
	{"neighbour", "measure what products cost others in the same process: sleepers, idle cores, other callers",
		setupNeighbour, ""},
	{"info", "describe the machine and the build", setupInfo, ""},
}

// commandNames names all commands.
func commandNames() string {
	var names strings.Builder
	for _, c := range commands {
		names.WriteString(c.name + ", ")
	}
	return names.String() + "help"
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return status(dispatch(ctx, args, stdout, stderr), stderr)
}

// status tells err on stderr, and returns the exit status for it.
func status(err error, stderr io.Writer) int {
	if err != nil {
		err = bare{err}
	}
	return cli.Status("gemmbench", err, stderr)
}

// A bare error is told without packages.
type bare struct{ error }

func (b bare) Error() string { return packages.ReplaceAllString(b.error.Error(), "$1") }
func (b bare) Unwrap() error { return b.error }

// packages are the names with which errors of this module begin: to a user of the
// command one name, its own, is enough.
var packages = regexp.MustCompile(`(?m)(^|: )(?:(?:bench|gemm|asm): )+`)

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := "compare"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if len(args) > 0 {
		switch args[0] {
		case "-h", "-help", "--help":
			name, args = "help", args[1:]
		}
	}
	if name == "help" {
		return help(args, stdout)
	}
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, args, stdout, stderr)
		}
	}
	return cli.Usagef("unknown command %q; commands: %s", name, commandNames())
}

// run does what args ask of c.
func (c command) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	do := c.setup(fs)
	help, err := c.parse(fs, args)
	switch {
	case err != nil:
		return err
	case help:
		return c.help(stdout)
	}
	return do(ctx, stdout, stderr)
}

// parse sets the flags of fs to what args say, and reports whether help is asked for. An argument that is no flag is
// the value of that which is c's operand, if it has one. What follows -h must be right all the same.
func (c command) parse(fs *flag.FlagSet, args []string) (help bool, err error) {
	given, operand := false, ""
	for rest := attach(fs, args); ; {
		if err = fs.Parse(rest); errors.Is(err, flag.ErrHelp) {
			help, rest = true, fs.Args()
			continue
		}
		// A second one is an error, and so is what is meant to be the value of a switch.
		if err != nil || c.operand == "" || given || fs.NArg() == 0 || fs.Arg(0) == "true" || fs.Arg(0) == "false" {
			break
		}
		given, operand, rest = true, fs.Arg(0), fs.Args()[1:]
	}
	if given && err == nil {
		fs.Visit(func(f *flag.Flag) {
			if f.Name == c.operand {
				err = fmt.Errorf("-%s: %q is named beside %q", f.Name, f.Value, operand)
			}
		})
		if err == nil {
			err = fs.Set(c.operand, operand)
		}
	}
	switch {
	case err != nil:
		return false, cli.Usagef("%s: %v (see gemmbench help %s)", c.name, err, c.name)
	case fs.NArg() > 0:
		return false, cli.Usagef("%s: unexpected argument %q%s (see gemmbench help %s)",
			c.name, fs.Arg(0), behindSwitch(fs, args), c.name)
	}
	fs.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" && err == nil {
			err = cli.Usagef("%s: -%s: the value is empty; leave the flag out for what it is by default", c.name, f.Name)
		}
	})
	return help, err
}

// behindSwitch says how to write a switch that the first argument that is no flag
// follows: its value needs an equals sign.
func behindSwitch(fs *flag.FlagSet, args []string) string {
	at := len(args) - fs.NArg()
	if at < 1 || !strings.HasPrefix(args[at-1], "-") {
		return ""
	}
	name := strings.TrimLeft(args[at-1], "-")
	if f := fs.Lookup(name); f == nil || f.DefValue != "true" && f.DefValue != "false" {
		return ""
	}
	return fmt.Sprintf(" behind -%s; write -%[1]s=true or -%[1]s=false", name)
}

func (c command) help(w io.Writer) error {
	var text strings.Builder
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(&text)
	c.setup(fs)
	operand := ""
	if c.operand != "" {
		operand = " [" + c.operand + "]"
	}
	fmt.Fprintf(&text, "Usage: gemmbench %s%s [flags]\n\n%s.\n\nFlags:\n",
		c.name, operand, strings.ToUpper(c.summary[:1])+c.summary[1:])
	fs.PrintDefaults()
	return writeHelp(w, text.String())
}

func writeHelp(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return cli.Usagef("help: writing the result: %w", err)
	}
	return nil
}

func help(args []string, w io.Writer) error {
	if len(args) > 1 {
		return cli.Usagef("help: unexpected argument %q", args[1])
	}
	if len(args) == 1 && !slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		for _, c := range commands {
			if c.name == args[0] {
				return c.help(w)
			}
		}
		return cli.Usagef("help: unknown command %q; commands: %s", args[0], commandNames())
	}
	var text strings.Builder
	text.WriteString("Gemmbench measures matrix products.\n\nUsage:\n\n")
	for _, c := range commands {
		fmt.Fprintf(&text, "  gemmbench %-9s [flags]   %s\n", c.name, c.summary)
	}
	fmt.Fprintf(&text, "  gemmbench %-9s [command] %s\n", "help", "this text, or the flags of a command")
	text.WriteString(`
Without arguments it compares ring depths on a bf16 product on every core in 40
rounds, verifies every result, and draws what each worker did. An interrupt ends it with
the rounds that are whole. "gemmbench help COMMAND" lists the flags of a command.

Where workers or callers vary, the column "scaling" is the ratio of a variant's
GFLOP/s to those of the same variant with 1 worker and 1 caller or, where that was
not measured, with either: 1.97x is nearly twice as fast. Where some variants have
scales, a bias or an activation, "vs plain" is the ratio of the time without to that
with them, of the same round: 0.97x is what costs 3 %. "vs calls" of a batch is the ratio
of the time of as many calls in a row to that of the one call: 1.30x saves 23 %.

Exit status: 0 all went well, 1 a result failed its verification or something could
not be done, 2 the arguments are bad or the result cannot be written, 130 after an
interrupt.

Examples:

  gemmbench -size 256,1024:4096:1024 -depth 1,2,4 -workers 1,0
  gemmbench -size 512x11008x4096 -dtype bf16,f32 -trans NN,NT -format json -o results.json
  gemmbench -m 1,8,32 -n 4096 -k 4096 -trans NT -prepacked false,true -depth 0
  gemmbench -size 1024 -dtype f32,f64 -workers 1,0 -depth 0
  gemmbench -size 1024 -arith native,hopper -workers 1,0 -depth 2
  gemmbench -size 128x3072x768 -dtype f32 -bias false,true -activation identity,gelu -depth 0 -count 40
  gemmbench -size 1024 -arith hopper -dtype bf16,e4m3,e5m2 -prepacked false,true -depth 2
  gemmbench -size 64,256,8x1024x1024 -callers 1,2,4,8,16,32,64 -depth 0
  gemmbench -size 64,256 -dtype f32 -batch 1,8,64 -depth 0
  gemmbench -depth 1,3 -trace t && go tool trace t    # and t.json for ui.perfetto.dev
  gemmbench -size 2048 -count 10 -format benchfmt -o new.txt && benchstat -col /depth new.txt
  gemmbench -size 64,256,1024,2048 -workers 1,2 -depth 0 -format svg -o plot.svg
  gemmbench explain -size 16x1024x1024 -workers 2 -machine zen4
  gemmbench explain -size 128 -batch 64
  gemmbench neighbour -part sleeper -size 128,2048 -duration 5s
`)
	return writeHelp(w, text.String())
}
