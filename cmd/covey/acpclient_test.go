package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// acpclient is an ACP client for scripts, which knows nothing of the protocol but
// lines: `acpclient FILE COMMAND...` starts COMMAND and follows FILE.
//
//	> LINE     send the line; $NAME in it is what a pattern has captured
//	< PATTERN  read lines until one matches; all that is read is printed
//	! FILE     wait until the file is there
//	run ARGS   run another command to its end
//	close      close the input of COMMAND
//	kill       kill COMMAND
//	end        read the rest, and wait for COMMAND to end
func acpclient() {
	if err := (&acpTalk{vars: map[string]string{}}).run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "acpclient:", err)
		os.Exit(1)
	}
}

// acpTalk is one run of acpclient.
type acpTalk struct {
	cmd  *exec.Cmd
	to   io.WriteCloser
	from *bufio.Reader
	vars map[string]string
}

// run follows a file. A wait of any kind fails with the command, which is killed
// after scriptPatience.
func (a *acpTalk) run(file string, command []string) error {
	steps, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*scriptPatience)
	defer cancel()
	a.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	a.cmd.Stderr = os.Stderr
	if a.to, err = a.cmd.StdinPipe(); err != nil {
		return err
	}
	from, err := a.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	a.from = bufio.NewReader(from)
	if err := a.cmd.Start(); err != nil {
		return err
	}
	for i, step := range strings.Split(string(steps), "\n") {
		if err := a.step(ctx, step); err != nil {
			return errors.Join(fmt.Errorf("line %d, %s: %w", i+1, step, err), a.cmd.Process.Kill())
		}
	}
	return nil
}

// step follows one line of the file.
func (a *acpTalk) step(ctx context.Context, step string) error {
	word, rest, _ := strings.Cut(step, " ")
	switch word {
	case "", "#":
		return nil
	case ">":
		_, err := io.WriteString(a.to, os.Expand(rest, func(name string) string { return a.value(name) })+"\n")
		return err
	case "<":
		return a.await(rest)
	case "!":
		for ctx.Err() == nil {
			if _, err := os.Stat(rest); err == nil {
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
		return ctx.Err()
	case "run":
		words := strings.Fields(rest)
		return exec.CommandContext(ctx, words[0], words[1:]...).Run()
	case "close":
		return a.to.Close()
	case "kill":
		return a.cmd.Process.Kill()
	case "end":
		_, err := io.Copy(os.Stdout, a.from)
		return errors.Join(err, a.cmd.Wait())
	}
	return errors.New("no such step")
}

// await reads lines until one matches. It keeps what named groups match.
func (a *acpTalk) await(pattern string) error {
	want, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for {
		line, err := a.from.ReadString('\n')
		fmt.Print(line)
		if found := want.FindStringSubmatch(line); found != nil {
			for i, name := range want.SubexpNames() {
				if name != "" {
					a.vars[name] = found[i]
				}
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// value is what a pattern has captured, or a variable of the environment.
func (a *acpTalk) value(name string) string {
	if text, ok := a.vars[name]; ok {
		return text
	}
	return os.Getenv(name)
}
