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
	"github.com/coveyteam/covey/cmd/covey/web"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
)

// readyVariable tells a covey in the background on which file descriptor its parent
// waits. A descriptor is better than polling run.json: it is closed when the program
// ends, for whatever reason.
const readyVariable = "COVEY_READY_FD"

// maxComplaint bounds how much of the log is shown when a team fails to start. Only
// output of this start is shown.
const maxComplaint = 16 << 10

// startDetached starts this program again in the background, and returns when the
// team is up, or with the reason why it is not. Trust was decided and remembered before,
// because the background process cannot ask; it refuses what has changed since, unless
// --trust trusts whatever there is. The log is opened here and not by that process, so
// that even a program that cannot start has a place for its error.
//
// The background process is not waited for after it is up; Release gives up the handle
// only. An error of the page's address leaves the team running.
func startDetached(ctx context.Context, env *cli.Env, team *configs.Team, f upFlags, goal string) error {
	out, errOut := env.Out, env.Err
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return err
	}
	if err := place.Create(); err != nil {
		return err
	}
	path := filepath.Join(place.Dir, "up.log")
	log, err := proc.OpenOwn(path, os.O_RDWR|os.O_APPEND)
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
	if state := up(ctx); state != "" {
		pid, look, stop := child.Process.Pid, "covey attach --team "+team.Name, "covey down --team "+team.Name
		if state == standsBy { // it answers no commands yet
			look, stop = "covey doctor", fmt.Sprint("kill ", pid)
		}
		out.Printf("%s %s (process %d)\n  look:  %s\n  stop:  %s\n  log:   %s\n", team.Name, state, pid, look, stop, term.PlainLine(path))
		if f.web != "" && state == isUp {
			url, err := web.AddressOf(ctx, place)
			if err != nil {
				return errors.Join(err, child.Process.Release())
			}
			errOut.Printf("  page:  %s\n", url)
		}
		return child.Process.Release()
	}
	// The program in the background has a session of its own and did not get the
	// Ctrl-C. Stop it in order.
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), child.Process.Signal(os.Interrupt))
	}
	return reportFailure(out, place, child, log, from)
}

// backgroundArgs returns the arguments of the program in the background. The spec's
// path is absolute, so it does not depend on the folder. The "--" keeps a goal that
// begins with a dash from being parsed as a flag.
func backgroundArgs(team *configs.Team, f upFlags, goal string) []string {
	args := []string{"up", "--allow-unenforced"} // stand-ins are decided by now
	if f.trust {
		args = append(args, "--trust")
	}
	if f.keep {
		args = append(args, "--keep")
	}
	if f.fresh {
		args = append(args, "--fresh")
	}
	if f.standby {
		args = append(args, "--standby")
	}
	if f.web != "" {
		args = append(args, "--web="+f.web)
	}
	if f.record != "" {
		args = append(args, "--record="+f.record)
	}
	if f.replay != "" {
		args = append(args, "--replay="+f.replay)
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

// What a program in the background tells its parent. The parent prints it after the team's name.
const (
	isUp     = "is up"
	standsBy = "stands by"
)

// startBackground starts the program with its output in log. up waits until the program
// tells its state, or has ended (""). The program has a session of its
// own, no terminal and no standard input, so closing the window does not affect it.
func startBackground(log *os.File, args []string) (child *exec.Cmd, up func(context.Context) string, err error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	child = exec.Command(bin, args...)
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = proc.OwnSession() // it must survive the terminal
	child.ExtraFiles = []*os.File{write}
	child.Env = append(os.Environ(), readyVariable+"=3")
	// The child has its own copy of the writing end now. This one must be closed, or the
	// end of the child would not be noticed below.
	err = child.Start()
	if closeErr := write.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, nil, errors.Join(err, read.Close())
	}
	return child, func(ctx context.Context) string {
		stop := context.AfterFunc(ctx, func() { read.Close() })
		defer stop()
		defer read.Close()
		state, _ := io.ReadAll(read) // nothing: it has ended
		return string(state)
	}, nil
}

// reportFailure says, with the output of the background program, why the team did not
// come up or that it had nothing to do. Exit code 0 before the team was up means that
// the team's work was already done, which is not an error. If another covey runs the team by now,
// that was the reason; the log may have lines of both.
func reportFailure(out *term.Screen, place state.Place, child *exec.Cmd, log *os.File, from int64) error {
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
		if running := lockedTeam(place); exit.ExitCode() == cli.ExitFailed && running != nil {
			return &cli.EndError{Code: cli.ExitFailed, Err: fmt.Errorf("another covey runs the team, so this one started nothing: %w", running)}
		}
		return &cli.EndError{Code: exit.ExitCode(), Err: fmt.Errorf("the team did not come up:\n%s", said)}
	}
	return fmt.Errorf("the team did not come up (%w):\n%s", err, said)
}

// lockedTeam returns the error for a team that runs, which names its process; nil: it does not run.
func lockedTeam(place state.Place) error {
	lock, err := state.LockTeam(place)
	if err == nil {
		err = lock.Release()
	}
	if errors.Is(err, state.ErrRunning) {
		return err
	}
	return nil
}

// parent is the program that started this one in the background and waits until the
// team is up; nil if there is none.
type parent struct{ pipe *os.File }

// findParent reads and removes the variable that a parent has set. It must run before
// anything is started, because hooks and tools must not inherit the variable and the
// descriptor. If the variable names a descriptor that does not exist, only the write
// in ready fails.
func findParent() *parent {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil || fd < 3 {
		return nil
	}
	_ = os.Unsetenv(readyVariable)
	closeOnExec(fd)
	return &parent{os.NewFile(uintptr(fd), "ready")}
}

// ready tells the parent that the team is up, or that this program stands by; only the first call
// counts. A parent that was interrupted does not read it. If the program ends before, the closed
// pipe tells the parent. p may be nil.
func (p *parent) ready(state string) {
	if p != nil {
		_, _ = p.pipe.WriteString(state)
		_ = p.pipe.Close()
	}
}
