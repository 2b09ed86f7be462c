// Command covey runs a team of AI agents as one program: it reads a spec, brings the
// team up, shows what it does, and lets the operator inspect it, talk to it and stop
// it. Everything it knows about a team comes from package orchestrator; this package
// only turns flags into calls and answers into text.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// main runs the program with the streams of the process, and keeps its stack if it
// crashes. Tests call run.
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

// run is the program without the process. It may be called more than once.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(ctx, cli.New(stdin, stdout, stderr, thisBuild().Version), args)
}

// execute is the part that main and tests share, apart from what concerns the whole process,
// such as its crash: it parses args, executes the command and returns the exit code.
func execute(ctx context.Context, c *cli.Env, args []string) int {
	root := rootCommand(c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if !cli.WasSaid(err) {
		fmt.Fprintln(c.Err.Writer, cli.ErrorText(err))
	}
	return cli.ExitCode(err)
}
