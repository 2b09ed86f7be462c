package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/coveyteam/covey/hooks"
)

// policies are the gates that ship with covey (DESIGN 4). Each refuses with
// what the member should do instead.
func (c *crew) policies() map[string]hooks.Policy {
	return map[string]hooks.Policy{
		"no-open-tasks":  c.noOpenTasks,
		"work-committed": workCommitted,
		"report-sent":    c.reportSent,
	}
}

// agree is the verdict of a policy that has nothing against it.
func agree() hooks.Result { return hooks.Result{Outcome: hooks.Success} }

// refuse is the verdict of a policy that has. The text goes to the model: it says
// what to do, not only what is wrong.
func refuse(format string, args ...any) hooks.Result {
	return hooks.Result{Outcome: hooks.Blocking, ExitCode: 2, Feedback: fmt.Sprintf(format, args...)}
}

// broken is a policy that could not find out; as a gate it refuses.
// It is no refusal, because a hook of this name fails open as all hooks do.
func broken(err error) hooks.Result {
	return hooks.Result{Outcome: hooks.NonBlockingError, ExitCode: 1, Warning: err.Error()}
}

// memberOf is the member that an input is about. Hooks of the lead name no
// teammate; who they are for follows from the session.
func (c *crew) memberOf(in hooks.Input) string {
	var name string
	switch p := in.Payload.(type) {
	case hooks.TeammateIdleInput:
		name = p.TeammateName
	case hooks.TaskCompletedInput:
		name = p.TeammateName
	case hooks.StopInput:
		name = p.TeammateName
	default:
		name, _, _ = strings.Cut(in.AgentID, "@")
	}
	if s, ok := c.bySession(in.SessionID); ok && name == "" {
		return s.member.Name
	}
	return name
}

// noOpenTasks refuses while the member owns a task that it could work on, or
// while one that it could take waits for somebody.
func (c *crew) noOpenTasks(ctx context.Context, in hooks.Input) hooks.Result {
	all, err := c.store.List(ctx)
	if err != nil {
		return broken(err)
	}
	member := c.memberOf(in)
	s, ok := c.seat(member)
	words := byTools
	if ok {
		words = tongueOf(s.member.Agent)
	}
	if own := actable(all, member); member != "" && len(own) > 0 {
		return refuse("You still own %s. Finish with %s, or give it back.", taskNames(own), words.completing())
	}
	for _, t := range all {
		if ready(t, all) && t.Owner == "" && (!ok || suits(t, skillsOf(s.member))) {
			return refuse("Task #%s (%s) is ready and nobody has it. Claim it with %s.", t.ID, t.Subject, words.claiming(t.ID))
		}
	}
	return agree()
}

// workCommitted refuses while git sees changes in the member's directory. It
// does not look into submodules: git would go by their settings there.
func workCommitted(ctx context.Context, in hooks.Input) hooks.Result {
	quiet, err := harmless(ctx, in.Cwd)
	if err != nil {
		return broken(err)
	}
	out, err := git(ctx, in.Cwd, append(quiet,
		"status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty")...)
	if err != nil {
		return broken(err)
	}
	if text := strings.TrimRight(out, "\n"); text != "" {
		return refuse("There are changes that are not committed:\n%s\nCommit what belongs to your task, or take it back.", text)
	}
	return agree()
}

// harmless are the options that keep git from running what a repository's own
// settings name. Nobody has trusted those, and whoever can write a file in the
// workspace can write them. A filter that the user has set up is left alone:
// without it, files would look changed that are not.
func harmless(ctx context.Context, dir string) ([]string, error) {
	options := []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}
	out, err := git(ctx, dir, "config", "--show-scope", "--name-only", "-z", "--list")
	if err != nil {
		return nil, err
	}
	settings := strings.Split(out, "\x00") // scope, key, scope, key, …
	for i := 0; i+1 < len(settings); i += 2 {
		scope, key := settings[i], settings[i+1]
		if scope != "local" && scope != "worktree" || !strings.HasPrefix(key, "filter.") {
			continue
		}
		value := "=" // no program
		if strings.HasSuffix(key, ".required") {
			value = "=false"
		}
		options = append(options, "-c", key+value)
	}
	return options, nil
}

// git runs git without covey's secrets, and without letting it write or fetch.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(environment(os.Environ()), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(strings.TrimSpace(cmp.Or(string(exit.Stderr), err.Error())))
	}
	if err != nil {
		return "", fmt.Errorf("git in %s: %w", dir, err)
	}
	return string(out), nil
}

// reportSent refuses while the member has completed a task since it last wrote
// to the lead.
func (c *crew) reportSent(ctx context.Context, in hooks.Input) hooks.Result {
	s, ok := c.seat(c.memberOf(in))
	if !ok || s.lead {
		return agree() // the lead reports to nobody
	}
	if c.journal != nil {
		c.journal.catchUp(ctx) // a report that was just sent counts
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if open := s.watch.unreported; len(open) > 0 {
		return refuse("You have completed #%s and the lead has not heard of it. Send %s a message about the result first.",
			strings.Join(open, ", #"), c.seats()[0].member.Name)
	}
	return agree()
}
