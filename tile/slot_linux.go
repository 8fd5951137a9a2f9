//go:build linux && !race

package tile

import "golang.org/x/sys/unix"

// hugePage is the size from which huge pages are worth asking for.
const hugePage = 2 << 20

func mapSlots(size int) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	if size >= hugePage {
		size = (size + hugePage - 1) &^ (hugePage - 1)
	}
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	if size >= hugePage {
		// Advice: a kernel without transparent huge pages refuses it, and the
		// memory serves all the same.
		_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	}
	return mem, nil
}

func unmapSlots(mem []byte) {
	if mem != nil {
		_ = unix.Munmap(mem)
	}
}
