//go:build !linux && !darwin

package owned

import (
	"io/fs"
	"time"
)

// kernelSays knows no file's number here, and takes the time that programs can set.
func kernelSays(info fs.FileInfo) (id uint64, changed time.Time) { return 0, info.ModTime() }
