//go:build !linux

package cli

// descends cannot tell on this system. So a member can grant trust like the operator
// here: NotFromInside refuses nobody.
func descends(int, int) bool { return false }
