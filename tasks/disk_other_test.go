//go:build !linux

package tasks

import "errors"

func fullDiskChild(string) error  { return errors.ErrUnsupported }
func fileLimitChild(string) error { return errors.ErrUnsupported }
func hostChild(string) error      { return errors.ErrUnsupported }
