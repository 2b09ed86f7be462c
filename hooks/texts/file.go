package texts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
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

// ReadStart reads the first bytes of a regular file, at most limit. It reads nothing else: a named
// pipe would block.
func ReadStart(path string, limit int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return start(f, err, limit)
}

// ReadIn is ReadStart for a file below a folder in which others write who are not trusted: no link leads it out of
// the folder.
func ReadIn(folder, name string, limit int) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return ReadFrom(root, name, limit)
}

// ReadFrom is ReadIn for a folder that is open.
func ReadFrom(root *os.Root, name string, limit int) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return start(f, err, limit)
}

// start reads the first bytes of a file that was opened without waiting for who writes to it.
func start(f *os.File, err error, limit int) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}
