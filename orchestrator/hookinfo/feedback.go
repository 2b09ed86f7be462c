package hookinfo

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// tags removes the tags by which a model knows the parts of a wake.
var tags = strings.NewReplacer("<task-notification>\n", "", "<summary>", "", "</summary>", "", "</task-notification>\n", "",
	"<system-reminder>\n", "", "</system-reminder>", "")

// Untagged returns what a hook said to a model without its frame, and the text of a hook that has
// woken its member without the tags around its parts.
func Untagged(text string) string {
	text = hooks.Unframed(text)
	if strings.HasPrefix(text, "<task-notification>") {
		return strings.TrimSpace(tags.Replace(text))
	}
	return text
}

// Feedback returns what a hook said to a model without the heading that tells the model which
// hook it comes from, or, for the text of a hook that has woken its member, without the tags around
// its parts. Another text is returned unchanged.
func Feedback(event, text string) string {
	text = Untagged(text)
	// The heading of SubagentStop says Stop, too.
	heading := strings.TrimPrefix(event, "Subagent") + " hook feedback:"
	text = strings.TrimSpace(strings.TrimPrefix(text, heading))
	if strings.HasPrefix(text, "[") {
		if _, rest, ok := strings.Cut(text, "]: "); ok {
			return rest
		}
	}
	return text
}

// maxReason is the length in characters of a Reason.
const maxReason = 200

// passing begins lines in which test runners report what passed, or that they begin.
var passing = []string{"ok ", "? ", "PASS", "=== "}

// Reason returns the line of a gate's feedback that tells people why it refuses: the first one
// that reports nothing that passed.
func Reason(event, text string) string {
	said := Feedback(event, text)
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(passing, func(p string) bool { return strings.HasPrefix(line, p) }) {
			return texts.Short(line, maxReason)
		}
	}
	return texts.Short(texts.FirstLine(said), maxReason)
}
