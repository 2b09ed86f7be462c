package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs/starter"
)

// findGates settles which gate a team without a spec has: those of --gate, else the
// project's own test command, else what a person answers. Only --no-gate lets a team run
// without any: "all work is done" would then be no more than its agents' word.
func (c *cli) findGates(dir string, f *runFlags) error {
	switch {
	case f.noGate && len(f.gates) > 0:
		return usagef("--gate and --no-gate exclude each other")
	case f.noGate || len(f.gates) > 0:
		return nil
	}
	test, missing := starter.TestCommand(dir)
	if test != "" && missing == "" {
		f.gates = []string{test}
		c.err.printf("gate: %s (this folder's tests; --gate names another command, --no-gate none)\n", plainLine(test))
		return nil
	}
	why := "no test command is known of this folder"
	if missing != "" {
		why = fmt.Sprintf("this folder's tests are %q, and %s is not installed", test, missing)
	}
	if !isTerminal(c.in) || !c.err.tty() {
		return usagef("%s; name a command that must succeed before a task is completed with --gate COMMAND, or --no-gate for none", why)
	}
	return c.askGate(why, f)
}

// askGate asks a person for a gate.
func (c *cli) askGate(why string, f *runFlags) error {
	c.err.printf("%s%s.\nA gate is a command that must succeed before a task counts as completed.\n"+
		"Gate (\"none\" to go without): ", strings.ToUpper(why[:1]), plainLine(why[1:]))
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	switch answer = strings.TrimSpace(answer); {
	case err != nil || answer == "":
		return usagef("no gate was named, and nothing was started; --gate COMMAND or --no-gate say it beforehand")
	case answer == "none":
		return nil
	}
	f.gates = []string{answer}
	return nil
}
