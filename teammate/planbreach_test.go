package teammate

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// Who works before its plan is approved is stopped, if it changes anything without
// asking. It asks nobody, so that is found only afterwards, and nothing else keeps it
// from going on. What only looks, or is the team's, may be called without asking.
func TestPlanBreach(t *testing.T) {
	team := agent.Spec{Name: "mcp__covey__team_submit_plan", Team: true}
	for name, tt := range map[string]struct {
		mode, tool, input string
		deny              string
		broke             string // the rule that the journal names
		told              bool   // the journal tells of the call
		ended             string
	}{
		"a shell": {"plan", "Bash", `{"command":"ls"}`, "", "permission mode plan", true,
			events.EndAbortedStreaming},
		"a file": {"plan", "Write", `{"file_path":"a.go"}`, "", "permission mode plan", true,
			events.EndAbortedStreaming},
		"who knows what": {"plan", "Tool", `{}`, "", "permission mode plan", true, events.EndAbortedStreaming},
		"another server": {"plan", "mcp__docs__put", `{}`, "", "permission mode plan", true,
			events.EndAbortedStreaming},
		"read of who knows": {"plan", "Read", `{}`, "", "permission mode plan", true, events.EndAbortedStreaming},
		"no object":         {"plan", "Bash", `[1]`, "", "permission mode plan", true, events.EndAbortedStreaming},
		"reading":           {"plan", "Read", `{"file_path":"a.go"}`, "", "", true, events.EndCompleted},
		"searching":         {"plan", "Grep", `{"pattern":"x"}`, "", "", true, events.EndCompleted},
		"the plan itself":   {"plan", team.Name, `{"plan":"one"}`, "", "", false, events.EndCompleted},
		"a rule is named": {"plan", "Bash", `{"command":"rm x"}`, "Bash(rm *)", "Bash(rm *)", true,
			events.EndAbortedStreaming},
		"a team tool, denied": {"plan", team.Name, `{"plan":"one"}`, team.Name, team.Name, true, events.EndCompleted},
		"another mode":        {"default", "Bash", `{"command":"ls"}`, "", "", true, events.EndCompleted},
		"accepting edits":     {"acceptEdits", "Write", `{"file_path":"a.go"}`, "", "", true, events.EndCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := foreignRig(t, callTool("c1", tt.tool, tt.input))
			f.ask = false
			r.opts.Tools = []agent.Tool{fakeTool{spec: team}}
			policy := permission.Policy{Mode: tt.mode}
			if tt.deny != "" {
				policy.Deny = ruleList(t, tt.deny)
			}
			r.opts.Rights = permission.NewRights(policy, nil)
			r.mustRun(t)
			equal(t, "turn end", one[events.TurnEnded](t, r.journal).Reason, tt.ended)
			detected := all[events.CallDetected](r.journal)
			if (len(detected) == 1) != tt.told || tt.told && detected[0] != (events.CallDetected{ID: "c1",
				Tool: tt.tool, Violated: tt.broke}) {
				t.Errorf("detected %+v", detected)
			}
			warned := slices.ContainsFunc(all[events.Warning](r.journal), func(w events.Warning) bool {
				return strings.Contains(w.Text, "called "+tt.tool+" without asking")
			})
			equal(t, "a person is warned", warned, tt.broke != "")
		})
	}
}
