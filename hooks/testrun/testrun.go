// Package testrun sets up the test binaries of covey, so that `go test ./...` uses a machine
// well. It makes no promise of compatibility to programs outside covey.
package testrun

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// Begin sets up a test binary. Call it in TestMain, before the tests run; it ends the
// process if that fails.
//
// More tests run at once than there are processors, because tests of processes wait more
// than they work. A rapid property gets the given number of cases if that is not 0, because
// each may start a store or a team. Temporary files are in memory if the system has a file
// system there, because tests sync files thousands of times, and none of them cuts the
// power. The flags -parallel and -rapid.checks and the variable TMPDIR come first.
func Begin(cases int) {
	flag.Parse()
	setDefault("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)), "8")
	if cases != 0 {
		setDefault("rapid.checks", "100", strconv.Itoa(cases))
	}
	if dir := memoryDir(); dir != "" && os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			fail(err)
		}
	}
}

// setDefault sets a flag that still has its default.
func setDefault(name, preset, value string) {
	f := flag.Lookup(name)
	if f == nil {
		fail(fmt.Errorf("there is no flag -%s", name))
	}
	if f.Value.String() != preset {
		return
	}
	if err := f.Value.Set(value); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "set up the tests:", err)
	os.Exit(2)
}
