package teammate

import (
	"context"
	"strings"
	"unicode"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// expand replaces a typed command by its prompt, if in names one, and runs the
// UserPromptExpansion hooks. It returns the agent's inputs, which are empty if a hook
// refused.
func (u *turn) expand(ctx context.Context, in agent.Input) (passed []agent.Input) {
	typed, ok := strings.CutPrefix(in.Text, "/")
	if !ok || u.t.opts.Commands == nil {
		return []agent.Input{in}
	}
	name, args := typed, ""
	if i := strings.IndexFunc(typed, unicode.IsSpace); i >= 0 { // also a new line
		name, args = typed[:i], strings.TrimSpace(typed[i:])
	}
	c, ok := u.t.opts.Commands(name)
	if !ok {
		return []agent.Input{in}
	}
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
	// The form in which recorded hosts show a command to the model.
	head := "<command-message>" + name + "</command-message>\n<command-name>/" + name + "</command-name>"
	if args != "" {
		head += "\n<command-args>" + args + "</command-args>"
	}
	typedText := in.Text
	in.Text = c.Expand(args)
	u.at.emit(events.PromptExpanded{Typed: typedText, Prompt: in.Text})
	return append(agent.ContextInputs(out.AdditionalContext), agent.Input{Kind: agent.FromPerson, Text: head}, in)
}
