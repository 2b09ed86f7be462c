package doctor

import (
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/shell"
	"github.com/coveyteam/covey/orchestrator/notices"
)

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
		case rule.SecretFile != "" && shell.Within(team.Workspace, rule.SecretFile):
			findings = append(findings, warn(check, fmt.Sprintf("%s: the secret %s lies in the workspace, where members can read it",
				name, rule.SecretFile), "move it out of the workspace, or a member can sign notices of its own"))
		}
	}
	if len(findings) == 0 && len(team.Notify) > 0 {
		return []finding{ok(check, "%d rules have targets that can work", len(team.Notify))}
	}
	return findings
}
