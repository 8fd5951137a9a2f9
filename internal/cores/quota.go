package cores

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// quota returns how many processors' time the cgroups of this process allow it, 0 for no
// bound: the least that its own allows or one that contains it. Both versions count:
// cpu.max of version 2 is "quota period" in microseconds or "max period", and of version
// 1 cpu.cfs_quota_us, -1 for none, is beside cpu.cfs_period_us. Files that cannot be read
// bound nothing. The root of the file system is / but for tests.
//
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
func quota(root string) float64 {
	membership, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return 0
	}
	least := 0.0
	for line := range strings.Lines(string(membership)) {
		// hierarchy:controllers:path, of version 2 0::path
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		read := quota2
		switch {
		case f[0] == "0" && f[1] == "":
		case slices.Contains(strings.Split(f[1], ","), "cpu"):
			read = quota1
		default:
			continue
		}
		for _, m := range cgroupMounts(string(mounts), f[1] == "") {
			for dir := m.dirOf(f[2]); ; dir = path.Dir(dir) {
				if q := read(filepath.Join(root, dir)); q > 0 && (least == 0 || q < least) {
					least = q
				}
				if dir == m.point || dir == "/" {
					break
				}
			}
		}
	}
	return least
}

// A mount is a hierarchy of cgroups in the file system: from root on, at point.
type mount struct{ root, point string }

// dirOf returns the directory of a cgroup. One outside of what is mounted, as a process of
// another namespace has, cannot be seen: the best known is then what is mounted.
func (m mount) dirOf(group string) string {
	rest, ok := strings.CutPrefix(path.Clean(group), strings.TrimSuffix(m.root, "/"))
	if !ok || rest != "" && rest[0] != '/' || strings.HasPrefix(group, "/..") {
		return m.point
	}
	return path.Join(m.point, rest)
}

// cgroupMounts returns where the hierarchies of version 2, or that of version 1 with the
// cpu controller, are mounted. A line of mountinfo is
//
//	36 35 98:0 /root /point rw,noatime shared:1 - cgroup source rw,cpu,cpuacct
//
// with any number of fields before the dash, and \040 for a space in a path.
func cgroupMounts(mountinfo string, unified bool) (all []mount) {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		f, of := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(of) < 1 {
			continue
		}
		switch {
		case unified && of[0] == "cgroup2":
		case !unified && of[0] == "cgroup" && len(of) >= 3 && slices.Contains(strings.Split(of[2], ","), "cpu"):
		default:
			continue
		}
		all = append(all, mount{unescape(f[3]), unescape(f[4])})
	}
	return all
}

// unescape replaces what mountinfo escapes, a backslash and three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func quota2(dir string) float64 {
	f := strings.Fields(read(dir, "cpu.max"))
	if len(f) != 2 {
		return 0
	}
	return ratio(f[0], f[1])
}

func quota1(dir string) float64 {
	return ratio(read(dir, "cpu.cfs_quota_us"), read(dir, "cpu.cfs_period_us"))
}

// ratio returns quota/period, or 0 if one of them is no positive number, as "max" and -1.
func ratio(quota, period string) float64 {
	q, err := strconv.ParseUint(quota, 10, 63)
	if err != nil {
		return 0
	}
	p, err := strconv.ParseUint(period, 10, 63)
	if err != nil || p == 0 {
		return 0
	}
	return float64(q) / float64(p)
}

func read(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
