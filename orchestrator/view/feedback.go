package view

import (
	"slices"
	"strings"
	"unicode/utf8"

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

var (
	// ruler matches a line that only separates.
	ruler = texts.Pattern(`^(?:[-=_*#~+.─━═]\s?){4,}$`)
	// failing matches the line with which a test runner or a compiler names what failed.
	failing = texts.Pattern(`^(?:--- FAIL|FAIL(?:ED)?\b|ERROR\b|Error\b|error\b|panic:|fatal\b|not ok\b|⚠)`)
)

// Reason returns in one line what tells people why a gate refuses: its feedback without rulers and without
// what passed. Of a longer one it is what failed first and the last lines, because the end says what is wrong.
func Reason(event, text string) string {
	said := Feedback(event, text)
	var lines []string
	for line := range strings.Lines(said) {
		line = texts.Unbroken(line)
		if line != "" && !ruler().MatchString(line) && !slices.ContainsFunc(passing, func(p string) bool { return strings.HasPrefix(line, p) }) {
			lines = append(lines, line)
		}
	}
	all := strings.Join(lines, " ")
	if len(lines) == 0 {
		all = texts.Unbroken(said)
	}
	if len(lines) < 2 || utf8.RuneCountInString(all) <= maxReason {
		return texts.Short(all, maxReason)
	}
	begin, first := "…", slices.IndexFunc(lines, failing().MatchString)
	if first >= 0 {
		begin = texts.Short(lines[first], maxReason/2) + " …"
	}
	end, room := "", maxReason-utf8.RuneCountInString(begin)
	for i, line := range slices.Backward(lines) {
		n := utf8.RuneCountInString(line) + 1
		if i == first || n > room {
			if end == "" {
				end = " " + texts.Short(line, room-1)
			}
			break
		}
		end, room = " "+line+end, room-n
	}
	return begin + end
}
