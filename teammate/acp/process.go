package acp

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/program"
)

// linger bounds how long what a program has left in its pipes is waited for
// when it has ended: a child of it may hold them open for ever.
const linger = 250 * time.Millisecond

// markerName is the environment variable by which the children of a program are
// found when they have left it.
const markerName = "COVEY_PROGRAM="

// process is a running agent program.
type process struct {
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *program.Tail
	grace   time.Duration
	marker  string        // the entry of its environment that its descendants are found by
	ended   chan struct{} // closed when it has been waited for
	release func()
}

// startProcess starts the program in a process group and session of its own.
// The caller must stop it. Pipes are made here, not by exec: its own would be
// closed by Wait, with the last words of the program still in them. Started is
// called before anything is sent, so that a covey which is killed from here on
// has left the pid to the next one.
func startProcess(o *Options) (*process, error) {
	// The program sees what the environment it gets says, and so do we.
	path, err := lookPath(o.Command[0], o.Env)
	if err != nil {
		return nil, err
	}
	p := &process{stderr: &program.Tail{}, grace: o.Timeouts.Grace, ended: make(chan struct{}), release: func() {}}
	in, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	outRead, out, err := os.Pipe()
	if err != nil {
		inWrite.Close()
		return nil, err
	}
	defer out.Close()
	p.stdin, p.stdout = inWrite, outRead
	p.marker = markerName + rand.Text()
	p.cmd = &exec.Cmd{
		Path: path, Args: o.Command, Env: append(slices.Clone(o.Env), p.marker), Dir: o.Dir,
		Stdin: in, Stdout: out, Stderr: p.stderr, WaitDelay: linger, SysProcAttr: proc.OwnSession(),
	}
	if err := p.cmd.Start(); err != nil {
		inWrite.Close()
		outRead.Close()
		return nil, err
	}
	if o.Started != nil {
		if release := o.Started(p.cmd.Process.Pid); release != nil {
			p.release = release
		}
	}
	// The ends that the program has got are closed here, or its output would never
	// end for us.
	go p.wait() // stop waits for it
	return p, nil
}

// wait waits for the program, and no longer than linger for the end of its
// output, which its children may hold open.
func (p *process) wait() {
	// WaitDelay bounds the wait for stderr, which children may hold as well.
	_ = p.cmd.Wait() // how it ended is in ProcessState
	_ = p.stdout.SetReadDeadline(time.Now().Add(linger))
	p.release()
	close(p.ended)
}

// stop ends the program and all that descends from it, asking first, and waits
// until it is gone. Stopping what has ended is fine. It takes at most grace and
// a moment more. What the program has left running goes even if the program
// itself ended well, or was killed: programs give the commands of their tools
// sessions of their own, and those would write to the workspace behind the next
// turn's back.
func (p *process) stop() {
	proc.EndTree(p.cmd.Process.Pid, p.marker, p.grace, p.ended)
	<-p.ended
}

// epitaph says how the program ended, for people. One that has closed its
// output may take a moment more.
func (p *process) epitaph() string {
	text := "still running"
	select {
	case <-p.ended:
		text = p.cmd.ProcessState.String()
	case <-time.After(linger):
	}
	if said := p.stderr.Text(); said != "" {
		text += "; its last words: " + said
	}
	return text
}

// lookPath finds a program on the PATH of env, never in the current folder:
// agents write there. A name with a slash is taken as it is. Of several PATH
// entries the last counts, as for the program itself.
func lookPath(name string, env []string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	var dirs string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			dirs = value
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH of the agent's environment: %w", name, exec.ErrNotFound)
}
