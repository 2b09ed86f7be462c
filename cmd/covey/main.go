// Command covey runs a team of AI agents as one program: it reads a spec,
// brings the team up, shows what it does, and lets a person look at it, talk
// to it and stop it. All it knows of a team it learns from package
// orchestrator; this package only turns flags into calls and answers into text.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// main is run on the streams of the process. Everything else is below run,
// where tests can reach it.
func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for the process: it parses args, does what they
// ask and returns the exit code. It may be called more than once.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := cli.New(stdin, stdout, stderr, thisBuild().Version)
	root := rootCommand(c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if !cli.WasSaid(err) {
		fmt.Fprintln(stderr, cli.ErrorText(err))
	}
	return cli.ExitCode(err)
}
