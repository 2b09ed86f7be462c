// Package teamtest runs whole teams for tests, in a folder of their own and with scripts for
// models: it starts them, puts their clock forward, kills them and looks at what they left.
// Only tests import it. It makes no promise of compatibility to programs outside covey.
package teamtest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// AllRounds has all faults tried, and all rounds of what kills teams, which takes a
// while.
var AllRounds = flag.Bool("all", false, "try all faults, and all rounds of killing teams")

// Main runs the tests of a package that runs teams, and exits. The test binary is also the
// programs that its tests start: if an environment variable of programs is set, Main calls
// its function with the value instead.
func Main(m *testing.M, programs map[string]func(value string) int) {
	end := Begin(programs)
	code := m.Run()
	end()
	os.Exit(code)
}

// Begin is Main for a package that runs its tests in its own way. It keeps the tests apart
// from what this machine's git is set to, from a repository around the temporary folders,
// and from the teams of whoever runs them, until end is called.
func Begin(programs map[string]func(value string) int) (end func()) {
	if spec := os.Getenv(crashVariable); spec != "" {
		os.Exit(runForCrash(spec))
	}
	for variable, program := range programs {
		if value := os.Getenv(variable); value != "" {
			os.Exit(program(value))
		}
	}
	testkit.Begin(0)
	testkit.QuietGit()
	home, err := os.MkdirTemp("", "covey-state")
	if err != nil {
		fail(err)
	}
	for name, value := range map[string]string{
		"GIT_CEILING_DIRECTORIES": os.TempDir(), "COVEY_STATE_HOME": home,
		"GORACE": "atexit_sleep_ms=0", // programs that are built for the race detector sleep at their end
	} {
		if err := os.Setenv(name, value); err != nil {
			fail(err)
		}
	}
	return func() { os.RemoveAll(home) }
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "set up the tests:", err)
	os.Exit(2)
}
