package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Load says what a run got of the machine. The JSON names are an interface.
type Load struct {
	// CPUShare is the processor time that the threads which measured peaks got, over what
	// they would have got without other processes; 0 is unknown.
	CPUShare float64 `json:"cpu_share"`
	// Steal is the part of the processors' time that the host of a virtual machine gave to
	// others during the run.
	Steal float64 `json:"steal"`
}

// Shares of the machine up to which nothing is said.
const (
	enoughShare   = 0.95
	harmlessSteal = 0.01
)

// String returns a sentence if the run did not get its cores, and "" if it did.
func (l Load) String() string {
	var lacks []string
	if l.CPUShare > 0 && l.CPUShare < enoughShare {
		lacks = append(lacks, fmt.Sprintf(
			"threads that always had work got %s of their time on a processor (getrusage)", percent(l.CPUShare)))
	}
	if l.Steal > harmlessSteal {
		lacks = append(lacks, fmt.Sprintf("the host gave %s of the processors to others (steal in /proc/stat)",
			percent(l.Steal)))
	}
	if lacks == nil {
		return ""
	}
	return "This process did not get its cores: " + strings.Join(lacks, "; ") +
		". Speeds are those of a shared machine."
}

// loadOf returns what the probes of the peaks got, and what was stolen since before.
func loadOf(peaks []*peakRun, before processorTime) (l Load) {
	var lacked, wanted time.Duration
	for _, p := range peaks {
		l, w := p.lacked()
		lacked, wanted = lacked+l, wanted+w
	}
	l.CPUShare = cpuShare(lacked, wanted)
	if d := readProcessorTime().since(before); d.all > 0 {
		l.Steal = d.stolen.Seconds() / d.all.Seconds()
	}
	return l
}

// cpuShare returns what is left of the time wanted, or 0 if nothing is known.
func cpuShare(lacked, wanted time.Duration) float64 {
	if lacked < 0 || wanted <= 0 {
		return 0
	}
	return 1 - lacked.Seconds()/wanted.Seconds()
}

// processorTime is the time that the processors of the machine have spent since it
// started, or the zero value if that is unknown.
type processorTime struct{ all, idle, stolen time.Duration }

func (t processorTime) since(before processorTime) processorTime {
	return processorTime{t.all - before.all, t.idle - before.idle, t.stolen - before.stolen}
}

// userTick is the unit of /proc/stat: USER_HZ is 100 wherever Go runs on Linux.
const userTick = time.Second / 100

// parseProcessorTime reads the first line of Linux's /proc/stat (proc_stat(5)): user,
// nice, system, idle, iowait, irq, softirq, steal, and guests, which count as user, too.
func parseProcessorTime(stat string) (t processorTime) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return t
	}
	for i, f := range fields[1:9] {
		ticks, err := strconv.ParseInt(f, 10, 52)
		if err != nil {
			return processorTime{}
		}
		d := time.Duration(ticks) * userTick
		t.all += d
		switch i {
		case 3, 4:
			t.idle += d
		case 7:
			t.stolen = d
		}
	}
	return t
}
