package merging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks/requests"
)

// Book decides how command gates run. It reuses an earlier verdict on exactly the same
// files, and it runs the scripts of the commit that the work began from. Its methods
// may be called from several goroutines at once.
type Book struct {
	Store   *requests.VerdictBook
	Scripts string // folder for the scripts of base commits; no member writes there
	// Reused is called with each verdict that saves a run; may be nil.
	Reused func(requests.Verdict)
	// Judged is called with each new verdict once it is stored; may be nil.
	Judged func(requests.Verdict)
	// Made is called with the trees before and after a gate that changed files; may be nil.
	Made func(ctx context.Context, c Case, before, after string)
	// Warn is called with errors that change no verdict; may be nil.
	Warn func(error)
	// Sandbox returns the sandbox in which a gate runs, which is part of its hash; nil: gates run in none.
	Sandbox func(gate hooks.Handler) configs.Sandbox

	stateMu sync.Mutex // guards the index files that gates share
}

// Case describes where a gate runs and what it judges.
type Case struct {
	Copy  *worktree.Repo // the working copy under test
	Base  string         // the commit whose scripts count
	Trust string         // folder for scripts that Base lacks; empty: none
	Index string         // index file that speeds up reading Copy; empty: none (worktree.Repo.State)
	Cwd   string         // where gates run, below Copy.Top
	// Subject, Moment and Member go into the verdict (requests.Verdict). Without a
	// Subject no verdict is stored, because gates of a turn end judge more than files.
	Subject, Moment, Member string
	Input                   string // what else the gate reads; part of the gate's hash
}

// script is a file that a gate's command names.
type script struct {
	Path string // slash-separated, relative to the top of the repository
	ID   string // hash of the trusted content; empty: there is none
	to   string // file with that content; empty: the named file has it
}

// Plan returns how a gate is to run in a case. A verdict counts only if the files
// were the same at its beginning and its end, and only a pass is reused: a refusal may
// have had another cause, and running the gate again costs less than a stale refusal.
func (b *Book) Plan(ctx context.Context, c Case, gate hooks.Handler) runner.GateRun {
	run, hash, err := b.command(ctx, c, gate)
	if err != nil {
		return runner.GateRun{Fault: fmt.Sprintf("reading its script from the commit that the work began from: %v", err)}
	}
	if c.Subject == "" {
		return run
	}
	tree, err := b.tree(ctx, c)
	if err != nil || tree == "" {
		b.warn(err)
		return run
	}
	key := requests.VerdictKey{Tree: tree, Gate: hash, Subject: c.Subject}
	v, found, err := b.Store.Find(ctx, key)
	b.warn(err)
	if found && v.Pass {
		if b.Reused != nil {
			b.Reused(v)
		}
		return runner.GateRun{Known: &hooks.Result{Outcome: hooks.Success}}
	}
	run.OnVerdict = func(r hooks.Result) { b.storeVerdict(ctx, c, key, gate, r) }
	return run
}

// storeTimeout bounds the time to store a verdict, also after the caller has gone.
const storeTimeout = time.Minute

// storeVerdict stores a verdict if the files are still those that the gate judged.
func (b *Book) storeVerdict(ctx context.Context, c Case, key requests.VerdictKey, gate hooks.Handler,
	r hooks.Result,
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	tree, err := b.tree(ctx, c)
	if err != nil || tree != key.Tree {
		b.warn(err)
		if b.Made != nil && tree != "" {
			b.Made(ctx, c, key.Tree, tree)
		}
		return
	}
	v := requests.Verdict{
		VerdictKey: key, Command: gate.Command, Moment: c.Moment, Member: c.Member, Duration: r.Duration,
		Pass: r.Outcome == hooks.Success, Feedback: r.Feedback, Log: joined(r.Stdout, r.Stderr),
	}
	if err := b.Store.Add(ctx, v); err != nil {
		b.warn(err)
	} else if b.Judged != nil {
		b.Judged(v)
	}
}

// joined concatenates the two outputs of a gate, with a line break between them.
func joined(stdout, stderr string) string {
	if stdout != "" && stderr != "" && stdout[len(stdout)-1] != '\n' {
		stdout += "\n"
	}
	return stdout + stderr
}

// tree returns the tree under test; empty if no tree can hold all of it.
func (b *Book) tree(ctx context.Context, c Case) (string, error) {
	state, err := b.State(ctx, c.Copy, c.Index)
	if err != nil || len(state.Beyond)+len(state.Withheld) > 0 {
		return "", err
	}
	return state.Tree, nil
}

// State reads the state of a working copy. Calls run one at a time, because gates of
// one turn end run concurrently and share the index.
func (b *Book) State(ctx context.Context, copy *worktree.Repo, index string) (worktree.State, error) {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	return copy.State(ctx, index)
}

// warn reports an error that does not change the verdict.
func (b *Book) warn(err error) {
	if err != nil && b.Warn != nil {
		b.Warn(err)
	}
}

// command returns the command to run for a gate, and the hash of the gate.
func (b *Book) command(ctx context.Context, c Case, gate hooks.Handler) (runner.GateRun, string, error) {
	var run runner.GateRun
	words := scriptsIn(gate.Command)
	if gate.Args != nil {
		words = scriptsOf(shell.Args(append([]string{gate.Command}, gate.Args...)))
	}
	cwd := c.Cwd
	if gate.Cwd != "" && !filepath.IsAbs(gate.Cwd) {
		cwd = filepath.Join(cwd, gate.Cwd)
	}
	var scripts []script
	instead := map[string]string{}
	for _, w := range words {
		s, err := b.script(ctx, c, filepath.Join(cwd, filepath.FromSlash(w.Value)))
		if err != nil {
			return run, "", fmt.Errorf("find the command: %w", err)
		}
		scripts, instead[w.Value] = append(scripts, s), s.to
	}
	switch {
	case gate.Args == nil:
		if line := replaced(gate.Command, words, instead); line != gate.Command {
			run.Command = line
		}
	default:
		run.Command, run.Args = inExecForm(gate, words, instead)
	}
	var box *configs.Sandbox
	if b.Sandbox != nil {
		if s := b.Sandbox(gate); s.On() {
			box = &s
		}
	}
	hash, err := hashOf(gate, scripts, c.Input, box)
	return run, hash, err
}

// inExecForm replaces the script in the argument list of a gate. It returns zero values
// if there is nothing to replace.
func inExecForm(gate hooks.Handler, words []shell.Word, instead map[string]string) (string, []string) {
	for _, w := range words {
		to := instead[w.Value]
		if to == "" {
			continue
		}
		if w.At == 0 {
			return to, gate.Args
		}
		args := append([]string{}, gate.Args...)
		args[w.At-1] = to
		return gate.Command, args
	}
	return "", nil
}

// hashOf returns a hash of all that can make a gate judge the same files differently.
//
// Fields must keep their names and order: a changed hash makes all stored verdicts useless,
// and every gate runs again.
func hashOf(gate hooks.Handler, scripts []script, told string, box *configs.Sandbox) (string, error) {
	data, err := json.Marshal(struct {
		Command, Shell, Cwd string
		Args                []string
		Env                 map[string]string
		Scripts             []script
		Input               string           `json:"Told"` // as it is in stored hashes
		Sandbox             *configs.Sandbox `json:",omitempty"`
	}{gate.Command, gate.Shell, gate.Cwd, gate.Args, gate.Env, scripts, told, box})
	if err != nil {
		return "", fmt.Errorf("hash a gate: %w", err)
	}
	return texts.Digest(data), nil
}

// script finds the trusted content of a script: that of the base commit, else that of
// the trusted folder. A script that both lack runs as it is.
func (b *Book) script(ctx context.Context, c Case, file string) (script, error) {
	rel, ok := texts.Below(c.Copy.Top, file)
	if !ok {
		return script{Path: file}, nil // outside of the working copy under test
	}
	s := script{Path: rel}
	content, err := b.trusted(ctx, c, s.Path)
	if err != nil || content == nil {
		return s, err
	}
	s.ID = texts.Digest(content)
	if same(file, content) {
		return s, nil
	}
	s.to, err = b.writeScript(s, content)
	return s, err
}

// trusted reads a script from where the author under test cannot change it; nil if
// there is none.
func (b *Book) trusted(ctx context.Context, c Case, p string) ([]byte, error) {
	mode, _, err := c.Copy.Entry(ctx, c.Base, p)
	if err != nil {
		return nil, fmt.Errorf("read the trusted version: %w", err)
	}
	switch mode {
	case "100644", "100755":
		return c.Copy.File(ctx, c.Base, p)
	case "":
	default:
		return nil, fmt.Errorf("%s is a link or folder in commit %.10s; name the script itself", p, c.Base)
	}
	if c.Trust == "" {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(c.Trust, filepath.FromSlash(p)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// same reports whether file is a regular file with this content. A link never is,
// because its target could change before it runs.
func same(file string, content []byte) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(content)) {
		return false
	}
	have, err := os.ReadFile(file)
	return err == nil && bytes.Equal(have, content)
}

// writeScript writes a script to a folder that no member can write, once for each
// content.
func (b *Book) writeScript(s script, content []byte) (string, error) {
	dir := filepath.Join(b.Scripts, s.ID[:16])
	to := filepath.Join(dir, path.Base(s.Path))
	if same(to, content) {
		return to, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("write a script: %w", err)
	}
	f, err := os.CreateTemp(dir, ".part-")
	if err != nil {
		return "", fmt.Errorf("write a script: %w", err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o500), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return to, nil
}
