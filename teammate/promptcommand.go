package teammate

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// PromptCommand is a prompt that has a name: a person types /NAME and what it
// is about, and the agent gets the prompt.
type PromptCommand struct {
	Source string // command_source: projectSettings
	Text   string // with $ARGUMENTS and $1 to $9
}

// commandName is what a command may be called: a file, and the folders that it
// is in, with colons between.
var commandName = regexp.MustCompile(`^[A-Za-z0-9_-]+(:[A-Za-z0-9_-]+)*$`)

// FindCommand reads a command of the workspace at root: .claude/commands/NAME.md,
// where a:b is the file a/b.md. ok is false if there is none.
func FindCommand(root, name string) (c PromptCommand, ok bool) {
	if !commandName.MatchString(name) {
		return c, false
	}
	place := real(filepath.Join(root, ".claude", "commands", filepath.FromSlash(strings.ReplaceAll(name,
		":", "/"))+".md"))
	info, err := os.Stat(place)
	if err != nil || !info.Mode().IsRegular() || !reaches(real(root), place, false) {
		return c, false
	}
	file, err := os.Open(place)
	if err != nil {
		return c, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxInstructionFile))
	if err != nil {
		return c, false
	}
	return PromptCommand{Source: "projectSettings", Text: body(strings.ToValidUTF8(string(data), "\uFFFD"))}, true
}

// body is a file without its front matter.
func body(text string) string {
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, after, closed := strings.Cut(rest, "\n---"); closed {
			_, text, _ = strings.Cut(after, "\n")
		}
	}
	return strings.TrimSpace(text)
}

// argument finds what a command's text says of its arguments.
var argument = regexp.MustCompile(`\$(ARGUMENTS|[1-9])`)

// Expand is the prompt for these arguments. A text that does not say where they
// belong has them at its end.
func (c PromptCommand) Expand(args string) string {
	words := strings.Fields(args)
	used := false
	text := argument.ReplaceAllStringFunc(c.Text, func(mark string) string {
		used = true
		if mark == "$ARGUMENTS" {
			return args
		}
		if i, _ := strconv.Atoi(mark[1:]); i <= len(words) {
			return words[i-1]
		}
		return ""
	})
	if !used && args != "" {
		text += "\n\nARGUMENTS: " + args
	}
	return text
}

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
	out, err := u.at.fire(ctx, hooks.UserPromptExpansionInput{
		ExpansionType: "slash_command", CommandName: name, CommandArgs: args, CommandSource: c.Source, Prompt: in.Text,
	})
	switch {
	case ctx.Err() != nil:
		return []agent.Input{in}
	case err != nil:
		u.at.warn("UserPromptExpansion hook failed: %v", err)
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
	return append(contexts(out), agent.Input{Kind: agent.FromPerson, Text: head}, in)
}

// PromptExpanded tells the journal what a typed command became.
type PromptExpanded struct {
	Typed  string `json:"typed"`
	Prompt string `json:"prompt"`
}

// EventType is the journal's name for it.
func (PromptExpanded) EventType() string { return "prompt_expanded" }
