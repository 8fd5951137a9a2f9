//go:build linux && amd64 && !purego

package asm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The AMX kernels are tested without AMX too: their instructions are undefined there, and a debugger that sees them
// fault can do what they would have done. The debugger is the test, the process that it runs is the test again.

// emulatedEnv is set in the process whose instructions of AMX are emulated.
const emulatedEnv = "LEAFHOPPER_TEST_EMULATED_AMX"

// emulationLimit is a multiple of the seconds that it takes, for systems on which a debugger waits in vain.
const emulationLimit = 2 * time.Minute

// TestMain takes AMX for granted where it is emulated.
func TestMain(m *testing.M) {
	if os.Getenv(emulatedEnv) != "" {
		c := machine()
		has := c.has
		c.has = func(f string) bool { return f == "AMXTILE" || f == "AMXBF16" || has(f) }
		c.tiles = nil
		kernels = register(c)
		best = [...][numTypes]*Kernel{Native: choose(kernels, Native), Hopper: choose(kernels, Hopper)}
	}
	os.Exit(m.Run())
}

// TestEmulatedAMX runs tests of the AMX kernels on a processor without AMX.
func TestEmulatedAMX(t *testing.T) {
	switch c := machine(); {
	case os.Getenv(emulatedEnv) != "":
		t.Skip("emulated already")
	case c.lacks(isaAMX) == nil:
		t.Skip("this processor has AMX")
	case c.lacks(isaAVX512BF16) != nil:
		t.Skip("the kernels need AVX512-BF16 besides")
	case raceEnabled:
		t.Skip("the emulated process runs without")
	}
	out, executed, err := emulateAMX("-test.short", "-test.v",
		"-test.run=^(TestDotTileHardware|TestRows|TestStripPast|TestStripRound|TestStripRowsRound|"+
			"TestConformance|TestCutK|TestSweep)$/^amx$")
	if err != nil {
		t.Skip("no emulation here: ", err)
	}
	for _, want := range []string{"\nPASS\n", "--- PASS: TestDotTileHardware", "--- PASS: TestRows/amx/bf16",
		"--- PASS: TestStripPast/amx", "--- PASS: TestStripRound/amx", "--- PASS: TestStripRowsRound/amx",
		"--- PASS: TestConformance/amx", "--- PASS: TestSweep/amx"} {
		if !strings.Contains(out, want) {
			t.Fatalf("emulated, no %q in\n%s", want, out)
		}
	}
	if executed < 10_000 {
		t.Errorf("only %d instructions were emulated", executed)
	}
}

// emulateAMX runs this test binary with arguments, and returns its output and how many instructions were emulated.
// The error says that it could not be run.
func emulateAMX(args ...string) (string, int, error) {
	runtime.LockOSThread() // which traces the process
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	if err != nil {
		return "", 0, err
	}
	output := make(chan string)
	go func() {
		data, _ := io.ReadAll(r)
		output <- string(data)
	}()
	e := emulator{tiles: map[int]*tileRegisters{}}
	e.process, err = syscall.ForkExec("/proc/self/exe", append([]string{os.Args[0]}, args...), &syscall.ProcAttr{
		Env: append(os.Environ(), emulatedEnv+"=1"), Files: []uintptr{0, w.Fd(), w.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	w.Close()
	if err == nil {
		var late atomic.Bool
		watch := time.AfterFunc(emulationLimit, func() {
			late.Store(true)
			unix.Kill(-e.process, unix.SIGKILL)
		})
		err = e.run()
		watch.Stop()
		unix.Kill(-e.process, unix.SIGKILL)
		if late.Load() {
			err = fmt.Errorf("it took more than %v", emulationLimit)
		}
	}
	out := <-output
	r.Close()
	return out, e.executed, err
}

// tileRegisters are those of a thread.
type tileRegisters [8][16][64]byte

// An emulator traces a process. Threads have tile registers from LDTILECFG to TILERELEASE.
type emulator struct {
	process  int
	executed int
	tiles    map[int]*tileRegisters
	blocked  error // why the memory of the process cannot be read
}

// run traces the process, stopped at its first instruction, until it ends.
func (e *emulator) run() error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(e.process, &status, 0, nil); err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("the traced process has ended: %#x", status)
	}
	if err := unix.PtraceSetOptions(e.process, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	thread, signal := e.process, 0
	for {
		if err := unix.PtraceCont(thread, signal); err != nil && err != unix.ESRCH {
			return err
		}
		var err error
		for {
			if thread, err = unix.Wait4(-e.process, &status, unix.WALL, nil); err != unix.EINTR {
				break
			}
		}
		switch {
		case err != nil:
			return err
		case status.Exited() || status.Signaled():
			delete(e.tiles, thread)
			if thread == e.process {
				return e.blocked
			}
			signal = 0
			continue // PtraceCont of a thread that is gone is ESRCH
		}
		switch signal = int(status.StopSignal()); unix.Signal(signal) {
		case unix.SIGILL:
			if e.execute(thread) {
				e.executed++
				signal = 0
			}
		case unix.SIGSTOP, unix.SIGTRAP:
			signal = 0 // a new thread
		}
	}
}

// execute does what the instruction at which a thread stands would have done, and reports whether it is one of AMX
// that does not fault. See asm/gen for the encoding.
func (e *emulator) execute(thread int) bool {
	var regs unix.PtraceRegs
	var code [16]byte
	if unix.PtraceGetRegs(thread, &regs) != nil {
		return false
	}
	if !transfer(thread, false, [][]byte{code[:]}, uintptr(regs.Rip), 0) {
		e.blocked = errors.New("the instruction that faults cannot be read")
		return false
	}
	if code[0] != 0xc4 || code[1]&31 != 2 {
		return false
	}
	general := [16]uint64{regs.Rax, regs.Rcx, regs.Rdx, regs.Rbx, regs.Rsp, regs.Rbp, regs.Rsi, regs.Rdi, regs.R8,
		regs.R9, regs.R10, regs.R11, regs.R12, regs.R13, regs.R14, regs.R15}
	x, b, vvvv := ^code[1]>>6&1, ^code[1]>>5&1, ^code[2]>>3&15
	op, mod, reg, rm := uint16(code[3])<<8|uint16(code[2]&3), code[4]>>6, code[4]>>3&7, code[4]&7
	tiles, size := e.tiles[thread], 5
	switch {
	case op == 0x4900 && code[4] == 0xc0: // TILERELEASE
		delete(e.tiles, thread)
	case op == 0x4900 && mod == 0: // LDTILECFG
		var config [64]byte
		if !transfer(thread, false, [][]byte{config[:]}, uintptr(general[rm|b<<3]), 0) || config[0] != 1 {
			return false
		}
		for tile := range 8 {
			if binary.LittleEndian.Uint16(config[16+2*tile:]) != 64 || config[48+tile] != 16 {
				return false
			}
		}
		e.tiles[thread] = new(tileRegisters)
	case tiles == nil:
		return false
	case op == 0x4903 && mod == 3: // TILEZERO
		tiles[reg] = [16][64]byte{}
	case op == 0x5c02 && mod == 3: // TDPBF16PS
		tiles.multiply(reg, rm, vvvv)
	case op>>8 == 0x4b && op != 0x4b00 && mod != 3 && rm == 4: // TILELOADD, TILELOADDT1, TILESTORED
		sib, disp := code[5], int64(0)
		switch size = 6; mod {
		case 1:
			disp, size = int64(int8(code[6])), 7
		case 2:
			disp, size = int64(int32(binary.LittleEndian.Uint32(code[6:]))), 10
		}
		var rows [][]byte
		for i := range tiles[reg] {
			rows = append(rows, tiles[reg][i][:])
		}
		at := general[sib&7|b<<3] + uint64(disp)
		if !transfer(thread, op == 0x4b02, rows, uintptr(at), uintptr(general[sib>>3&7|x<<3]<<(sib>>6))) {
			return false
		}
	default:
		return false
	}
	regs.Rip += uint64(size)
	return unix.PtraceSetRegs(thread, &regs) == nil
}

// multiply is TDPBF16PS.
func (t *tileRegisters) multiply(dst, a, b byte) {
	var rows, columns [16][amxStep]uint32
	for i := range 16 {
		for w := range amxStep {
			rows[i][w] = binary.LittleEndian.Uint32(t[a][i][4*w:])
			columns[i][w] = binary.LittleEndian.Uint32(t[b][w][4*i:])
		}
	}
	for i := range 16 {
		for j := range 16 {
			element := t[dst][i][4*j:]
			acc := math.Float32frombits(binary.LittleEndian.Uint32(element))
			binary.LittleEndian.PutUint32(element, math.Float32bits(dotTile(acc, &rows[i], &columns[j])))
		}
	}
}

// transfer reads rows from the memory of a process, stride bytes apart from an address on, or writes them, and
// reports whether all of them are there.
func transfer(process int, write bool, rows [][]byte, at, stride uintptr) bool {
	var local []unix.Iovec
	var remote []unix.RemoteIovec
	size := 0
	for i, row := range rows {
		local = append(local, unix.Iovec{Base: unsafe.SliceData(row), Len: uint64(len(row))})
		remote = append(remote, unix.RemoteIovec{Base: at + uintptr(i)*stride, Len: len(row)})
		size += len(row)
	}
	move := unix.ProcessVMReadv
	if write {
		move = unix.ProcessVMWritev
	}
	n, err := move(process, local, remote, 0)
	return err == nil && n == size
}
