package race

import "unsafe"

// Converts tells the detector that the goroutine writes as many elements of dst as src has, and reads those of src.
func Converts[D, S any](dst []D, src []S) {
	if Enabled && len(src) > 0 {
		Write(unsafe.Pointer(&dst[0]), len(src)*int(unsafe.Sizeof(dst[0])))
		Read(unsafe.Pointer(&src[0]), len(src)*int(unsafe.Sizeof(src[0])))
	}
}
