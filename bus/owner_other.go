//go:build !unix

package bus

import "os"

// ownedByUs cannot tell here. Listen refuses on such systems anyway, because
// callers cannot be identified.
func ownedByUs(os.FileInfo) bool { return true }

// modeIsPrivate has no meaning where modes do not exist.
func modeIsPrivate(os.FileMode) bool { return true }
