package transcript

import (
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
)

// CutNotice is what a model is told whose last turn was cut off with covey. It is
// sent in each case, with or without the old prompt: a program that resumed its
// session still believes that its last calls are running.
const CutNotice = "Your last turn was cut off before its end. Go on where you were; " +
	"tool calls without a result may have had an effect, so look first."

// Recover brings the conversation of a turn that was cut off into order, for a
// Resumer whose program is not the one that made the calls: each call that is open
// gets the result "interrupted". It returns the prompt to go on with, which repeats
// the last one where the program may never have had it.
func (h History) Recover(host agent.Host) (agent.Input, error) {
	prompt := agent.Input{Kind: agent.FromCovey, Text: CutNotice}
	if h.Cut == nil {
		return prompt, nil
	}
	if asked := h.lastPrompt(); h.Cut.Point == CutAtPrompt && asked != "" {
		prompt.Text += " If you have not seen it yet, this is what you were asked:\n\n" + asked
	}
	m := Interrupted(h.Cut.Open)
	if len(m.Content) == 0 {
		return prompt, nil
	}
	if err := host.Record(agent.Record{Message: m}); err != nil {
		return prompt, fmt.Errorf("close the calls of an earlier life: %w", err)
	}
	return prompt, nil
}

// lastPrompt is the text of the last message, if a user's. An assistant's last
// message means that the prompt had reached the model, and repeating it would
// have the work done twice.
func (h History) lastPrompt() string {
	if len(h.Messages) == 0 || h.Messages[len(h.Messages)-1].Role != agent.User {
		return ""
	}
	return h.Messages[len(h.Messages)-1].Text()
}
