//go:build !unix

package bus

import "os"

// ownedByUs reports true, because it cannot tell. Listen fails on such systems anyway,
// because callers cannot be identified.
func ownedByUs(os.FileInfo) bool { return true }

// modeIsPrivate reports true, because there are no modes.
func modeIsPrivate(os.FileMode) bool { return true }
