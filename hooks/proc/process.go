// Package proc runs programs and keeps hold of their process trees: it starts a
// program in a session of its own, feeds and drains its pipes, limits how many
// processes it becomes, and ends all of them. It makes no promise of
// compatibility to programs outside covey.
//
// A tree is what descends from a program, what shares its session, and what
// carries its marker in the environment. On Linux all three are read from /proc;
// on other systems only the process group can be ended, and nothing is counted.
//
// Whoever starts a program with Start owes it a Wait: the outputs are read, and
// the tree is ended when the context is over, until Wait has returned.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// How long Run waits for what a program leaves behind.
const (
	// DefaultGrace is the time from TERM to KILL where a Process does not say.
	DefaultGrace = 500 * time.Millisecond
	// lingerDelay is how long a child may hold an output open after the program
	// itself has ended. It bounds the result of a hook that exits at once and
	// leaves a daemon (0.5 s), and leaves room for a slow machine to drain a pipe.
	lingerDelay = 250 * time.Millisecond
	// busyRetries bounds how often a start is tried again because the file is
	// still open for writing in a child that another goroutine is forking.
	busyRetries = 6
)

// ErrStart is returned by Process.Run when the program cannot be found or started.
var ErrStart = errors.New("cannot start")

// Process is one run of a program, in a session of its own and without a
// terminal. When its context ends, the whole tree below it is ended: TERM to
// the group, and after Grace KILL to everything that can be found, also what
// has left the session. It is the only place of covey that starts programs
// which may misbehave.
type Process struct {
	// Args is the command line. Args[0] is taken from the PATH of Env unless it
	// has a slash; a relative path starts at Dir. Required.
	Args []string
	Dir  string   // working directory; it must exist; empty: this process's own
	Env  []string // nil: this process's environment
	// Stdin is what the program may read. It need not: neither a program that
	// reads nothing nor one that closes its input disturbs Run. nil: /dev/null.
	Stdin []byte
	// Stdout and Stderr take the outputs, each from a goroutine of its own that
	// has ended when Run returns. nil: /dev/null. Two equal writers get one pipe.
	Stdout, Stderr io.Writer
	Grace          time.Duration // from TERM to KILL; 0: 500 ms
	// Marker is an entry of Env, NAME=value, that no other process has. Children
	// that left the session are found by it (on Linux). Empty: they are not.
	Marker  string
	Started func(pid int) // called once the program runs, before anything is read; may be nil
	// Reap ends also what a program has left behind that ended by itself, as if
	// the context had ended then: children of its group, and such as hold an
	// output. Without it they run on.
	Reap bool
	// MaxProcesses is how many processes the program and what descends from it may be
	// at once; if there are more, all are killed. It holds for what the program leaves
	// behind, too. 0: no limit. Only Linux can count them.
	MaxProcesses int
	// Crowded is told when that happens to what is left behind, from a goroutine of its
	// own and as long as this process lives. nil: nobody is told.
	Crowded func(warning string)
}

// Exit says how a Process ended.
type Exit struct {
	Code    int    // exit code; -1 if a signal ended it or it never ran
	Signal  string // what ended it, like "killed"; empty if it exited by itself
	Stopped bool   // the context ended before the program, and the tree was killed
	Held    bool   // a child still held an output open when the program had ended
	// Left holds the pids of children that outlived the program. They run on,
	// or, if Stopped or with Reap, have been killed. Only Linux names them.
	Left []int
	// Crowded says that there were more than MaxProcesses; Left are those killed then.
	Crowded bool
}

// Run runs p and returns when it has ended, or when ctx has and its tree is
// gone. What a child left behind does not hold Run up for more than a quarter
// second. The error is ErrProgram with its reason if p could not be started,
// or the context's if it had ended before; nil in every other case.
func (p Process) Run(ctx context.Context) (Exit, error) {
	running, err := p.Start(ctx)
	if err != nil {
		return Exit{Code: -1}, err
	}
	return running.Wait(), nil
}

// Running is a program that has been started. Somebody has to wait for it.
type Running struct {
	Process
	cmd      *exec.Cmd
	plumbing *plumbing

	ended   chan struct{} // closed once the program has been waited for
	cancel  func() bool   // keeps it from being killed; false: that has begun
	killing chan struct{} // closed once killed is there
	killed  []int
	crowd   *crowd
}

// Start starts p, with the errors of Run, and from then on kills it when ctx
// ends. Killing runs beside the waiting, so that a program which ends by itself
// costs no goroutine for it.
func (p Process) Start(ctx context.Context) (*Running, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(p.Args) == 0 {
		return nil, fmt.Errorf("%w: no program given", ErrStart)
	}
	if p.Env == nil {
		p.Env = os.Environ()
	}
	if p.Grace <= 0 {
		p.Grace = DefaultGrace
	}
	cmd, plumbing, err := p.start()
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrStart, p.Args[0], err)
	}
	if p.Started != nil {
		p.Started(cmd.Process.Pid)
	}
	r := &Running{Process: p, cmd: cmd, plumbing: plumbing, ended: make(chan struct{}),
		killing: make(chan struct{}), crowd: watchCrowd(&p, cmd.Process.Pid)}
	r.cancel = context.AfterFunc(ctx, func() {
		defer close(r.killing)
		r.killed = EndTree(cmd.Process.Pid, p.Marker, p.Grace, r.ended)
	})
	return r, nil
}

// start starts the program. The one error that is worth another try is ETXTBSY:
// a script that was written a moment ago may still be open in a child which
// another goroutine has forked and which has not reached its exec.
func (p Process) start() (*exec.Cmd, *plumbing, error) {
	path, err := lookPath(p.Args[0], p.Env)
	if err != nil {
		return nil, nil, err
	}
	for try := 0; ; try++ {
		cmd := &exec.Cmd{Path: path, Args: p.Args, Dir: p.Dir, Env: p.Env, SysProcAttr: OwnSession()}
		plumbing, err := p.plumb(cmd)
		if err != nil {
			return nil, nil, err
		}
		err = cmd.Start()
		if err == nil {
			plumbing.begin()
			return cmd, plumbing, nil
		}
		plumbing.abandon()
		if !errors.Is(err, syscall.ETXTBSY) || try == busyRetries {
			return nil, nil, bareError(err)
		}
		time.Sleep(time.Millisecond << try)
	}
}

// Drained returns a channel that is closed once the outputs of the program have ended.
func (r *Running) Drained() <-chan struct{} { return r.plumbing.drained }

// Wait waits for the program, and says how it ended.
func (r *Running) Wait() Exit {
	pid := r.cmd.Process.Pid
	err := r.cmd.Wait()
	close(r.ended)
	stopped := !r.cancel()
	if stopped {
		<-r.killing
	}
	r.crowd.settle()
	if r.Reap && !stopped && groupAlive(pid) {
		// Before the outputs are read to their end, or the children would hold them.
		r.killed = EndTree(pid, r.Marker, r.Grace, r.ended)
	}
	exit := exitOf(r.cmd, err)
	exit.Stopped = stopped
	exit.Held = r.plumbing.finish()
	switch {
	case stopped:
		exit.Left = r.killed
	case r.Reap && exit.Held: // they have left the group
		exit.Left = append(r.killed, EndTree(pid, r.Marker, r.Grace, r.ended)...)
	case r.Reap:
		exit.Left = r.killed
	case exit.Held || groupAlive(pid):
		exit.Left = sessionOf(pid, r.Marker)
	}
	if killed, over := r.crowd.leave(len(exit.Left) > 0, stopped || r.Reap); over {
		exit.Left, exit.Crowded = killed, true
	}
	return exit
}

// exitOf reads the state that Wait left behind.
func exitOf(cmd *exec.Cmd, err error) Exit {
	exit := Exit{Code: -1}
	if cmd.ProcessState == nil {
		exit.Signal = err.Error()
		return exit
	}
	exit.Code = cmd.ProcessState.ExitCode()
	if exit.Code == -1 {
		exit.Signal = signalName(cmd.ProcessState)
	}
	return exit
}

// bareError takes the wrapping off that repeats the program's name.
func bareError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) && path.Op != "chdir" {
		return path.Err
	}
	return err
}
