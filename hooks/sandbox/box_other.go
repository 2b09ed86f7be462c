//go:build !linux

package sandbox

import (
	"os/exec"
	"runtime"
)

// Probe reports that this system has no boxes.
func Probe() Support {
	why := "covey has no sandbox on " + runtime.GOOS
	return Support{Missing: []Lacks{{"landlock", why, "use Linux, for example in a virtual machine"}}}
}

// RemoveLayers does nothing.
func RemoveLayers(string) {}

// prepared is nothing.
type prepared struct{}

// start is not called, because no box has a level here.
func (b *Box) start(cmd *exec.Cmd) (*Session, error) { return nil, cmd.Start() }
