// Command covey runs a team of AI agents as one program: it reads a spec, brings the
// team up, shows what it does, and lets the operator inspect it, talk to it and stop
// it. Everything it knows about a team comes from package orchestrator; this package
// only turns flags into calls and answers into text.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
)

// main runs the program with the streams of the process, and keeps its stack if it
// crashes.
func main() {
	c := cli.New(os.Stdin, os.Stdout, os.Stderr, thisBuild().Version)
	c.Crash = &cli.CrashWatch{What: thisBuild().String()}
	// Before this process has a file of its own, so that it is not taken for a crash.
	c.TellCrashes(os.Args[1:])
	c.Crash.Begin(false)
	defer c.Crash.Tell()
	code := execute(context.Background(), c, os.Args[1:])
	c.Crash.End()
	os.Exit(code)
}

// execute is the part that main and tests share, apart from what concerns the whole process,
// such as its crash: it parses args, executes the command and returns the exit code.
func execute(ctx context.Context, c *cli.Env, args []string) int {
	root := rootCommand(c)
	root.SetArgs(goFlags(root, args))
	cmd, err := root.ExecuteContextC(ctx)
	if !cli.WasSaid(err) {
		fmt.Fprintln(c.Err.Writer, cli.ErrorText(err))
		// The end of a team is a line of its journal, which the program has read.
		var end *cli.EndError
		flag := cmd.Flags().Lookup("json") // nil for a mistyped command
		if !errors.As(err, &end) && (flag != nil && flag.Changed || slices.Contains(args, "--json")) {
			tellProgram(c.Out, err)
		}
	}
	return cli.ExitCode(err)
}

// tellProgram prints an error for the program that reads the JSON of a command: an object of one
// line, because some commands print a stream. A program that does not read is not told.
func tellProgram(out *term.Screen, err error) {
	text, failed := term.CompactJSON(struct {
		Format int    `json:"format"`
		Error  string `json:"error"`
		Code   int    `json:"code"` // the exit code
	}{term.JSONFormat, cli.Reword(err.Error()), cli.ExitCode(err)})
	if failed == nil {
		out.Printf("%s\n", bytes.TrimSpace(text))
	}
}
