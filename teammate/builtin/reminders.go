package builtin

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// The beginnings of reminders after a summary, by which the next compaction finds them: the calls
// that they come from are gone then.
const (
	planHead  = "The plan that you submitted:\n"
	skillHead = "Base directory for this skill: " // as the tool Skill writes it
)

// reminded returns the reminders with this beginning that stand after the last summary.
func (c *conversation) reminded(head string) []string {
	if len(c.messages) == 0 {
		return nil
	}
	var texts []string
	for i, b := range c.messages[0].Content {
		if i == 0 && !strings.HasPrefix(b.Text, summaryHead) {
			return nil
		}
		if b.Type == agent.TextBlock && strings.HasPrefix(b.Text, head) {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// filesRead returns the files of the last calls of Read, Edit and Write, the newest first, each
// once and at most n.
func (c *conversation) filesRead(n int) []string {
	var files []string
	for _, m := range slices.Backward(c.messages) {
		for _, b := range slices.Backward(m.Content) {
			if b.Type != agent.ToolUseBlock || !slices.Contains([]string{"Read", "Edit", "Write"}, b.Name) {
				continue
			}
			var in struct {
				File string `json:"file_path"`
			}
			if json.Unmarshal(b.Input, &in) != nil || in.File == "" || len(files) == n {
				continue
			}
			if !slices.Contains(files, in.File) {
				files = append(files, in.File)
			}
		}
	}
	return files
}

// skillsLoaded returns the texts of the skills that were loaded last, the newest first, each once
// and at most n: their hooks stay after a compaction, so what they say must, too.
func (c *conversation) skillsLoaded(n int) []string {
	calls := map[string]bool{}
	for _, m := range c.messages {
		for _, call := range m.ToolCalls() {
			calls[call.ID] = call.Name == "Skill"
		}
	}
	var texts []string
	for _, m := range slices.Backward(c.messages) {
		for _, b := range slices.Backward(m.Content) {
			known := slices.Contains(texts, b.Content) || len(texts) == n
			if b.Type == agent.ToolResultBlock && !b.IsError && calls[b.ToolUseID] && !known {
				texts = append(texts, b.Content)
			}
		}
	}
	for _, text := range c.reminded(skillHead) {
		if !slices.Contains(texts, text) && len(texts) < n {
			texts = append(texts, text)
		}
	}
	return texts
}

// lastPlan returns the plan of the last call of the tool that submits one; empty: there is none.
func (c *conversation) lastPlan() string {
	for _, m := range slices.Backward(c.messages) {
		for _, b := range slices.Backward(m.Content) {
			var in struct {
				Plan string `json:"plan"`
			}
			if b.Type == agent.ToolUseBlock && b.Name == "ExitPlanMode" && json.Unmarshal(b.Input, &in) == nil {
				return in.Plan
			}
		}
	}
	for _, text := range c.reminded(planHead) {
		return strings.TrimPrefix(text, planHead)
	}
	return ""
}
