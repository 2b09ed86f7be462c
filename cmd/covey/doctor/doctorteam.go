package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// agentFindings returns with which program each agent of a team would run, and whether it is logged
// in. A program that is not installed is a finding on the spec.
func agentFindings(ctx context.Context, team *configs.Team) []finding {
	var findings []finding
	standIns := launch.StandIns(team)
	for _, a := range launch.AskVersions(ctx, launch.UsedAgents(team)) {
		if !a.Installed() {
			continue
		}
		what := fmt.Sprintf("%s, of %s: %s (%s)", a.Name, strings.Join(a.Members, ", "), a.Path, a.Kind)
		if older := a.Older(); older != "" {
			findings = append(findings, warn("agents", fmt.Sprintf("%s, of %s: version %s is %s", a.Name,
				strings.Join(a.Members, ", "), a.Version, older), a.ToNewest()))
		}
		// A stand-in has its warning in place of an ok; being logged out is a second
		// finding of the same agent.
		i := slices.IndexFunc(standIns, func(s launch.StandIn) bool { return s.Agent == a.Name })
		if i >= 0 {
			s := standIns[i]
			findings = append(findings, warn("agents",
				fmt.Sprintf("%s acts without asking, and runs because %s is not installed", what, s.Adapter),
				s.Install+" installs it; covey up --allow-unenforced goes on without"))
		}
		switch {
		case a.Login == launch.LoginNo:
			findings = append(findings, warn("agents", what+" seems to be logged out", a.LoginBy))
		case i < 0:
			findings = append(findings, ok("agents", "%s; login %s: %s", what, a.Login, a.LoginBy))
		}
	}
	return findings
}

// models checks the real models of a team, as covey models does: without one that a member
// uses, the team fails in that member's first turn. What nobody uses is only a warning.
func (x *examination) models(ctx context.Context, team *configs.Team) []finding {
	const wayOut = "covey models shows hosts and keys, and with --probe it asks each model for a few tokens"
	report, err := trust.Check(ctx, team)
	if err != nil {
		return nil // a finding of its own
	}
	list, err := launch.Models(ctx, team, launch.ModelInquiry{Trusted: report.Trusted})
	if err != nil {
		return nil // likewise: the prices
	}
	var findings []finding
	states := map[launch.ModelState]int{}
	var usable []string
	for _, m := range list {
		states[m.State]++
		if m.State == launch.ModelReached || m.State == launch.ModelNotAsked {
			usable = append(usable, fmt.Sprintf("%s (key: %s)", m.Model, m.Key))
		}
		switch {
		case m.Usable():
		case len(m.UsedBy) > 0:
			findings = append(findings, fail("models", fmt.Sprintf("%s, of %s: %s", m.Model, strings.Join(m.UsedBy, ", "), m.Problem), wayOut))
		default:
			findings = append(findings, warn("models", m.Model+", which nobody uses: "+m.Problem, wayOut))
		}
	}
	if len(findings) > 0 || states[launch.ModelReached]+states[launch.ModelNotAsked] == 0 {
		return findings
	}
	text := fmt.Sprintf("%d can be reached", states[launch.ModelReached])
	if n := states[launch.ModelNotAsked]; n > 0 {
		text += fmt.Sprintf(", %d are asked once the spec is trusted", n)
	}
	return []finding{ok("models", "%s: %s", text, strings.Join(usable, ", "))}
}

// noticeFindings checks whether the notices of a team can reach people. Nothing is sent.
func noticeFindings(team *configs.Team) []finding {
	const check = "notices"
	var findings []finding
	for _, rule := range team.Notify {
		name := notices.TargetName(rule)
		switch err := notices.Check(rule, team.Workspace); {
		case err != nil && rule.Desktop:
			findings = append(findings, warn(check, fmt.Sprintf("%s: %v", name, err), "without a terminal no notice is shown"))
		case err != nil:
			findings = append(findings, warn(check, fmt.Sprintf("%s: %v", name, err), "until then its notices are given up"))
		case rule.SecretFile != "" && texts.Within(team.Workspace, rule.SecretFile):
			findings = append(findings, warn(check, fmt.Sprintf("%s: the secret %s lies in the workspace, where members can read it",
				name, rule.SecretFile), "move it out of the workspace, or a member can sign notices of its own"))
		}
	}
	if len(findings) == 0 && len(team.Notify) > 0 {
		return []finding{ok(check, "%d rules have targets that can work", len(team.Notify))}
	}
	return findings
}

// worktreeFindings reports whether members can have working copies of their own. A
// workspace outside a repository is not a problem; a spec that demands one fails
// before.
func worktreeFindings(look workcopies.Outlook) []finding {
	who := strings.Join(look.Members, ", ")
	switch {
	case len(look.Members) == 0:
		return nil
	case look.Fault == nil:
		found := []finding{ok("worktrees", "%s: each has a git working copy and a branch of its own", who)}
		if text, wayOut, _ := strings.Cut(look.Hook, "; "); text != "" {
			found = append(found, warn("worktrees", text, wayOut))
		}
		return found
	case errors.Is(look.Fault, worktree.ErrNoFilter):
		return []finding{fail("worktrees", "no working copy can be made for "+who+": "+look.Fault.Error(),
			"until then no team with working copies starts here")}
	case look.Repository:
		return []finding{warn("worktrees", who+" can write and share the workspace: "+look.Fault.Error(),
			"fix that, or write isolation: shared, which says that they may")}
	}
	return []finding{ok("worktrees", "%s share the workspace, which is not a git repository", who)}
}
