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

// main calls run with the streams of the process. Tests call run.
func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program without the process: it parses args, executes the command and
// returns the exit code. It may be called more than once.
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
