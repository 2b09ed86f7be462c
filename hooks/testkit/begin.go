package testkit

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// gcPercent is by how many percent the heap may grow between collections.
const gcPercent = 400

// Begin sets up a test binary. Call it in TestMain, before the tests run; it ends the
// process if that fails.
//
// At least 8 tests run at once, because tests of processes wait more than they work. A
// rapid property gets the given number of cases if that is not 0, because each may start a
// store or a team. Temporary files are in memory if the system has a file system there,
// because tests sync files thousands of times, and none of them cuts the power. Garbage is
// collected less often, here and in the programs that tests start, which saves a sixth of
// the processors' time. The flags -parallel and -rapid.checks and the variables TMPDIR and
// GOGC come first.
func Begin(cases int) {
	flag.Parse()
	setDefault("test.parallel", max(8, runtime.GOMAXPROCS(0)))
	if cases != 0 {
		setDefault("rapid.checks", cases)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
		setenv("GOGC", strconv.Itoa(gcPercent))
	}
	if dir := memoryDir(); dir != "" && os.Getenv("TMPDIR") == "" {
		setenv("TMPDIR", dir)
	}
}

func setenv(name, value string) {
	if err := os.Setenv(name, value); err != nil {
		fail(err)
	}
}

// setDefault sets a flag that the command line does not set.
func setDefault(name string, value int) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, strconv.Itoa(value)); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "set up the tests:", err)
	os.Exit(2)
}
