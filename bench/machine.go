package bench

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/cores"
	"github.com/klauspost/cpuid/v2"
)

// A Machine says what a report was measured on, and with what build. The JSON
// names are an interface. Sizes are in bytes; 0 and "" mean unknown.
type Machine struct {
	CPU        string   `json:"cpu"`
	Cores      int      `json:"cores"`   // physical
	Threads    int      `json:"threads"` // logical processors that Go sees
	GOMAXPROCS int      `json:"gomaxprocs"`
	CPUQuota   float64  `json:"cpu_quota,omitempty"` // of the cgroup, in processors
	Workers    int      `json:"default_workers"`     // of a call that does not say
	WorkersBy  string   `json:"default_workers_by"`  // what bounds them
	L1D        int      `json:"l1d_bytes"`
	L2         int      `json:"l2_bytes"`
	L3         int      `json:"l3_bytes"`
	Memory     int      `json:"memory_bytes"`
	OS         string   `json:"os"` // with the kernel's release where it is known
	GOOS       string   `json:"goos"`
	GOARCH     string   `json:"goarch"`
	Go         string   `json:"go"`
	Kernels    []string `json:"kernels"`              // that run here, by preference: native, then Hopper's
	Pinned     string   `json:"kernel_env,omitempty"` // LEAFHOPPER_KERNEL
	Module     string   `json:"module"`
	Version    string   `json:"version"`
	Commit     string   `json:"commit"`
	Modified   bool     `json:"modified"` // built from a changed working tree
}

// ThisMachine describes the machine and the running build.
func ThisMachine() Machine {
	c := &cpuid.CPU
	m := Machine{
		CPU: strings.TrimSpace(c.BrandName), Cores: physicalCores(c.PhysicalCores, runtime.NumCPU()),
		Threads: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		L1D: max(0, c.Cache.L1D), L2: max(0, c.Cache.L2), L3: max(0, c.Cache.L3),
		Memory: meminfo("MemTotal:"),
		OS:     strings.TrimSpace(runtime.GOOS + " " + osRelease()), GOOS: runtime.GOOS, GOARCH: runtime.GOARCH,
		Go:      runtime.Version(),
		Kernels: []string{}, Pinned: os.Getenv(asm.KernelEnv),
	}
	limit := cores.Find()
	m.CPUQuota, m.Workers, m.WorkersBy = limit.Quota, limit.Count(), limit.By()
	for _, k := range asm.Kernels() {
		if k.Supported() == nil {
			m.Kernels = append(m.Kernels, k.Name)
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		m.Module, m.Version = info.Main.Path, info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				m.Commit = s.Value
			case "vcs.modified":
				m.Modified = s.Value == "true"
			}
		}
	}
	return m
}

// physicalCores returns the cores that the processor has counted, or 0 where the process has fewer threads: under a
// hypervisor or a mask they may be those of the whole host.
func physicalCores(counted, threads int) int {
	if counted > threads {
		return 0
	}
	return max(0, counted)
}

// lastLevelCache returns the size of the largest cache, or a guess of 32 MiB.
func lastLevelCache() int {
	c := &cpuid.CPU.Cache
	if n := max(c.L1D, c.L2, c.L3); n > 0 {
		return n
	}
	return 32 << 20
}

// availableMemory returns the bytes that can be allocated without swapping, or
// 0 where the system does not say.
func availableMemory() int { return meminfo("MemAvailable:") }

// meminfo returns a line of Linux's /proc/meminfo in bytes, or 0.
func meminfo(key string) int {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if f := bytes.Fields(line); len(f) >= 2 && string(f[0]) == key {
			kib, _ := strconv.Atoi(string(f[1]))
			return min(kib, math.MaxInt>>10) << 10
		}
	}
	return 0
}

// osRelease returns the release of the Linux kernel, or "".
func osRelease() string {
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
}
