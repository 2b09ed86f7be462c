package main

import (
	"errors"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptCommands are what scripts can do beside running covey.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exit": scriptExit,
	}
}

// scriptExit is `exit CODE COMMAND...`: the command must end with that code.
func scriptExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = exitStatus(err)
	}
	if got != args[0] {
		ts.Fatalf("%v ended with code %s, want %s", args[1:], got, args[0])
	}
}

// exitStatus is the code with which a command ended.
func exitStatus(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
