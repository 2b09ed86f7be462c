package merging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks/verdicts"
)

// Verdicts keep what gates have said; a tasks.Store does.
type Verdicts interface {
	Find(ctx context.Context, k verdicts.Key) (verdicts.Verdict, bool, error)
	Add(ctx context.Context, v verdicts.Verdict) error
}

// Book stands before gates that are commands: it knows what they have said about
// the very same files, and gives them the scripts of the commit that the work
// began from. Its methods may be called from several goroutines at once.
type Book struct {
	Store   Verdicts
	Scripts string // a folder of covey's own, for scripts in the state of a commit
	// Reused is told of each verdict that saves a run; nil: nobody.
	Reused func(verdicts.Verdict)
	// Warn is told what does not work but changes no verdict; nil: nobody.
	Warn func(error)

	looking sync.Mutex // an index is brought up to date by one at a time
}

// Case is where a gate is asked, and about what.
type Case struct {
	Copy  *worktree.Repo // the working copy under test
	Base  string         // the commit whose scripts count
	Trust string         // folder whose files serve for scripts that Base has not; empty: none
	Index string         // kept between the looks at Copy; empty: none is (worktree.Repo.State)
	Cwd   string         // where gates run, below Copy.Top
	// Subject, Moment and Member go into the verdict (verdicts.Verdict). Without a Subject
	// no verdict is kept: gates of a turn end look at more than files.
	Subject, Moment, Member string
	Told                    string // what the gate hears besides; another text is another question
}

// script is a file that a gate's command names.
type script struct {
	Path string // below the repository's first folder, with slashes
	ID   string // hash of the content that counts; empty: there is none anywhere
	to   string // where that content lies; empty: where it is named
}

// Sitting says how a gate is to be run in a case. A verdict counts for the files
// that were there from its beginning to its end, and only a yes is used again: what
// refused may have had another reason, and asking it again costs the author less
// than a no that is not true any more.
func (b *Book) Sitting(ctx context.Context, c Case, gate hooks.Handler) runner.GateRun {
	run, hash, err := b.command(ctx, c, gate)
	if err != nil {
		return runner.GateRun{Fault: fmt.Sprintf("its script could not be taken from the commit that work began from: %v", err)}
	}
	if c.Subject == "" {
		return run
	}
	tree, err := b.look(ctx, c)
	if err != nil || tree == "" {
		b.warn(err)
		return run
	}
	key := verdicts.Key{Tree: tree, Gate: hash, Subject: c.Subject}
	v, found, err := b.Store.Find(ctx, key)
	b.warn(err)
	if found && v.Pass {
		if b.Reused != nil {
			b.Reused(v)
		}
		return runner.GateRun{Known: &hooks.Result{Outcome: hooks.Success}}
	}
	run.Heard = func(r hooks.Result) { b.hear(ctx, c, key, gate, r) }
	return run
}

// hearing is how long noting a verdict may take, also when nobody waits any more.
const hearing = time.Minute

// hear stores a verdict, if the files are still those that the gate was asked about.
func (b *Book) hear(ctx context.Context, c Case, key verdicts.Key, gate hooks.Handler, r hooks.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hearing)
	defer cancel()
	tree, err := b.look(ctx, c)
	if err != nil || tree != key.Tree {
		b.warn(err)
		return
	}
	b.warn(b.Store.Add(ctx, verdicts.Verdict{
		Key: key, Command: gate.Command, Moment: c.Moment, Member: c.Member, Duration: r.Duration,
		Pass: r.Outcome == hooks.Success, Feedback: r.Feedback, Log: joined(r.Stdout, r.Stderr),
	}))
}

// joined puts the two outputs of a gate one below the other.
func joined(stdout, stderr string) string {
	if stdout != "" && stderr != "" && stdout[len(stdout)-1] != '\n' {
		stdout += "\n"
	}
	return stdout + stderr
}

// look gives the tree under test; empty where no tree can hold all of it.
func (b *Book) look(ctx context.Context, c Case) (string, error) {
	state, err := b.State(ctx, c.Copy, c.Index)
	if err != nil || len(state.Beyond)+len(state.Withheld) > 0 {
		return "", err
	}
	return state.Tree, nil
}

// State takes down what lies in a working copy, one look at a time: gates of one turn end
// run side by side, and they share the index.
func (b *Book) State(ctx context.Context, copy *worktree.Repo, index string) (worktree.State, error) {
	b.looking.Lock()
	defer b.looking.Unlock()
	return copy.State(ctx, index)
}

// warn passes on what went wrong beside the verdict.
func (b *Book) warn(err error) {
	if err != nil && b.Warn != nil {
		b.Warn(err)
	}
}

// command is what is to be run for a gate, and the gate's own hash.
func (b *Book) command(ctx context.Context, c Case, gate hooks.Handler) (runner.GateRun, string, error) {
	var run runner.GateRun
	words := scriptsIn(gate.Command)
	if gate.Args != nil {
		words = scriptsOf(append([]string{gate.Command}, gate.Args...))
	}
	cwd := c.Cwd
	if gate.Cwd != "" && !filepath.IsAbs(gate.Cwd) {
		cwd = filepath.Join(cwd, gate.Cwd)
	}
	var scripts []script
	instead := map[string]string{}
	for _, w := range words {
		s, err := b.script(ctx, c, filepath.Join(cwd, filepath.FromSlash(w.path)))
		if err != nil {
			return run, "", fmt.Errorf("what to run: %w", err)
		}
		scripts, instead[w.path] = append(scripts, s), s.to
	}
	switch {
	case gate.Args == nil:
		if line := replaced(gate.Command, words, instead); line != gate.Command {
			run.Command = line
		}
	default:
		run.Command, run.Args = inExecForm(gate, words, instead)
	}
	hash, err := hashOf(gate, scripts, c.Told)
	return run, hash, err
}

// scriptsOf is scriptsIn for a command that is a list of words.
func scriptsOf(args []string) []word {
	if i, ok := scriptAt(args); ok {
		return []word{{path: args[i], start: i}}
	}
	return nil
}

// inExecForm puts the path of a script into a gate that is a list of words; without
// one it gives nothing.
func inExecForm(gate hooks.Handler, words []word, instead map[string]string) (string, []string) {
	for _, w := range words {
		to := instead[w.path]
		if to == "" {
			continue
		}
		if w.start == 0 {
			return to, gate.Args
		}
		args := append([]string{}, gate.Args...)
		args[w.start-1] = to
		return gate.Command, args
	}
	return "", nil
}

// hashOf tells gates apart that may say different things about the same files.
func hashOf(gate hooks.Handler, scripts []script, told string) (string, error) {
	data, err := json.Marshal(struct {
		Command, Shell, Cwd string
		Args                []string
		Env                 map[string]string
		Scripts             []script
		Told                string
	}{gate.Command, gate.Shell, gate.Cwd, gate.Args, gate.Env, scripts, told})
	if err != nil {
		return "", fmt.Errorf("hash a gate: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// script finds the content that counts for a script: that of the base commit, else
// that of the trusted folder. One that both lack is left as it is.
func (b *Book) script(ctx context.Context, c Case, file string) (script, error) {
	rel, err := filepath.Rel(c.Copy.Top, file)
	if err != nil || !filepath.IsLocal(rel) {
		return script{Path: file}, nil // it lies outside of what is under test
	}
	s := script{Path: filepath.ToSlash(rel)}
	content, err := b.trusted(ctx, c, s.Path)
	if err != nil || content == nil {
		return s, err
	}
	sum := sha256.Sum256(content)
	s.ID = hex.EncodeToString(sum[:])
	if same(file, content) {
		return s, nil
	}
	s.to, err = b.layOut(s, content)
	return s, err
}

// trusted reads a script where its author under test could not have changed it; nil:
// it is nowhere.
func (b *Book) trusted(ctx context.Context, c Case, p string) ([]byte, error) {
	mode, _, err := c.Copy.Entry(ctx, c.Base, p)
	if err != nil {
		return nil, fmt.Errorf("its trusted version: %w", err)
	}
	switch mode {
	case "100644", "100755":
		return c.Copy.File(ctx, c.Base, p)
	case "":
	default:
		return nil, fmt.Errorf("%s is no file in commit %.10s, but a link or folder; name the script itself", p, c.Base)
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

// same reports whether a file is one that can be run, with this content. A link is
// not, whatever it leads to: it could lead somewhere else by the time it is run.
func same(file string, content []byte) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(content)) {
		return false
	}
	have, err := os.ReadFile(file)
	return err == nil && bytes.Equal(have, content)
}

// layOut writes a script where no member writes, once for each content.
func (b *Book) layOut(s script, content []byte) (string, error) {
	dir := filepath.Join(b.Scripts, s.ID[:16])
	to := filepath.Join(dir, path.Base(s.Path))
	if same(to, content) {
		return to, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("lay a script out: %w", err)
	}
	f, err := os.CreateTemp(dir, ".part-")
	if err != nil {
		return "", fmt.Errorf("lay a script out: %w", err)
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
