package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/trust"
)

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
			usable = append(usable, modelText(m))
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

// modelText names a model and where its key comes from.
func modelText(m launch.ModelInfo) string { return fmt.Sprintf("%s (key: %s)", m.Model, m.Key) }
