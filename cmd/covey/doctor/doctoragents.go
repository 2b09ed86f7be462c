package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// agentFindings says with which program each agent of a team would run, and whether it is logged
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
