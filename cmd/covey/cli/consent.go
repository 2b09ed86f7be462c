package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/runs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// MayRun settles, before anything is started, whether what a team would run is
// trusted: it was, the flag says so, or a person at the terminal does. Whoever
// says nothing has said no. spec is how the person names the spec.
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
	text := TrustText(e.Err, team, report)
	if !e.Interactive() {
		return fmt.Errorf("%s%w; covey trust%s trusts it, --trust only for one run",
			text, ErrNotTrusted, SpecArg(spec))
	}
	if !e.Agreed(text + "\nRun it, and trust it until it changes?") {
		return fmt.Errorf("%s is %w", spec, ErrNotTrusted)
	}
	if err := NotFromInside("to agree"); err != nil {
		return err
	}
	return trust.Remember(ctx, team, report)
}

// isYes tells whether a person has agreed. An empty answer is none. Anything
// that is not clearly a Yes is a No, a typing mistake included.
func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// NotFromInside refuses trust that comes from below a running team: a member
// must not trust what it has written itself. An agent with a shell could
// otherwise change a hook and agree to the change.
func NotFromInside(what string) error {
	places, err := state.All()
	if err != nil {
		return err
	}
	for _, p := range places {
		if run, up := state.Running(p); up && descends(os.Getpid(), run.PID) {
			return fmt.Errorf("%s is for people, and this comes from a member of team %s: %w",
				what, p.Team, api.ErrDenied)
		}
	}
	return nil
}

// TrustText says what a person is to agree to: all that would run or, if some
// of it was trusted before, what is different. It is the basis of a decision,
// so nothing in it may hide: foreign text is disarmed, and what was shortened
// says so.
func TrustText(s *term.Screen, team *configs.Team, r trust.Report) string {
	var b strings.Builder
	if r.Known {
		fmt.Fprintf(&b, "What %s would run has changed since it was trusted:\n", term.PlainLine(team.File))
		for _, change := range r.Changes {
			fmt.Fprintf(&b, "  %s %s\n", term.Padded(string(change.Kind), 8), runText(team, change.Run))
			for _, line := range headOf(term.Plain(change.Diff), maxDiff) {
				fmt.Fprintf(&b, "    %s\n", s.Paint(diffStyle(line), line))
			}
		}
		return b.String()
	}
	fmt.Fprintf(&b, "%s would run what this workspace brings:\n", term.PlainLine(team.File))
	for _, item := range r.Items {
		text := runText(team, item.Run)
		if item.Path != "" && item.Hash == "" {
			text += " (is not there)"
		}
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}

// runText is one thing that would run, in one line. Paths are shown from the
// spec's folder where they are below it: one that is not stands out.
func runText(team *configs.Team, r runs.Run) string {
	what := r.Path
	if rel, err := filepath.Rel(filepath.Dir(team.File), r.Path); err == nil && filepath.IsLocal(rel) {
		what = rel
	}
	if r.Command != "" {
		what = r.Command
		if r.Event != "" {
			what = string(r.Event) + ": " + what
		} else if r.Kind == runs.Gate {
			what = hooklist.AtMerge + ": " + what
		}
	}
	return term.Padded(string(r.Kind), 8) + " " + term.PlainLine(what)
}

// maxDiff is how many lines of one difference are shown. A larger difference is
// looked at in an editor, not in a question.
const maxDiff = 60

// headOf are the first lines of a text, and a mark if there are more. most
// counts lines without the mark.
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

// diffStyle sets the lines of a unified diff off.
func diffStyle(line string) term.Style {
	switch {
	case strings.HasPrefix(line, "+"):
		return term.Green
	case strings.HasPrefix(line, "-"):
		return term.Red
	}
	return term.Faint
}
