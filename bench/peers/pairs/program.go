package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"example.com/leafhopper/bench/peers/measured"
)

// A program is one of the two that are compared.
type program struct {
	command []string
	cmd     *exec.Cmd // nil before it starts
	lines   io.WriteCloser
	out     *bufio.Scanner
	waited  bool
}

func (p *program) start(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	lines, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { out.Close() }) // which programs that it has started may hold
	p.cmd, p.lines, p.out = cmd, lines, bufio.NewScanner(out)
	return nil
}

// wait waits for the program to end, which has no input any more, and kills it if it does not. It
// returns an error if that is not how a program that has measured all ends.
func (p *program) wait() error {
	p.waited = true
	p.lines.Close()
	late := time.AfterFunc(5*time.Second, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.command[0], err)
	}
	return nil
}

// stop ends the program, if nobody has waited for it.
func (p *program) stop() {
	if p.cmd == nil || p.waited {
		return
	}
	p.wait() // there is an error already
}

// pin binds all threads of the program to processors, a list with commas. One that ends meanwhile fails taskset.
func (p *program) pin(processors string) error {
	var out []byte
	var err error
	for range 5 {
		pid := strconv.Itoa(p.cmd.Process.Pid)
		out, err = exec.Command("taskset", "-a", "-p", "-c", processors, pid).CombinedOutput()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("-pin: taskset: %w: %s", err, strings.TrimSpace(string(out)))
}

// draw draws n of the processors that this process may use, a list with commas.
func draw(n int) (string, error) {
	if n == 0 {
		return "", nil
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", fmt.Errorf("-pin: %w", err)
	}
	all, err := allowed(string(status))
	switch {
	case err != nil:
		return "", fmt.Errorf("-pin: %w", err)
	case len(all) < n:
		return "", fmt.Errorf("-pin: %d processors, but there are %d", n, len(all))
	}
	list := make([]string, n)
	for i, at := range rand.Perm(len(all))[:n] {
		list[i] = strconv.Itoa(all[at])
	}
	return strings.Join(list, ","), nil
}

// allowed returns the processors in the field Cpus_allowed_list of a process's status: numbers and ranges.
func allowed(status string) (all []int, err error) {
	const field = "Cpus_allowed_list:"
	_, list, found := strings.Cut(status, field)
	if !found {
		return nil, fmt.Errorf("there is no %s", field)
	}
	list, _, _ = strings.Cut(list, "\n")
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, err
		}
		to, err := strconv.Atoi(last)
		if err != nil {
			return nil, err
		}
		for ; from <= to; from++ {
			all = append(all, from)
		}
	}
	return all, nil
}

// sample has the program take a sample, or returns io.EOF if it has no other.
func (p *program) sample() (l measured.Line, err error) {
	if _, err := io.WriteString(p.lines, "\n"); err != nil {
		return l, io.EOF // it has ended
	}
	if !p.out.Scan() {
		if err := p.out.Err(); err != nil {
			return l, fmt.Errorf("%s: %w", p.command[0], err)
		}
		return l, io.EOF
	}
	if l, err = measured.Parse(p.out.Text()); err != nil {
		return l, fmt.Errorf("%s prints %q: %w", p.command[0], p.out.Text(), err)
	}
	return l, nil
}
