package launch_test

import (
	"os"

	"github.com/coveyteam/covey/hooks/testkit"
)

// killSelf ends this process at once, as a crash does.
func killSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	testkit.Hang()
}
