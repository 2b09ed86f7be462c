package teamhooks

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
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/teammate/workspace"
)

// reloadEvery is the interval at which files are checked without a notification, because not
// all file systems send one.
const reloadEvery = 2 * time.Second

// ReloaderDeps are a Reloader's dependencies.
type ReloaderDeps struct {
	Team    *configs.Team
	Layers  Layers           // the team's hooks as they were read
	Managed []string         // folders of managed settings
	Watch   *workspace.Watch // of the Reloader alone

	// Fire runs the hooks of an event in a member's name; an empty one means the lead's.
	Fire func(ctx context.Context, member string, p hooks.Payload) (hooks.Outcome, error)
	Warn func(format string, args ...any) // tells people
	// Apply replaces a team's layers. If it fails, the old ones stay.
	Apply func(*configs.Team, Layers) error
	// Trusted reports whether an entry of trust.json counts.
	Trusted func(api.TrustNotice) bool
}

// Reloader applies changes in the files of a team's hooks while the team runs.
// The goroutine of Run owns its state.
//
// Agents can write in the workspace. So the new content of a file there applies only after the
// operator has trusted it; until then, and if the file is invalid or missing, the old content
// applies. A change is applied as a whole or not at all.
type Reloader struct {
	deps  ReloaderDeps
	team  *configs.Team // whose hooks count
	asked chan chan api.ReloadReply
	spec  chan func() // changes of the spec, which replace what was read

	counts Files
	seen   map[string]os.FileInfo // the state of files when they were last read
	kept   map[string]keptChange  // changes that were not applied, by path
	warned map[string]bool        // warnings that were given about applied files
	ran    map[string]bool        // programs whose change was reported
	loaded map[string]bool        // files that were applied, and that no reply has listed
}

// NewReloader makes the Reloader of a team that is about to run.
func NewReloader(o ReloaderDeps) *Reloader {
	r := &Reloader{
		deps: o, team: o.Team, asked: make(chan chan api.ReloadReply), spec: make(chan func()),
		seen: map[string]os.FileInfo{}, warned: map[string]bool{}, ran: map[string]bool{}, loaded: map[string]bool{},
	}
	r.use(o.Team, o.Layers)
	for _, w := range o.Layers.Warnings {
		r.warned[w.Error()] = true
	}
	return r
}

// use makes the files of layers the current ones.
func (r *Reloader) use(team *configs.Team, l Layers) {
	files := l.Files.With(nil)
	for _, path := range settings.ManagedFiles(r.deps.Managed) {
		files[path] = ReadFile(path)
	}
	r.team, r.counts, r.kept = team, files, map[string]keptChange{}
}

// keptChange is a change that was not applied.
type keptChange struct {
	reason string
	hash   string // of the new content; empty if the file is missing
}

// Run checks the files when they change, when Ask is called, and at intervals, until ctx ends.
//
// One goroutine follows notifications, because waiting for one cannot be combined with the
// other channels; Run waits for it. While ConfigChange hooks run, Ask and Adopt wait.
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
			reply <- r.report(ctx)
		case change := <-r.spec:
			change()
		}
	}
}

// follow sends the paths of files that change, until ctx ends.
func (r *Reloader) follow(ctx context.Context, changes chan<- string) {
	for {
		c, err := r.deps.Watch.Next(ctx)
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

// program warns people, once per program, that a program of a hook has changed. Unlike
// settings, programs run with their current content.
func (r *Reloader) program(path string) {
	file := ReadFile(path)
	if r.ran[path] || !r.programs()[path] || file.Err == nil && trust.Covers(r.team, path, file.Data, r.deps.Trusted) {
		return
	}
	r.ran[path] = true
	r.deps.Warn("%s, which hooks run, has changed while the team runs; `covey trust --show` shows the difference", path)
}

// programs returns the files that the team's commands name.
func (r *Reloader) programs() map[string]bool {
	paths := map[string]bool{}
	for _, run := range trust.RunsOf(r.team) {
		if run.Kind == trust.RunFile {
			paths[run.Path] = true
		}
	}
	return paths
}

// Ask makes Run check the files, and waits for the result.
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

// Adopt replaces the hooks with those of another spec, and watches its files. It waits until
// this is done. If it fails, nothing has changed.
//
// If ctx ends while the change is being made, the change goes on and its result is lost to
// the caller. done has room for it, so Run does not block.
func (r *Reloader) Adopt(ctx context.Context, team *configs.Team, l Layers) error {
	done := make(chan error, 1)
	change := func() {
		err := r.deps.Apply(team, l)
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

// report takes up what has changed, and lists what was applied since the last report: a
// notification of the file system may have come before the question.
func (r *Reloader) report(ctx context.Context) api.ReloadReply {
	reply := r.look(ctx, true)
	reply.Applied = slices.AppendSeq(reply.Applied[:0], maps.Keys(r.loaded))
	slices.Sort(reply.Applied)
	clear(r.loaded)
	return reply
}

// look takes up what has changed. Without all, only files that the system shows as
// changed, or that wait for something, are read.
func (r *Reloader) look(ctx context.Context, all bool) api.ReloadReply {
	reply := api.ReloadReply{Applied: []string{}, Kept: []api.KeptFile{}}
	taken := Files{}
	for _, path := range r.counts.Paths(slices.Concat(r.team.HookFiles(), settings.ManagedFiles(r.deps.Managed))) {
		if !all && !r.touched(path) {
			continue
		}
		now := ReadFile(path)
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

// settled reports whether a file changes no hook.
func (r *Reloader) settled(path string, now File) bool {
	was, known := r.counts[path]
	if known && now.Same(was) || !known && now.Err != nil {
		return true
	}
	if now.Err != nil || settings.MayHook(path, now.Data) || settings.MayHook(path, was.Data) {
		return false
	}
	r.counts[path] = now
	return true
}

// touched reports whether a file may have changed. It is always true for a change that waits
// for trust, because trusting it does not change the file.
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

// against returns why a changed file keeps its old content, or "" if the new content applies.
// The file must be readable before it can be trusted, and trusted before ConfigChange hooks
// run for it.
func (r *Reloader) against(ctx context.Context, path string, now File) string {
	managed := slices.Contains(settings.ManagedFiles(r.deps.Managed), path)
	switch {
	case managed && errors.Is(now.Err, fs.ErrNotExist): // the administrator has removed it
	case now.Err != nil:
		return fmt.Sprintf("it cannot be read any more (%v)", now.Err)
	default:
		if fault := settings.Fault(path, now.Data); fault != "" {
			return fault
		}
	}
	if !managed && r.team.Place().Brings(path) && !trust.Covers(r.team, path, now.Data, r.deps.Trusted) {
		return "nobody has trusted what is new; look at it with `covey trust --show`, and trust it with `covey trust`"
	}
	if k, before := r.kept[path]; before && k.hash == now.Hash() && k.reason == blockedChange {
		return blockedChange // hooks decide about a change only once
	}
	out, err := r.deps.Fire(ctx, "", hooks.ConfigChangeInput{Source: r.sourceOf(path), FilePath: path})
	switch {
	case err != nil:
		return fmt.Sprintf("the ConfigChange hooks could not run: %v", err)
	case !managed && out.Decision != hooks.Pass:
		return blockedChange
	}
	return ""
}

// blockedChange is the reason for a change that a hook has refused.
const blockedChange = "a ConfigChange hook has blocked the change"

// keep records that a change was not applied, and tells people once.
func (r *Reloader) keep(path string, now File, reason string) api.KeptFile {
	delete(r.loaded, path)
	k := keptChange{reason: reason, hash: now.Hash()}
	if r.kept[path] != k {
		r.kept[path] = k
		r.deps.Warn("%s has changed, and its old content still counts: %s", path, reason)
	}
	return api.KeptFile{Path: path, Reason: reason}
}

// takeUp applies changed files, all of them or none.
func (r *Reloader) takeUp(taken Files, reply *api.ReloadReply) {
	// The hooks are read from the contents that were checked, and not from the disk again,
	// where a member may have written in between.
	next := r.counts.With(taken)
	l, err := ReadLayers(r.team, next.Read)
	var managed settings.Managed
	if err == nil {
		var warnings []error
		if managed, warnings, err = settings.LoadManaged(r.deps.Managed); err == nil {
			l.AddManaged(managed, warnings)
		}
	}
	if err == nil {
		err = r.deps.Apply(r.team, l)
	}
	for _, path := range taken.Paths(nil) {
		if err != nil {
			reply.Kept = append(reply.Kept, r.keep(path, taken[path], err.Error()))
			continue
		}
		delete(r.kept, path)
		r.loaded[path] = true
		reply.Applied = append(reply.Applied, path)
		r.deps.Warn("%s has changed; it counts from now on", path)
	}
	if err != nil {
		return
	}
	r.counts = next
	for _, w := range l.Warnings {
		if text := w.Error(); !r.warned[text] {
			r.warned[text] = true
			r.deps.Warn("%s", text)
		}
	}
	r.rewatch()
}

// sourceOf returns the source of a file in the input of ConfigChange.
func (r *Reloader) sourceOf(path string) string {
	switch {
	case slices.Contains(settings.ManagedFiles(r.deps.Managed), path):
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

// rewatch watches the files of the hooks and the programs that they run.
func (r *Reloader) rewatch() {
	paths := r.counts.Paths(slices.Concat(r.team.HookFiles(), settings.ManagedFiles(r.deps.Managed)))
	paths = slices.AppendSeq(paths, maps.Keys(r.programs()))
	if err := r.deps.Watch.Set(paths); err != nil && !r.warned[err.Error()] {
		r.warned[err.Error()] = true
		r.deps.Warn("changes are noticed a little later: %v", err)
	}
}
