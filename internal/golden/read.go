package golden

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Read returns the contents of the file at path, decompressed if its name ends
// in ".gz".
func Read(path string) ([]byte, error) {
	if strings.HasSuffix(path, ".gz") {
		return ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("golden: %s: more than %d bytes", path, maxFile)
	}
	return data, nil
}
