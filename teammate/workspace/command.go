package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
)

// PromptCommand is a named prompt: a person types /NAME with arguments, and the agent
// gets the prompt.
type PromptCommand struct {
	Source string // command_source: projectSettings
	Text   string // with $ARGUMENTS and $1 to $9
}

// commandName matches the name of a command: a file with its folders, separated by
// colons.
var commandName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+(:[A-Za-z0-9_-]+)*$`) })

// FindCommand reads a command of the workspace at root: .claude/commands/NAME.md, where
// a:b is the file a/b.md. ok is false if there is none.
func FindCommand(root, name string) (c PromptCommand, ok bool) {
	if !commandName().MatchString(name) {
		return c, false
	}
	place := Real(filepath.Join(root, ".claude", "commands", filepath.FromSlash(strings.ReplaceAll(name,
		":", "/"))+".md"))
	info, err := os.Stat(place)
	if err != nil || !info.Mode().IsRegular() || !texts.Within(Real(root), place) {
		return c, false
	}
	text, err := ReadBody(place)
	if err != nil {
		return c, false
	}
	return PromptCommand{Source: "projectSettings", Text: text}, true
}

// ReadBody returns the text of a Markdown file without its head. A long file is cut, as
// files of instructions are.
func ReadBody(path string) (string, error) {
	data, err := texts.ReadStart(path, maxInstructionFile)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return body(strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n", "\n")), nil
}

// body returns a file without its front matter.
func body(text string) string {
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, after, closed := strings.Cut(rest, "\n---"); closed {
			_, text, _ = strings.Cut(after, "\n")
		}
	}
	return strings.TrimSpace(text)
}

// argument matches the placeholders for arguments in a command's text.
var argument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(ARGUMENTS|[1-9])`) })

// Expand returns the prompt for these arguments. A text without placeholders gets them at
// its end.
func (c PromptCommand) Expand(args string) string {
	words := strings.Fields(args)
	used := false
	text := argument().ReplaceAllStringFunc(c.Text, func(mark string) string {
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
