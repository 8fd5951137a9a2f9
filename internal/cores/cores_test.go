package cores

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestQuotaFiles(t *testing.T) {
	for dir, want := range map[string]float64{
		"v2":           1.5,  // its own
		"v2-nested":    0.5,  // of a cgroup that contains it
		"v2-max":       0,    // none
		"v2-namespace": 4,    // / is a part of the hierarchy
		"v1":           2,    // mounted where docker does without a namespace: the root is its cgroup
		"v1-nested":    0.25, // of a cgroup that contains it
		"v1-none":      0,    // -1
		"hybrid":       3,    // version 2 without the controller, and version 1 with it
		"outside":      2,    // another namespace's: what is mounted
		"broken":       0,
		"missing":      0,
	} {
		if got := quota(filepath.Join("testdata", dir)); got != want {
			t.Errorf("%s: %v, want %v", dir, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, test := range []struct {
		limit Limit
		count int
		by    string
	}{
		{Limit{2, 2, 0}, 2, "processors"},
		{Limit{2, 4, 0}, 2, "GOMAXPROCS"},
		{Limit{8, 4, 0}, 4, "processors"},
		{Limit{8, 8, 2.9}, 2, "quota of 2.9"},
		{Limit{2, 8, 1}, 1, "quota of 1"},
		{Limit{2, 8, 0.1}, 1, "quota of 0.1"},
		{Limit{2, 2, 2.5}, 2, "processors"},
		{Limit{1, 2, 0.5}, 1, "GOMAXPROCS"},
	} {
		if n, by := test.limit.Count(), test.limit.By(); n != test.count || !strings.Contains(by, test.by) {
			t.Errorf("%+v: %d by %s, want %d by %s", test.limit, n, by, test.count, test.by)
		}
	}
}

func TestCount(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, runtime.NumCPU(), runtime.NumCPU() + 3} {
		runtime.GOMAXPROCS(procs)
		want := Find().Count()
		for range 2 {
			if got := Count(); got != want || got > procs {
				t.Errorf("GOMAXPROCS %d: %d, found %d", procs, got, want)
			}
		}
	}
}

// TestRealQuota has a child that is in a cgroup of its own with a quota say what it finds.
func TestRealQuota(t *testing.T) {
	if os.Getenv("CORES_CHILD") != "" {
		fmt.Printf("quota %v\n", quota("/"))
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("cgroups are Linux's")
	}
	dir, err := newGroup(1.5)
	if err != nil {
		t.Skipf("this machine lets nobody make a cgroup with a quota: %v", err)
	}
	defer os.Remove(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The shell goes there, and becomes the child.
	cmd := exec.Command("/bin/sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$1" -test.run '^TestRealQuota$'`, dir,
		self)
	cmd.Env = append(os.Environ(), "CORES_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "quota 1.5\n") {
		t.Errorf("%v, %s", err, out)
	}
}

// newGroup makes a cgroup within that of this process, or beside it.
func newGroup(cpus float64) (string, error) {
	const period = 100000
	quota := strconv.Itoa(int(cpus * period))
	name := fmt.Sprintf("leafhopper-test-%d", os.Getpid())
	var last error = os.ErrNotExist
	for base, files := range map[string]map[string]string{
		"/sys/fs/cgroup":             {"cpu.max": quota + " " + strconv.Itoa(period)},
		"/sys/fs/cgroup/cpu":         {"cpu.cfs_quota_us": quota},
		"/sys/fs/cgroup/cpu,cpuacct": {"cpu.cfs_quota_us": quota},
	} {
		dir := filepath.Join(base, name)
		if last = os.Mkdir(dir, 0o755); last != nil {
			continue
		}
		for file, text := range files {
			f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(text)
				f.Close()
			}
			if last = err; err != nil {
				break
			}
		}
		if last == nil {
			return dir, nil
		}
		os.Remove(dir)
	}
	return "", last
}

func FuzzMounts(f *testing.F) {
	f.Add("36 35 98:0 /a\\040b /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/a b/c")
	f.Add("36 35 98:0 / / rw - cgroup x rw,cpu", "/../x")
	f.Add("\\777 - cgroup2", "")
	f.Fuzz(func(t *testing.T, mountinfo, group string) {
		for _, unified := range []bool{false, true} {
			for _, m := range cgroupMounts(mountinfo, unified) {
				if dir := m.dirOf(group); dir != m.point && !strings.HasPrefix(dir, strings.TrimSuffix(m.point, "/")) &&
					filepath.Clean(m.point) == m.point {
					t.Errorf("%+v: %q is at %q", m, group, dir)
				}
			}
		}
	})
}
