//go:build !linux

package tools

import "os"

// openDir opens a folder.
func openDir(path string) (*os.Root, error) { return os.OpenRoot(path) }
