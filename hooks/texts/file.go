package texts

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge is ReadFile's error for a file above its limit.
var ErrTooLarge = errors.New("the file is too large")

// ReadFile reads a regular file of at most limit bytes.
func ReadFile(path string, limit int) ([]byte, error) {
	data, err := ReadStart(path, limit+1)
	if err == nil && len(data) > limit {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, limit)
	}
	return data, err
}

// ReadStart reads the first bytes of a regular file, at most limit. It opens nothing else: a named
// pipe would block.
func ReadStart(path string, limit int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}
