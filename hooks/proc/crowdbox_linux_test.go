package proc

import (
	"testing"

	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestProcessesOfABox: a box limits how many processes its programs have, also those that are watched by others.
func TestProcessesOfABox(t *testing.T) {
	box, err := sandbox.New(sandbox.Policy{Want: sandbox.Best, MaxProcesses: 5}, sandbox.Support{}, sandbox.Extras{})
	testkit.Must(t, err)
	many := []string{"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 600 & done; wait"}
	exit, err := Process{Args: many, Box: box}.Run(t.Context())
	if err != nil || !exit.TooMany {
		t.Errorf("ended with %+v, %v", exit, err)
	}
	r, err := Process{Args: many, MaxProcesses: 1 << 20}.Start(t.Context())
	testkit.Must(t, err)
	stop := LimitProcesses(r.cmd.Process.Pid, "", 5)
	r.Wait()
	if !stop() {
		t.Error("it was not killed by its limit")
	}
	if LimitProcesses(1, "", 0)() {
		t.Error("no limit was exceeded")
	}
}
