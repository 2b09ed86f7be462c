package hooking

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/hookfiles"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/teammate/workspace"
)

// reloadEvery is how often files are looked at even if the system has told of no
// change: not all file systems do.
const reloadEvery = 2 * time.Second

// ReloaderOptions are what a Reloader needs of the team that it belongs to.
type ReloaderOptions struct {
	Team    *configs.Team
	Layers  hooklist.Layers  // the team's hooks as they were read
	Managed []string         // folders of managed settings
	Watch   *workspace.Watch // of the Reloader alone

	Fire func(context.Context, hooks.Payload) (hooks.Outcome, error) // runs the ConfigChange hooks
	Warn func(format string, args ...any)                            // tells people
	// Apply has layers count for a team from now on; an error means that the old ones do.
	Apply func(*configs.Team, hooklist.Layers) error
	// Trusted says whether an entry of trust.json counts.
	Trusted func(api.TrustNotice) bool
}

// Reloader takes up what changes in the files of a team's hooks while it runs
// (DESIGN 10.7). Its goroutine is Run; everything else of it belongs to that.
//
// Agents work where these files lie. So a file that the workspace brings counts
// with its new content only once an operator has trusted that, and until then, as
// when it is broken or gone, with its old one. A change never takes effect half.
type Reloader struct {
	opts  ReloaderOptions
	team  *configs.Team // whose hooks count
	asked chan chan api.ReloadReply
	spec  chan func() // changes of the spec, which take the place of what was read

	counts hooklist.Files
	seen   map[string]os.FileInfo // as files were when they were last read
	kept   map[string]keptChange  // changes that were not taken up, by path
	warned map[string]bool        // what people were told of the files that count
	ran    map[string]bool        // programs whose change people were told of
}

// NewReloader makes the Reloader of a team that is about to run.
func NewReloader(o ReloaderOptions) *Reloader {
	r := &Reloader{
		opts: o, team: o.Team, asked: make(chan chan api.ReloadReply), spec: make(chan func()),
		seen: map[string]os.FileInfo{}, warned: map[string]bool{}, ran: map[string]bool{},
	}
	r.use(o.Team, o.Layers)
	for _, w := range o.Layers.Warnings {
		r.warned[w.Error()] = true
	}
	return r
}

// use makes the files of layers those that count.
func (r *Reloader) use(team *configs.Team, l hooklist.Layers) {
	files := l.Files.With(nil)
	for _, path := range hookfiles.ManagedFiles(r.opts.Managed) {
		files[path] = hooklist.ReadFile(path)
	}
	r.team, r.counts, r.kept = team, files, map[string]keptChange{}
}

// keptChange is a change that was not taken up.
type keptChange struct {
	reason string
	hash   string // of the new content; empty: there is none
}

// Run looks at the files when they change, when somebody asks, and now and then,
// until ctx ends.
func (r *Reloader) Run(ctx context.Context) {
	changes := make(chan string)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { r.follow(ctx, changes) })
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	r.rewatch()
	for {
		select {
		case <-ctx.Done():
			return
		case path := <-changes:
			r.program(path)
			r.look(ctx, true)
		case <-tick.C:
			r.look(ctx, false)
		case reply := <-r.asked:
			reply <- r.look(ctx, true)
		case change := <-r.spec:
			change()
		}
	}
}

// follow passes on the paths of files that change, until ctx ends.
func (r *Reloader) follow(ctx context.Context, changes chan<- string) {
	for {
		c, err := r.opts.Watch.Next(ctx)
		if err != nil {
			return
		}
		select {
		case changes <- c.Path:
		case <-ctx.Done():
			return
		}
	}
}

// program tells people, once for each, of a program that hooks run and that has
// changed: other than settings, programs are run as they are on disk.
func (r *Reloader) program(path string) {
	file := hooklist.ReadFile(path)
	if r.ran[path] || !r.programs()[path] || file.Err == nil && trust.Covers(r.team, path, file.Data, r.opts.Trusted) {
		return
	}
	r.ran[path] = true
	r.opts.Warn("%s, which hooks run, has changed while the team runs; `covey trust --show` shows the difference", path)
}

// programs are the files that the team's commands name.
func (r *Reloader) programs() map[string]bool {
	paths := map[string]bool{}
	for _, run := range trust.RunsOf(r.team) {
		if run.Kind == trust.RunFile {
			paths[run.Path] = true
		}
	}
	return paths
}

// Ask has the files looked at, and waits for what comes of it.
func (r *Reloader) Ask(ctx context.Context) (api.ReloadReply, error) {
	reply := make(chan api.ReloadReply, 1)
	select {
	case r.asked <- reply:
	case <-ctx.Done():
		return api.ReloadReply{}, ctx.Err()
	}
	select {
	case answer := <-reply:
		return answer, nil
	case <-ctx.Done():
		return api.ReloadReply{}, ctx.Err()
	}
}

// Adopt has the hooks of another spec count, and its files be watched. It waits
// until they do; an error means that nothing has changed.
func (r *Reloader) Adopt(ctx context.Context, team *configs.Team, l hooklist.Layers) error {
	done := make(chan error, 1)
	change := func() {
		err := r.opts.Apply(team, l)
		if err == nil {
			r.use(team, l)
			r.rewatch()
		}
		done <- err
	}
	select {
	case r.spec <- change:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look takes up what has changed. Without all, only files that the system shows as
// changed, or that wait for something, are read.
func (r *Reloader) look(ctx context.Context, all bool) api.ReloadReply {
	reply := api.ReloadReply{Applied: []string{}, Kept: []api.KeptFile{}}
	taken := hooklist.Files{}
	for _, path := range r.counts.Paths(slices.Concat(r.team.HookFiles(), hookfiles.ManagedFiles(r.opts.Managed))) {
		if !all && !r.touched(path) {
			continue
		}
		now := hooklist.ReadFile(path)
		if r.settled(path, now) {
			delete(r.kept, path)
			continue
		}
		if reason := r.against(ctx, path, now); reason != "" {
			reply.Kept = append(reply.Kept, r.keep(path, now, reason))
			continue
		}
		if ctx.Err() != nil {
			return reply
		}
		taken[path] = now
	}
	if len(taken) > 0 {
		r.takeUp(taken, &reply)
	}
	return reply
}

// settled reports whether a file brings no change of any hook.
func (r *Reloader) settled(path string, now hooklist.File) bool {
	was, known := r.counts[path]
	if known && now.Same(was) || !known && now.Err != nil {
		return true
	}
	if now.Err != nil || hookfiles.MayHook(path, now.Data) || hookfiles.MayHook(path, was.Data) {
		return false
	}
	r.counts[path] = now
	return true
}

// touched reports whether a file may hold something new. A change that waits for
// trust is looked at each time: trust comes from elsewhere.
func (r *Reloader) touched(path string) bool {
	if _, waits := r.kept[path]; waits {
		return true
	}
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	was, known := r.seen[path]
	r.seen[path] = info
	switch {
	case !known:
		return true
	case was == nil || info == nil:
		return was != info
	}
	return !os.SameFile(was, info) || was.Size() != info.Size() || !was.ModTime().Equal(info.ModTime())
}

// against says why a changed file keeps its old content; "" means that it does not.
// The order is that of doubt: what nobody can read need not be trusted, and what
// is not trusted runs no hooks.
func (r *Reloader) against(ctx context.Context, path string, now hooklist.File) string {
	managed := slices.Contains(hookfiles.ManagedFiles(r.opts.Managed), path)
	switch {
	case managed && errors.Is(now.Err, fs.ErrNotExist): // the administrator has taken it away
	case now.Err != nil:
		return fmt.Sprintf("it cannot be read any more (%v)", now.Err)
	default:
		if fault := hookfiles.Fault(path, now.Data); fault != "" {
			return fault
		}
	}
	if !managed && r.team.Place().Brings(path) && !trust.Covers(r.team, path, now.Data, r.opts.Trusted) {
		return "nobody has trusted what is new; look at it with `covey trust --show`, and trust it with `covey trust`"
	}
	if k, before := r.kept[path]; before && k.hash == now.Hash() && k.reason == blockedChange {
		return blockedChange // it was asked once
	}
	out, err := r.opts.Fire(ctx, hooks.ConfigChangeInput{Source: r.sourceOf(path), FilePath: path})
	switch {
	case err != nil:
		return fmt.Sprintf("the ConfigChange hooks could not run: %v", err)
	case !managed && out.Decision != hooks.Pass:
		return blockedChange
	}
	return ""
}

// blockedChange is why a change is not taken up that a hook has refused.
const blockedChange = "a ConfigChange hook has blocked the change"

// keep notes that a change was not taken up, and tells people once.
func (r *Reloader) keep(path string, now hooklist.File, reason string) api.KeptFile {
	k := keptChange{reason: reason, hash: now.Hash()}
	if r.kept[path] != k {
		r.kept[path] = k
		r.opts.Warn("%s has changed, and its old content still counts: %s", path, reason)
	}
	return api.KeptFile{Path: path, Reason: reason}
}

// takeUp has changed files count, all of them or none.
func (r *Reloader) takeUp(taken hooklist.Files, reply *api.ReloadReply) {
	next := r.counts.With(taken)
	l, err := hooklist.Read(r.team, next.Read)
	var managed hookfiles.Managed
	if err == nil {
		var warnings []error
		if managed, warnings, err = hookfiles.LoadManaged(r.opts.Managed); err == nil {
			l.AddManaged(managed, warnings)
		}
	}
	if err == nil {
		err = r.opts.Apply(r.team, l)
	}
	for _, path := range taken.Paths(nil) {
		if err != nil {
			reply.Kept = append(reply.Kept, r.keep(path, taken[path], err.Error()))
			continue
		}
		delete(r.kept, path)
		reply.Applied = append(reply.Applied, path)
		r.opts.Warn("%s has changed; it counts from now on", path)
	}
	if err != nil {
		return
	}
	r.counts = next
	for _, w := range l.Warnings {
		if text := w.Error(); !r.warned[text] {
			r.warned[text] = true
			r.opts.Warn("%s", text)
		}
	}
	r.rewatch()
}

// sourceOf is what ConfigChange calls the place of a file.
func (r *Reloader) sourceOf(path string) string {
	switch {
	case slices.Contains(hookfiles.ManagedFiles(r.opts.Managed), path):
		return "policy_settings"
	case !slices.Contains(r.team.Settings, path), filepath.Base(path) == "SKILL.md":
		return "skills" // plugins and heads of agent files
	case strings.Contains(filepath.Base(path), ".local."):
		return "local_settings"
	case r.team.Place().Brings(path):
		return "project_settings"
	}
	return "user_settings"
}

// rewatch has the files watched that hooks come from, and those that they run.
func (r *Reloader) rewatch() {
	paths := r.counts.Paths(slices.Concat(r.team.HookFiles(), hookfiles.ManagedFiles(r.opts.Managed)))
	paths = slices.AppendSeq(paths, maps.Keys(r.programs()))
	if err := r.opts.Watch.Set(paths); err != nil && !r.warned[err.Error()] {
		r.warned[err.Error()] = true
		r.opts.Warn("changes are noticed a little later: %v", err)
	}
}
