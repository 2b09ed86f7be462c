package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
)

// readyVariable tells a covey in the background which file descriptor its
// parent waits at. A descriptor tells more than a poll of run.json could: that
// it is closed means that the program has ended, however it did.
const readyVariable = "COVEY_READY_FD"

// maxComplaint is how much of a log is shown when a team does not come up. It
// is what this start has written and not what earlier ones have left there.
const maxComplaint = 16 << 10

// startDetached starts this program once more, in the background, and comes back when
// the team is up, or with the reason why it is not. Trust was settled before:
// the background has nobody to ask. The log is opened here and not by the
// program in the background, so that even a program that cannot start at all
// has a place to say so.
func startDetached(ctx context.Context, out *term.Screen, team *configs.Team, f upFlags, goal string) error {
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return err
	}
	if err := place.Create(); err != nil {
		return err
	}
	path := filepath.Join(place.Dir, "up.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	child, up, err := startBackground(log, backgroundArgs(team, f, goal))
	if err != nil {
		return err
	}
	if up(ctx) {
		out.Printf("%s is up (process %d)\n  look:  covey attach --team %s\n  stop:  covey down --team %s\n  log:   %s\n",
			team.Name, child.Process.Pid, team.Name, team.Name, term.PlainLine(path))
		return child.Process.Release()
	}
	// The program in the background did not see the Ctrl-C, as it has a session of
	// its own; it is told to end in order.
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), child.Process.Signal(os.Interrupt))
	}
	return complain(out, child, log, from)
}

// backgroundArgs are the arguments of the program in the background. The spec
// is named by its absolute path, whatever folder the program is in, and the
// marker keeps a goal that begins with a dash from being taken for a flag.
func backgroundArgs(team *configs.Team, f upFlags, goal string) []string {
	args := []string{"up", "--trust", "--allow-unenforced"} // all of it is settled by now
	if f.keep {
		args = append(args, "--keep")
	}
	if f.fresh {
		args = append(args, "--fresh")
	}
	if trigger := f.setup(); trigger != orchestrator.SetupNone {
		args = append(args, "--"+string(trigger))
	}
	args = append(args, "--", team.File)
	if goal != "" {
		args = append(args, goal)
	}
	return args
}

// startBackground starts the program with its output in log. up waits until the
// team is up (true) or the program has ended before. The program has a session
// of its own, no terminal and no standard input: closing the window in which it
// was started means nothing to it.
func startBackground(log *os.File, args []string) (*exec.Cmd, func(context.Context) bool, error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	child := exec.Command(bin, args...)
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = proc.OwnSession() // the end of the terminal does not concern it
	child.ExtraFiles = []*os.File{write}
	child.Env = append(os.Environ(), readyVariable+"=3")
	err = child.Start()
	if closeErr := write.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, nil, errors.Join(err, read.Close())
	}
	return child, func(ctx context.Context) bool {
		stop := context.AfterFunc(ctx, func() { read.Close() })
		defer stop()
		defer read.Close()
		n, _ := read.Read(make([]byte, 1)) // io.EOF: it has ended
		return n > 0
	}, nil
}

// complain tells why the team did not come up, or that it had nothing to do, in
// the words of the program in the background. An end with code 0 before the
// team was up is that of a team whose work was done before: that is news, not a
// failure.
func complain(out *term.Screen, child *exec.Cmd, log *os.File, from int64) error {
	err := child.Wait()
	data, readErr := io.ReadAll(io.NewSectionReader(log, from, maxComplaint))
	if readErr != nil {
		return readErr
	}
	said := term.Plain(string(bytes.TrimSpace(data)))
	var exit *exec.ExitError
	switch {
	case err == nil:
		out.Printf("%s\n", said)
		return nil
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return &cli.EndError{Code: exit.ExitCode(), Err: fmt.Errorf("the team did not come up:\n%s", said)}
	}
	return fmt.Errorf("the team did not come up (%w):\n%s", err, said)
}

// parent is the program that started this one in the background and waits to
// hear that the team is up; nil if none does.
type parent struct{ pipe *os.File }

// findParent takes what the parent has left. The variable and the descriptor
// must not reach hooks and tools, so this comes before anything is started. A
// variable that somebody has set by hand to a descriptor that is not there
// makes the write in tell fail, and nothing else.
func findParent() *parent {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil || fd < 3 {
		return nil
	}
	_ = os.Unsetenv(readyVariable)
	closeOnExec(fd)
	return &parent{os.NewFile(uintptr(fd), "ready")}
}

// tell says that the team is up. A parent that was interrupted does not hear
// it, which matters to nobody. It is called once, when the team can be reached;
// a nil parent has nobody to tell. If the program ends without it, the closed
// pipe says so.
func (p *parent) tell() {
	if p != nil {
		_, _ = p.pipe.WriteString("up\n")
		_ = p.pipe.Close()
	}
}
