package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
)

// mayRun settles, before anything is started, whether what a team would run is
// trusted: it was, the flag says so, or a person at the terminal does. Whoever
// says nothing has said no. spec is how the person names the spec.
func (c *cli) mayRun(ctx context.Context, team *configs.Team, spec string, given bool) error {
	report, err := orchestrator.CheckTrust(ctx, team)
	if err != nil {
		return err
	}
	if report.Trusted {
		return nil
	}
	if given {
		return notFromInside("--trust")
	}
	text := trustText(c.err, team, report)
	if !isTerminal(c.in) || !c.err.tty() {
		return fmt.Errorf("%s%w; covey trust%s trusts it, --trust only for one run",
			text, errNotTrusted, specArg(spec))
	}
	c.err.printf("%s\nRun it, and trust it until it changes? [y/N] ", text)
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil || !isYes(answer) {
		return fmt.Errorf("%s is %w", spec, errNotTrusted)
	}
	if err := notFromInside("to agree"); err != nil {
		return err
	}
	return orchestrator.RememberTrust(ctx, team, report)
}

// isYes tells whether a person has agreed. An empty answer is none. Anything
// that is not clearly a Yes is a No, a typing mistake included.
func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// notFromInside refuses trust that comes from below a running team: a member
// must not trust what it has written itself. An agent with a shell could
// otherwise change a hook and agree to the change.
func notFromInside(what string) error {
	places, err := orchestrator.All()
	if err != nil {
		return err
	}
	for _, p := range places {
		if run, up := orchestrator.Running(p); up && descends(os.Getpid(), run.PID) {
			return fmt.Errorf("%s is for people, and this comes from a member of team %s: %w",
				what, p.Team, orchestrator.ErrDenied)
		}
	}
	return nil
}

// trustText says what a person is to agree to: all that would run or, if some
// of it was trusted before, what is different. It is the basis of a decision,
// so nothing in it may hide: foreign text is disarmed, and what was shortened
// says so.
func trustText(s *screen, team *configs.Team, r orchestrator.TrustReport) string {
	var b strings.Builder
	if r.Known {
		fmt.Fprintf(&b, "What %s would run has changed since it was trusted:\n", plainLine(team.File))
		for _, change := range r.Changes {
			fmt.Fprintf(&b, "  %s %s\n", padded(string(change.Kind), 8), runText(team, change.Run))
			for _, line := range headOf(plain(change.Diff), maxDiff) {
				fmt.Fprintf(&b, "    %s\n", s.paint(diffStyle(line), line))
			}
		}
		return b.String()
	}
	fmt.Fprintf(&b, "%s would run what this workspace brings:\n", plainLine(team.File))
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
func runText(team *configs.Team, r configs.Run) string {
	what := r.Path
	if rel, err := filepath.Rel(filepath.Dir(team.File), r.Path); err == nil && filepath.IsLocal(rel) {
		what = rel
	}
	if r.Command != "" {
		what = r.Command
		if r.Event != "" {
			what = string(r.Event) + ": " + what
		} else if r.Kind == configs.RunGate {
			what = orchestrator.AtMerge + ": " + what
		}
	}
	return padded(string(r.Kind), 8) + " " + plainLine(what)
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
func diffStyle(line string) style {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	}
	return faint
}

// trustFlags are the flags of `covey trust`. Without one of them trust is
// given, and what it is given to is shown.
type trustFlags struct {
	show, forget, json bool
}

// trustCommand is `covey trust`.
func (c *cli) trustCommand() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust [SPEC]",
		Short: "Trust what a spec would run, until it changes",
		Long: `Show what the team of SPEC would run (hooks, gates, scripts, settings files,
plugins) and trust it from now on. Trust is bound to the content: when one of these changes,
"covey up" shows the difference and asks again. A team that runs takes up settings
and plugins that have changed once they are trusted. Look before you trust what
somebody else has written: it runs with your rights.`,
		Example: `  covey trust --show
  covey trust
  covey trust examples/quickstart/team.yaml
  covey trust --forget`,
		Args: argCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.show && f.forget {
				return usagef("--show and --forget exclude each other")
			}
			team, err := c.loadSpec(c.specPath(args))
			if err != nil {
				return err
			}
			return c.trust(cmd.Context(), team, f)
		},
	}
	cmd.Flags().BoolVar(&f.show, "show", false, "only show what would run, and whether it is trusted")
	cmd.Flags().BoolVar(&f.forget, "forget", false, "trust it no more")
	jsonFlag(cmd, &f.json)
	return cmd
}

// trust shows what a team would run and remembers, or forgets, that it may. To
// look is always allowed; to change it is not, from below a running team.
func (c *cli) trust(ctx context.Context, team *configs.Team, f trustFlags) error {
	report, err := orchestrator.CheckTrust(ctx, team)
	if err != nil {
		return err
	}
	if !f.show {
		if err := c.changeTrust(ctx, team, report, f.forget); err != nil {
			return err
		}
	}
	if f.json {
		report.Trusted = !f.forget && (report.Trusted || !f.show)
		if err := c.out.json(report); err != nil || f.show || f.forget {
			return err
		}
		return c.takenUp(ctx, team, func(string, ...any) {})
	}
	switch {
	case f.forget:
		c.out.printf("%s is trusted no more\n", plainLine(team.File))
	case report.Trusted:
		c.out.printf("%s is trusted, and nothing has changed since\n", plainLine(team.File))
	case f.show:
		c.out.printf("%s\nnot trusted\n", trustText(c.out, team, report))
	default:
		c.out.printf("%s\ntrusted until it changes\n", trustText(c.out, team, report))
	}
	if f.show || f.forget {
		return nil
	}
	return c.takenUp(ctx, team, c.out.printf)
}

// takenUp has the team take up what is trusted now, if it runs, and tells which
// files that made a difference to.
func (c *cli) takenUp(ctx context.Context, team *configs.Team, say func(string, ...any)) error {
	place, err := orchestrator.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return err
	}
	client, err := orchestrator.Dial(ctx, place)
	if errors.Is(err, orchestrator.ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	defer client.Close()
	reply, err := client.Reload(ctx)
	if err != nil {
		return fmt.Errorf("it is trusted, but the running team could not be told: %w", err)
	}
	for _, path := range reply.Applied {
		say("the running team has taken up %s\n", plainLine(path))
	}
	for _, kept := range reply.Kept {
		say("the running team keeps the old %s: %s\n", plainLine(kept.Path), plainLine(kept.Reason))
	}
	return nil
}

// changeTrust remembers or forgets. What is remembered is what was read for the
// report, whatever is on the disk by then.
func (c *cli) changeTrust(ctx context.Context, team *configs.Team, report orchestrator.TrustReport, forget bool) error {
	if err := notFromInside("covey trust"); err != nil {
		return err
	}
	if forget {
		return orchestrator.ForgetTrust(ctx, team)
	}
	if report.Trusted {
		return nil
	}
	return orchestrator.RememberTrust(ctx, team, report)
}
