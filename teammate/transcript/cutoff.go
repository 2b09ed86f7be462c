package transcript

import (
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
)

// CutNotice tells a model that its last turn was interrupted with covey. It is always
// sent, with or without the old prompt, because a program that resumed its session
// believes that its last calls still run.
const CutNotice = "Your last turn was cut off before its end. Go on where you were; " +
	"tool calls without a result may have had an effect, so look first."

// Recover repairs the conversation of an interrupted turn for a Resumer whose program did
// not make the calls: each open call gets the result "interrupted". It returns the prompt
// that continues the turn, which repeats the last prompt if the program may never have
// had it.
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
		return prompt, fmt.Errorf("close the open calls of an earlier session: %w", err)
	}
	return prompt, nil
}

// lastPrompt returns the text of the last message if it is a user's. After an assistant's
// message the prompt has reached the model, and repeating it would repeat the work.
func (h History) lastPrompt() string {
	if len(h.Messages) == 0 || h.Messages[len(h.Messages)-1].Role != agent.User {
		return ""
	}
	return h.Messages[len(h.Messages)-1].Text()
}
