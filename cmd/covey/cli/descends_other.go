//go:build !linux

package cli

// descends cannot be found out here without help. Then trust that a member
// gives looks like that of a person: on such a system notFromInside refuses
// nobody.
func descends(int, int) bool { return false }
