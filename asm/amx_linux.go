//go:build linux && amd64 && !purego

package asm

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// requestTiles asks Linux, once, to let this process use the tile registers: their 8 KB are not part of a thread's
// state, nor of the frame of a signal, until then (Documentation/arch/x86/xstate.rst of the kernel). A signal frame
// of about 11 KB fits the 32 KB on which Go handles signals.
var requestTiles = sync.OnceValue(func() error {
	const (
		reqXCompPerm = 0x1023 // ARCH_REQ_XCOMP_PERM
		xTileData    = 18     // XFEATURE_XTILEDATA
	)
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, reqXCompPerm, xTileData, 0); errno != 0 {
		return fmt.Errorf("arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): %w", errno)
	}
	return nil
})
