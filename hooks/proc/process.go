// Package proc runs programs and controls their process trees: it starts a program in a
// session of its own, writes its input and reads its outputs, limits the number of its
// processes, and ends all of them. It makes no promise of compatibility to programs
// outside covey.
//
// A tree consists of the descendants of a program, the processes of its session, and those
// with its marker in their environment. On Linux all three are read from /proc; on other
// systems only the process group can be ended, and nothing is counted.
//
// A caller of Start must call Wait: until Wait has returned, the outputs are read, and the
// tree is ended when the context ends.
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

	"github.com/coveyteam/covey/hooks/sandbox"
)

// How long Run waits for processes that a program leaves behind.
const (
	// DefaultGrace is the time from TERM to KILL if Process.Grace is 0.
	DefaultGrace = 500 * time.Millisecond
	// lingerDelay is how long a child may hold an output open after the program itself has
	// ended. It bounds the delay of a hook that starts a daemon and exits (0.5 s), and is
	// long enough for a slow machine to drain a pipe.
	lingerDelay = 250 * time.Millisecond
	// busyRetries bounds how often a start is retried because the file is still open for
	// writing in a child that another goroutine is forking.
	busyRetries = 6
)

// ErrStart is wrapped by the errors of Process.Run if the program cannot be found or started.
var ErrStart = errors.New("cannot start")

// Process is one run of a program, in a session of its own and without a terminal. When its
// context ends, the whole tree below it is ended: TERM to the group, and after Grace KILL to
// every process that can be found, also those that have left the session. All programs
// that may misbehave are started through it.
type Process struct {
	// Args is the command line. Args[0] is looked up in the PATH of Env unless it contains
	// a slash; a relative path starts at Dir. Required.
	Args []string
	Dir  string   // working directory, which must exist; empty means this process's own
	Env  []string // nil means this process's environment
	// Stdin is what the program may read. A program that does not read it, or closes its
	// input, does not make Run fail. nil means /dev/null.
	Stdin []byte
	// Stdout and Stderr receive the outputs, each from a goroutine that has ended when Run
	// returns. nil means /dev/null. Two equal writers get one pipe.
	Stdout, Stderr io.Writer
	Files          []*os.File    // more files that the program inherits, from number 3 on
	Grace          time.Duration // from TERM to KILL; 0 means 500 ms
	// Marker is an entry of Env, NAME=value, that no other process has. It identifies
	// children that have left the session (on Linux). May be empty.
	Marker string
	// Started is called once the program runs, before anything is read, and its result when the
	// program has ended. Both may be nil.
	Started func(pid int) (ended func())
	// Reap also ends processes that the program has left behind when it ended by itself, as
	// if the context had ended: children in its group, and those that hold an output.
	// Without it they continue to run.
	Reap bool
	// Leased ends the tree also when this process ends before the program, even by kill -9.
	Leased bool
	// Box limits what the program and its descendants may do. nil means no limit.
	Box *sandbox.Box
	// MaxProcesses is how many processes the program and its descendants may be at once; if
	// there are more, all are killed. It also applies to processes that the program leaves
	// behind. 0 means no limit. Only Linux can count them.
	MaxProcesses int
	// OnTooMany, if not nil, is called when that happens to processes left behind, from a
	// goroutine of its own and as long as this process lives.
	OnTooMany func(warning string)
}

// Exit describes how a Process ended.
type Exit struct {
	Code    int    // exit code; -1 if a signal ended it or it never ran
	Signal  string // the signal that ended it, such as "killed"; empty if it exited by itself
	Stopped bool   // the context ended before the program, and the tree was killed
	Held    bool   // a child still held an output open when the program had ended
	// Left holds the pids of children that outlived the program. They still run or, if
	// Stopped or with Reap, have been killed. It is only filled on Linux.
	Left []int
	// TooMany means that there were more than MaxProcesses processes; Left holds those that
	// were killed.
	TooMany bool
}

// Run runs p and returns when it has ended, or when ctx has ended and its tree is gone. A
// child that it left behind delays Run by a quarter second at most. The error wraps ErrStart
// if p could not be started, or is the context's if ctx had already ended; otherwise it is
// nil.
func (p Process) Run(ctx context.Context) (Exit, error) {
	running, err := p.Start(ctx)
	if err != nil {
		return Exit{Code: -1}, err
	}
	return running.Wait(), nil
}

// Running is a program that has been started. The caller must call Wait.
type Running struct {
	Process
	cmd      *exec.Cmd
	plumbing *plumbing

	ended   chan struct{} // closed once the program has been waited for
	cancel  func() bool   // prevents the kill; false if that has begun
	killing chan struct{} // closed once killed is set
	killed  []int
	crowd   *crowd
	session *sandbox.Session // nil: none
	lease   *lease           // nil: none
	told    func()           // that it has ended; nil: nobody
}

// Start starts p, with the errors of Run, and kills its tree when ctx ends. The kill has a
// goroutine of its own, so a program that ends by itself needs none for it.
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
	if most := p.Box.Policy().MaxProcesses; most > 0 && (p.MaxProcesses <= 0 || most < p.MaxProcesses) {
		p.MaxProcesses = most
	}
	cmd, plumbing, session, err := p.start()
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrStart, p.Args[0], err)
	}
	var held *lease
	if p.Leased {
		if held, err = newLease(cmd.Process.Pid, p.Marker); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			plumbing.finish()
			session.Close()
			return nil, fmt.Errorf("%w the shell that watches %s: %w", ErrStart, p.Args[0], err)
		}
	}
	var told func()
	if p.Started != nil {
		told = p.Started(cmd.Process.Pid)
	}
	r := &Running{Process: p, cmd: cmd, plumbing: plumbing, ended: make(chan struct{}),
		killing: make(chan struct{}), crowd: watchCrowd(&p, cmd.Process.Pid), session: session, lease: held, told: told}
	r.cancel = context.AfterFunc(ctx, func() {
		defer close(r.killing)
		r.killed = EndTree(cmd.Process.Pid, p.Marker, p.Grace, r.ended)
	})
	return r, nil
}

// start starts the program. It only retries on ETXTBSY: a script that has just been written
// may still be open in a child that another goroutine has forked and that has not reached
// its exec.
func (p Process) start() (*exec.Cmd, *plumbing, *sandbox.Session, error) {
	path, err := LookPath(p.Args[0], p.Env)
	if err != nil {
		return nil, nil, nil, err
	}
	for try := 0; ; try++ {
		cmd := &exec.Cmd{Path: path, Args: p.Args, Dir: p.Dir, Env: p.Env, ExtraFiles: p.Files, SysProcAttr: OwnSession()}
		plumbing, err := p.plumb(cmd)
		if err != nil {
			return nil, nil, nil, err
		}
		session, err := p.Box.Start(cmd)
		if err == nil {
			plumbing.begin()
			return cmd, plumbing, session, nil
		}
		plumbing.abandon()
		if !errors.Is(err, syscall.ETXTBSY) || try == busyRetries {
			return nil, nil, nil, bareError(err)
		}
		time.Sleep(time.Millisecond << try)
	}
}

// Drained returns a channel that is closed when the outputs of the program have ended.
func (r *Running) Drained() <-chan struct{} { return r.plumbing.drained }

// Wait waits for the program and returns how it ended.
func (r *Running) Wait() Exit {
	pid := r.cmd.Process.Pid
	defer r.session.Close()
	defer r.lease.end()
	if r.told != nil {
		defer r.told()
	}
	err := r.cmd.Wait()
	close(r.ended)
	stopped := !r.cancel()
	if stopped {
		<-r.killing
	}
	r.crowd.waitKill()
	if r.Reap && !stopped && groupAlive(pid) {
		// Before the outputs are drained, because the children would hold them open.
		r.killed = EndTree(pid, r.Marker, r.Grace, r.ended)
	}
	exit := exitOf(r.cmd, err)
	exit.Stopped = stopped
	exit.Held = r.plumbing.finish()
	switch {
	case stopped:
		exit.Left = r.killed
	case r.Reap && exit.Held: // the children have left the group
		exit.Left = append(r.killed, EndTree(pid, r.Marker, r.Grace, r.ended)...)
	case r.Reap:
		exit.Left = r.killed
	case exit.Held || groupAlive(pid):
		exit.Left = sessionOf(pid, r.Marker)
	}
	if killed, over := r.crowd.detach(len(exit.Left) > 0, stopped || r.Reap); over {
		exit.Left, exit.TooMany = killed, true
	}
	return exit
}

// exitOf returns the exit of a command after its Wait.
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

// bareError unwraps an error that repeats the program's name.
func bareError(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok && path.Op != "chdir" {
		return path.Err
	}
	return err
}
