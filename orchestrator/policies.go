package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

func agree() hooks.Result { return hooks.Result{Outcome: hooks.Success} }

func refuse(format string, args ...any) hooks.Result {
	return hooks.Result{Outcome: hooks.Blocking, ExitCode: 2, Feedback: fmt.Sprintf(format, args...)}
}

// broken is a policy that could not find out; as a gate it refuses.
func broken(err error) hooks.Result {
	return hooks.Result{Outcome: hooks.NonBlockingError, ExitCode: 1, Warning: err.Error()}
}

// memberOf is the member that an input is about.
func memberOf(in hooks.Input) string {
	switch p := in.Payload.(type) {
	case hooks.TeammateIdleInput:
		return p.TeammateName
	case hooks.TaskCompletedInput:
		return p.TeammateName
	case hooks.StopInput:
		return p.TeammateName
	}
	name, _, _ := strings.Cut(in.AgentID, "@")
	return name
}

// noOpenTasks refuses while the member owns a task that it could work on, or
// while one that it could take waits for somebody.
func (c *crew) noOpenTasks(ctx context.Context, in hooks.Input) hooks.Result {
	all, err := c.store.List(ctx)
	if err != nil {
		return broken(err)
	}
	member := memberOf(in)
	if own := actable(all, member); len(own) > 0 {
		return refuse("You still own %s. Finish with TaskUpdate, or give it back.", taskNames(own))
	}
	s, ok := c.seat(member)
	for _, t := range all {
		if ready(t, all) && t.Owner == "" && (!ok || suits(t, skills{Tools: s.member.Tools})) {
			return refuse("Task #%s (%s) is ready and nobody has it. Claim it with TaskUpdate, status in_progress.", t.ID, t.Subject)
		}
	}
	return agree()
}

// workCommitted refuses while git sees changes in the member's directory.
func workCommitted(ctx context.Context, in hooks.Input) hooks.Result {
	// A hostile repository must not run programs of its own here.
	cmd := exec.CommandContext(ctx, "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"status", "--porcelain", "--untracked-files=normal")
	cmd.Dir = in.Cwd
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return broken(fmt.Errorf("git status: %s", strings.TrimSpace(cmp.Or(string(exit.Stderr), err.Error()))))
	}
	if err != nil {
		return broken(fmt.Errorf("git status: %w", err))
	}
	if text := strings.TrimRight(string(out), "\n"); text != "" {
		return refuse("There are changes that are not committed:\n%s\nCommit what belongs to your task, or take it back.", text)
	}
	return agree()
}

// reportSent refuses while the member has completed a task since it last wrote
// to the lead.
func (c *crew) reportSent(_ context.Context, in hooks.Input) hooks.Result {
	s, ok := c.seat(memberOf(in))
	if !ok {
		return agree()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(s.watch.unreported); n > 0 {
		return refuse("You have completed #%s and the lead has not heard of it. Send %s a message about the result first.",
			strings.Join(s.watch.unreported, ", #"), c.seats[0].member.Name)
	}
	return agree()
}
