package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// MayRun decides, before anything is started, whether a team is trusted: it was
// trusted before, the flag trusts it, or the operator at the terminal agrees. The
// default is no. spec is the spec's name as the operator wrote it.
func (e *Env) MayRun(ctx context.Context, team *configs.Team, spec string, given bool) error {
	report, err := trust.Check(ctx, team)
	if err != nil {
		return err
	}
	if report.Trusted {
		return nil
	}
	if given {
		return NotFromInside("--trust")
	}
	text := TrustText(ctx, e.Err, team, report)
	if !e.Interactive() {
		return fmt.Errorf("%s%w; covey trust%s trusts it, --trust only for one run",
			text, ErrNotTrusted, SpecArg(spec))
	}
	if !e.Agreed(text + "\nRun it, and trust it until it changes?") {
		return fmt.Errorf("%s is %w; covey trust --show%s shows this again, and covey trust%s trusts it",
			spec, ErrNotTrusted, SpecArg(spec), SpecArg(spec))
	}
	if err := NotFromInside("to agree"); err != nil {
		return err
	}
	return trust.Remember(ctx, team, report)
}

// isYes reports whether an answer is yes. Anything else means no, including an empty
// answer.
func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// NotFromInside refuses calls from below a running team, so that a member cannot
// trust what it has written itself. An agent with a shell could otherwise change a
// hook and agree to the change.
func NotFromInside(what string) error {
	places, err := state.All()
	if err != nil {
		return err
	}
	for _, p := range places {
		team, err := state.Holder(p)
		if err != nil {
			run, _ := state.Running(p) // the next best
			team = run.PID
		}
		if team != 0 && descends(os.Getpid(), team) {
			return fmt.Errorf("%s is for people, and this comes from a member of team %s: %w",
				what, p.Team, api.ErrDenied)
		}
	}
	return nil
}

// TrustText describes what the operator has to agree to: everything that would run
// or, if some of it was trusted before, the difference. Nothing in it may hide:
// foreign text is made plain, and shortened text is marked.
func TrustText(ctx context.Context, s *term.Screen, team *configs.Team, r trust.Report) string {
	var b strings.Builder
	if r.Known && !r.Trusted {
		fmt.Fprintf(&b, "What %s would run has changed since it was trusted:\n", term.PlainLine(team.File))
		return b.String() + changesText(s, team, r.Changes)
	}
	fmt.Fprintf(&b, "%s would run what this workspace brings:\n", term.PlainLine(team.File))
	for _, item := range r.Items {
		text := runText(team, item.Run)
		if item.Path != "" && item.Hash == "" {
			text += " (is not there)"
		}
		fmt.Fprintf(&b, "  %s\n", text)
	}
	if copies := CopiesText(ctx, team); copies != "" {
		fmt.Fprintf(&b, "%s\n", copies)
	}
	return b.String()
}

// CopiesText returns which members get branches and working copies in the user's repository;
// empty if none does.
func CopiesText(ctx context.Context, team *configs.Team) string {
	look := workcopies.OutlookOf(ctx, team)
	if len(look.Members) == 0 || look.Fault != nil {
		return ""
	}
	branch, who := look.Members[0], look.Members[0]
	if len(look.Members) > 1 {
		branch, who = "MEMBER", "each of "+texts.Few(look.Members, 10)
	}
	return fmt.Sprintf("covey makes a git branch (%s) and a working copy (a clone) for %s.",
		worktree.BranchName(team.Name, branch), who)
}

// changesText describes how what would run differs from what is trusted.
func changesText(s *term.Screen, team *configs.Team, changes []trust.Change) string {
	var b strings.Builder
	for _, change := range changes {
		fmt.Fprintf(&b, "  %s %s\n", term.Padded(string(change.Kind), 8), runText(team, change.Run))
		for _, line := range headOf(term.Plain(change.Diff), maxDiff) {
			fmt.Fprintf(&b, "    %s\n", s.Paint(diffStyle(line), line))
		}
	}
	return b.String()
}

// runText describes one thing that would run, in one line. Paths below the spec's
// folder are relative, so that others stand out.
func runText(team *configs.Team, r trust.Run) string {
	what := Below(filepath.Dir(team.File), r.Path)
	if r.Command != "" {
		what = r.Command
		if r.Event != "" {
			what = string(r.Event) + ": " + what
		} else if r.Kind == trust.Gate {
			what = api.AtMerge + ": " + what
		}
	}
	return term.Padded(string(r.Kind), 8) + " " + term.PlainLine(what)
}

// maxDiff is how many lines of one difference are shown.
const maxDiff = 60

// headOf returns the first lines of a text, and a mark if there are more. most does
// not count the mark.
func headOf(text string, most int) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if len(lines) > most {
		return append(lines[:most:most], fmt.Sprintf("… %d more lines", len(lines)-most))
	}
	return lines
}

// diffStyle highlights the lines of a unified diff.
func diffStyle(line string) term.Style {
	switch {
	case strings.HasPrefix(line, "+"):
		return term.Green
	case strings.HasPrefix(line, "-"):
		return term.Red
	}
	return term.Faint
}
