package texts

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// Below returns a path relative to a folder, with slashes; false: it is neither the folder nor in it.
func Below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// Within reports whether a path is a folder, or in it.
func Within(dir, path string) bool {
	_, ok := Below(dir, path)
	return ok
}

// Absolute returns a path as an absolute one; a relative path starts at dir.
func Absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Digest returns the SHA-256 of data in hexadecimal digits.
func Digest[T ~string | ~[]byte](data T) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}
