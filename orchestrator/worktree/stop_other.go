//go:build !unix

package worktree

import "os"

// stop ends git at once: there is no gentler way that git would heed here.
func stop(p *os.Process) error { return p.Kill() }
