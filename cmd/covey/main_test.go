package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestMain lets the test binary play covey, so that scripts need no build.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){
		"covey": main, "mcpcall": mcpcall, "mcpserver": mcpserver, "fakeagent": fakeagent, "acpclient": acpclient,
		"crasher": crasher,
	})
}

// suite is the tests, as opposed to a command that the test binary plays.
type suite struct{ *testing.M }

func (s suite) Run() int {
	testkit.Begin(0)
	return s.M.Run()
}

// TestScript runs testdata/script: one behaviour a file.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup:               setUpScript,
		Cmds:                scriptCommands(),
	})
}

// result is what one in-process run of the program gave.
type result struct {
	code        int
	out, errOut string
}

// covey runs the program in this process.
func covey(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(context.Background(), args, strings.NewReader(""), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// TestUsage holds the program to exit code 2 and one clear line for each way
// to mistype a command.
func TestUsage(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"vers", `covey has no command "vers"; did you mean "covey version"?`},
		{"zzzzz", `covey has no command "zzzzz"; covey --help lists the commands`},
		{"version --wrong", `unknown flag: --wrong; see "covey version --help"`},
		{"version extra", `covey version takes no arguments, but got "extra"`},
		{"completion", `covey completion needs the name of a shell`},
		{"completion tcsh", `no completion for the shell "tcsh"`},
		{"completion bash zsh", `but got "zsh", too`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			got := covey(t, strings.Fields(tc.args)...)
			if got.code != cli.ExitUsage || got.out != "" {
				t.Errorf("code %d and output %q, want %d and none", got.code, got.out, cli.ExitUsage)
			}
			if !strings.Contains(got.errOut, tc.want) || strings.Count(got.errOut, "\n") != 1 {
				t.Errorf("stderr %q, want one line with %q", got.errOut, tc.want)
			}
		})
	}
}

// TestHelp looks at what every command says about itself.
func TestHelp(t *testing.T) {
	root := rootCommand(cli.New(os.Stdin, os.Stdout, os.Stderr, "devel"))
	commands := root.Commands()
	if got := covey(t, "--help"); !strings.Contains(got.out, "\nFor members' agents:\n  mcp  ") {
		t.Errorf("the commands for agents do not stand apart:\n%s", got.out)
	}
	for i := 0; i < len(commands); i++ {
		cmd := commands[i]
		commands = append(commands, cmd.Commands()...)
		if cmd.Name() == "help" {
			continue
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q, want some without a full stop", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Runnable() && cmd.Flags().HasAvailableFlags() && cmd.Example == "" && cmd.Name() != "version" {
			t.Errorf("%s has flags but no example", cmd.CommandPath())
		}
		got := covey(t, append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		for line := range strings.Lines(got.out) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > helpWidth {
				t.Errorf("%s --help: a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		if got.code != cli.ExitDone || !strings.Contains(got.out, "Usage:") || got.errOut != "" {
			t.Errorf("%s --help: code %d, stderr %q", cmd.CommandPath(), got.code, got.errOut)
		}
	}
}

// run is the program without the process. It may be called more than once.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(ctx, cli.New(stdin, stdout, stderr, thisBuild().Version), args)
}
