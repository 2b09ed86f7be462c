package teammate

import (
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// expand puts the prompt of a command in the place of what a person typed, if
// that names one, and asks the UserPromptExpansion hooks about it. passed is
// what the agent gets; nothing if a hook refused.
func (u *turn) expand(ctx context.Context, in agent.Input) (passed []agent.Input) {
	typed, ok := strings.CutPrefix(in.Text, "/")
	if !ok || u.t.opts.Commands == nil {
		return []agent.Input{in}
	}
	name, args, _ := strings.Cut(typed, " ")
	c, ok := u.t.opts.Commands(name)
	if !ok {
		return []agent.Input{in}
	}
	args = strings.TrimSpace(args)
	out, _ := u.at.try(ctx, hooks.UserPromptExpansionInput{
		ExpansionType: "slash_command", CommandName: name, CommandArgs: args, CommandSource: c.Source, Prompt: in.Text,
	})
	switch {
	case ctx.Err() != nil:
		return []agent.Input{in}
	case out.Decision == hooks.Block:
		u.at.erase(in, out)
		return nil
	case out.Decision == hooks.Halt:
		u.at.halt(hooks.UserPromptExpansion, out)
		u.at.warn("Operation stopped by hook: %s", u.at.halted)
	}
	head := "<command-message>" + name + "</command-message>\n<command-name>/" + name + "</command-name>"
	if args != "" {
		head += "\n<command-args>" + args + "</command-args>"
	}
	typedText := in.Text
	in.Text = c.Expand(args)
	u.at.emit(PromptExpanded{Typed: typedText, Prompt: in.Text})
	return append(asContext(out.AdditionalContext), agent.Input{Kind: agent.FromPerson, Text: head}, in)
}

// PromptExpanded tells the journal what a typed command became.
type PromptExpanded struct {
	Typed  string `json:"typed"`
	Prompt string `json:"prompt"`
}

// EventType is the journal's name for it.
func (PromptExpanded) EventType() string { return "prompt_expanded" }
