package bench

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/asm"
)

// calls returns the ends of calls of 50 µs that run in the given intervals, in ms.
func calls(intervals ...[2]float64) (ends []time.Duration) {
	const call = 50 * time.Microsecond
	ms := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
	ends = append(ends, ms(intervals[0][0]))
	left := call
	for _, in := range intervals {
		for at := ms(in[0]); at < ms(in[1]); {
			step := min(left, ms(in[1])-at)
			at += step
			if left -= step; left == 0 {
				ends = append(ends, at)
				left = call
			}
		}
	}
	return ends
}

// TestBestSlot has threads that make a call's flops in 50 µs while they run: no
// interruption may make them look faster, nor, as long as they share one whole slot, slower.
func TestBestSlot(t *testing.T) {
	const flops = 5e4
	const one = flops / 50e-6
	ms := time.Millisecond
	for name, test := range map[string]struct {
		threads [][]time.Duration
		want    float64 // of one thread's speed, and how many ran
	}{
		"alone":           {[][]time.Duration{calls([2]float64{0, 25})}, 1},
		"two":             {[][]time.Duration{calls([2]float64{0, 25}), calls([2]float64{0.3, 25.2})}, 2},
		"one begins late": {[][]time.Duration{calls([2]float64{0, 25}), calls([2]float64{20.9, 25})}, 2},
		"in turn": {[][]time.Duration{calls([2]float64{0, 4}, [2]float64{8, 12}, [2]float64{16, 20}),
			calls([2]float64{4, 8}, [2]float64{12, 16})}, 1},
		"together once": {[][]time.Duration{calls([2]float64{0, 4}, [2]float64{9, 13.1}),
			calls([2]float64{4, 8}, [2]float64{11.9, 16})}, 2},
		"interrupted in every slot": {[][]time.Duration{calls([2]float64{0, 0.6}, [2]float64{1, 1.6},
			[2]float64{2, 2.6}, [2]float64{3, 3.6})}, 0.6},
		"interrupted inside calls": {[][]time.Duration{calls([2]float64{0, 1.52}, [2]float64{3, 3.51},
			[2]float64{4, 4.49})}, 1},
		"ends after the measurement": {[][]time.Duration{calls([2]float64{24.5, 27})}, 0.5},
		"nothing":                    {[][]time.Duration{{0}, {0}}, 0},
	} {
		perSecond, ran := bestSlot(test.threads, 25*ms, flops)
		if math.Abs(ran-perSecond/one) > 1e-6 {
			t.Errorf("%s: %.4f threads of the same speed make %.4f times as much", name, ran, perSecond/one)
		}
		got := perSecond / one
		if got > test.want*1.0001 || got < test.want*0.9 {
			t.Errorf("%s: %.4f of the speed of a thread, want %.4f and no more", name, got, test.want)
		}
	}
	if got, ran := bestSlot([][]time.Duration{calls([2]float64{0, 0.5})}, ms/2, flops); math.Abs(got/one-1) > 1e-4 ||
		math.Abs(ran-1) > 1e-4 {
		t.Errorf("half a slot: %v of %v", got, ran)
	}
}

func TestCalibrate(t *testing.T) {
	if n := calibrate(func(turns int) { time.Sleep(time.Duration(turns) * 5 * time.Microsecond) }); n > 8 {
		t.Errorf("%d turns of at least 5 µs for 40 µs", n)
	}
	if n := calibrate(func(int) {}); n != 1<<20 {
		t.Errorf("%d turns of nothing", n)
	}
}

// TestChain checks chain against its definition.
func TestChain(t *testing.T) {
	x := uintptr(7)
	for range 3 * chainCycles / 2 {
		x += 11
		x ^= 13
	}
	if got := chain(3, 7, 11, 13); got != x {
		t.Errorf("chain ends at %d, want %d", got, x)
	}
}

func TestProcessorTime(t *testing.T) {
	s := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	for stat, want := range map[string]processorTime{
		"cpu  100 20 30 400 50 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n": {s(6.93), s(4.5), s(0.8)},
		"cpu 1 2 3 4 5 6 7 8": {s(0.36), s(0.09), s(0.08)},
		"cpu 1 2 3 4 5 6 7":   {}, // before Linux 2.6.11
		"cpu 1 2 3 4 x 6 7 8": {},
		"":                    {},
	} {
		if got := parseProcessorTime(stat); got != want {
			t.Errorf("%q: %v, want %v", stat, got, want)
		}
	}
}

func TestLacked(t *testing.T) {
	ms := time.Millisecond
	for name, test := range map[string]struct {
		probed
		share float64
	}{
		"all":                    {probed{got: 50 * ms, wanted: 50 * ms, others: 1 * ms}, 1},
		"half":                   {probed{got: 50 * ms, wanted: 100 * ms, others: 100 * ms}, 0.5},
		"two threads on a core":  {probed{got: 25 * ms, wanted: 50 * ms, others: 1 * ms}, 0.98},
		"ticks that come late":   {probed{got: 45 * ms, wanted: 50 * ms, others: -3 * ms}, 1},
		"no clocks of threads":   {probed{wanted: 50 * ms, others: 50 * ms}, 0},
		"nothing was measured":   {probed{}, 0},
		"a clock that runs fast": {probed{got: 51 * ms, wanted: 50 * ms, others: 5 * ms}, 1},
	} {
		if got := cpuShare(test.lacked()); math.Abs(got-test.share) > 1e-9 {
			t.Errorf("%s: a share of %v, want %v", name, got, test.share)
		}
	}
}

// spinEnv makes the test binary spin until it is killed.
const spinEnv = "LEAFHOPPER_TEST_SPIN"

func TestMain(m *testing.M) {
	if os.Getenv(spinEnv) != "" {
		spin(func() bool { return false })
	}
	os.Exit(m.Run())
}

// spin keeps a core busy until stop.
func spin(stop func() bool) {
	for !stop() {
		chainEnd.Store(chain(1000, 1, 3, 5))
	}
}

// TestBusyMachine has a spinning process beside every core, and measures as many
// spinning goroutines, too: no product may beat the peak, and the report must say
// that the process did not get its cores.
func TestBusyMachine(t *testing.T) {
	for range runtime.GOMAXPROCS(0) {
		spinner := exec.Command(os.Args[0])
		spinner.Env = append(os.Environ(), spinEnv+"=1", "GOMAXPROCS=1")
		if err := spinner.Start(); err != nil {
			t.Skipf("cannot start another process: %v", err)
		}
		defer spinner.Wait()
		defer spinner.Process.Kill()
	}
	for _, goroutines := range []int{0, runtime.GOMAXPROCS(0)} {
		var (
			stop     atomic.Bool
			spinners sync.WaitGroup
		)
		for range goroutines {
			spinners.Go(func() { spin(stop.Load) })
		}
		one := square(256, asm.F32, 0)
		one.Workers = 1
		r := &Runner{Count: 15, MinTime: 5 * time.Millisecond}
		rep, err := r.Compare(t.Context(), []Variant{square(256, asm.F32, 0), one, square(256, asm.F32, 2)})
		stop.Store(true)
		spinners.Wait()
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range rep.Results {
			if res.PeakFraction > impossible || !res.Verified {
				t.Errorf("beside %d goroutines: %.3f of the peak with %d workers, depth %d: %v\n%+v", goroutines,
					res.PeakFraction, res.Workers, res.Depth, rep.Peak, rep.Load)
			}
		}
		if runtime.GOOS == "linux" && rep.Load.CPUShare > 0.85 {
			t.Errorf("beside as many processes as cores, a share of %v", rep.Load.CPUShare)
		}
		t.Logf("%v, load %+v, fractions %.3f %.3f %.3f", rep.Peak, rep.Load,
			rep.Results[0].PeakFraction, rep.Results[1].PeakFraction, rep.Results[2].PeakFraction)
	}
}
