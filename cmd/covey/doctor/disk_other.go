//go:build !unix

package doctor

import "errors"

// diskFree is not supported here.
func diskFree(string) (int64, error) { return 0, errors.ErrUnsupported }
