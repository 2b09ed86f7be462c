package recordings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Meaning is what a request means.
type Meaning struct {
	API   string `json:"api"`
	Model string `json:"model,omitempty"`
	Items []Item `json:"items"`
}

// Item is a text of a request, a call of a tool, or the result of one.
type Item struct {
	Role string `json:"role"`           // system, user, assistant or tool
	Tool string `json:"tool,omitempty"` // the tool that was called
	Text string `json:"text,omitempty"`
}

// The roles of items that are no roles of messages.
const (
	systemRole = "system"
	toolRole   = "tool"
)

// meaningOf returns the meaning of a conversation, before its texts are made equal.
func meaningOf(api, model, system string, messages []agent.Message) Meaning {
	m := Meaning{API: api, Model: model}
	if system != "" {
		m.Items = append(m.Items, Item{Role: systemRole, Text: system})
	}
	called := map[string]string{}
	for _, message := range messages {
		for _, b := range message.Content {
			switch b.Type {
			case agent.TextBlock:
				m.Items = append(m.Items, Item{Role: string(message.Role), Text: b.Text})
			case agent.ToolUseBlock:
				called[b.ID] = b.Name
				m.Items = append(m.Items, Item{Role: string(message.Role), Tool: b.Name})
			case agent.ToolResultBlock:
				m.Items = append(m.Items, Item{Role: toolRole, Tool: called[b.ToolUseID], Text: b.Content})
			}
		}
	}
	return m
}

// Place is a path, or another text, of this machine or this run. Recordings have its name instead.
type Place struct {
	Name string // such as workspace
	Text string
}

// mark is what stands for a place in a recording.
func (p Place) mark() string { return "<covey:" + p.Name + ">" }

// places are the places of a member. The longest text is first, because it may contain others.
type places []Place

// sorted returns places in their order. Of two with one text, the first gives the name.
func sorted(all []Place) places {
	list := slices.DeleteFunc(slices.Clone(all), func(p Place) bool { return len(p.Text) < 3 })
	slices.SortStableFunc(list, func(a, b Place) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	return list
}

// name replaces the places in a text by their marks.
func (ps places) name(text string) string {
	for _, p := range ps {
		text = replaceWhole(text, p.Text, p.mark())
	}
	return text
}

// fill replaces marks by the places.
func (ps places) fill(text string) string {
	if !strings.Contains(text, "<covey:") {
		return text
	}
	for _, p := range ps {
		text = strings.ReplaceAll(text, p.mark(), p.Text)
	}
	return text
}

// replaceWhole replaces a path, but not where it is only the beginning or the end of a longer name.
func replaceWhole(text, old, by string) string {
	if !strings.Contains(text, old) {
		return text
	}
	var b strings.Builder
	for {
		at := strings.Index(text, old)
		if at < 0 {
			return b.String() + text
		}
		end := at + len(old)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[:at])
		if at > 0 && isName(before) || end < len(text) && isName(after) {
			b.WriteString(old)
		} else {
			b.WriteString(by)
		}
		text = text[end:]
	}
}

// isName reports whether a character continues the name of a file.
func isName(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf
}

const (
	month = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|` +
		`Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)`
	weekday = `(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?`
	clock   = `\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm]\b)?`
	zone    = `(?: ?(?:Z|UTC|GMT|[A-Z]{3,4}|[+-]\d{2}:?\d{2})\b)*`
)

// varying matches what differs from run to run, and what stands for it. The order matters: an id may
// have digits that look like a number, and a date begins with a year.
var varying = []struct {
	pattern func() *regexp.Regexp
	by      string
}{
	{texts.Pattern(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "<id>"},
	{texts.Pattern(`\b[0-9A-HJKMNP-TV-Z]{26}\b`), "<id>"}, // of mail
	{texts.Pattern(`\b(?:toolu|call|fc|msg|resp|rs|req|run|sess|ses|session|chatcmpl|thread|item|prt|cch)[_-][A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*`), "<id>"},
	{texts.Pattern(`"background_tasks":\[(?:\{[^{}]*\},?)*\]`), `"background_tasks":[]`}, // in what hooks ask: what others do in that moment
	{texts.Pattern(`\bChunk ID: [0-9a-f]+`), "<id>"},                                     // of codex, in its results
	{texts.Pattern(`\b(?:cch|cc_version)=[^;,\s]+`), "<id>"},                             // of claude, in its system prompt
	{texts.Pattern(`\b\d{4}-\d{2}-\d{2}(?:[T _]` + clock + zone + `)?`), "<time>"},
	{texts.Pattern(`\b(?:` + weekday + `,? )?(?:` + month + ` +\d{1,2}(?:st|nd|rd|th)?|\d{1,2} +` + month + `)\b(?:,? ` + clock + zone +
		`)?(?:,? \d{4}\b)?(?:,? ` + clock + zone + `)?`), "<time>"},
	{texts.Pattern(`\b\d{1,2}/\d{1,2}/\d{4}(?:,? ` + clock + zone + `)?`), "<time>"},
	{texts.Pattern(`\b(?:127\.0\.0\.1|localhost|\[::1\]):\d+\b`), "<port>"},
	{texts.Pattern(`\b` + clock + zone), "<time>"},
	{texts.Pattern(`\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ns|µs|us|ms|s)\b`), "<time>"},
	{texts.Pattern(`\(cached\)`), "<time>"}, // of go test, in place of one
	{texts.Pattern(`\b\d+(?:\.\d+)? (?:milliseconds?|seconds?|minutes?)\b`), "<time>"},
	{texts.Pattern(`<time>(?:,? (?:at )?<time>)+`), "<time>"},
	{texts.Pattern(`(?i)\b(pid|pgid|process)([ =:]+)\d+\b`), "$1$2<n>"},
	{texts.Pattern(`\b[0-9a-f]{7,64}\b`), "<id>"},
	{texts.Pattern(`\b(?:Linux|Darwin|Windows) \d+\.\d+[\w.+-]*`), "<system>"},
}

// equal makes a text equal to those of other runs.
func (ps places) equal(text string) string {
	text = ps.name(text)
	for _, v := range varying {
		text = v.pattern().ReplaceAllString(text, v.by)
	}
	return strings.TrimSpace(text)
}

// same reports whether two meanings are one.
func (m Meaning) same(other Meaning) bool {
	return m.API == other.API && m.Model == other.Model && slices.Equal(m.Items, other.Items)
}

// common returns how many items two meanings have in common from their beginning.
func (m Meaning) common(other Meaning) int {
	n := 0
	for n < len(m.Items) && n < len(other.Items) && m.Items[n] == other.Items[n] {
		n++
	}
	return n
}

// difference describes for people the first difference between what was asked and what was recorded.
func (m Meaning) difference(recorded Meaning) string {
	n := m.common(recorded)
	switch {
	case m.API != recorded.API:
		return fmt.Sprintf("the API is %s, recorded was %s", m.API, recorded.API)
	case m.Model != recorded.Model:
		return fmt.Sprintf("the model is %s, recorded was %s", m.Model, recorded.Model)
	case n == len(m.Items) && n == len(recorded.Items):
		return "they are equal"
	case n == len(m.Items):
		return fmt.Sprintf("item %d is missing: %s", n+1, recorded.Items[n])
	case n == len(recorded.Items):
		return fmt.Sprintf("item %d was not recorded: %s", n+1, m.Items[n])
	}
	asked, was := m.Items[n], recorded.Items[n]
	if asked.Role != was.Role || asked.Tool != was.Tool {
		return fmt.Sprintf("item %d is %s, recorded was %s", n+1, asked, was)
	}
	at := 0
	for at < len(asked.Text) && at < len(was.Text) && asked.Text[at] == was.Text[at] {
		at++
	}
	return fmt.Sprintf("item %d (%s) has %q, recorded was %q", n+1, asked.kind(), around(asked.Text, at), around(was.Text, at))
}

// around returns a piece of a text around a place in it.
func around(text string, at int) string {
	const before, after = 30, 60
	from, to := max(0, at-before), min(len(text), at+after)
	return strings.ToValidUTF8(text[from:to], "")
}

// kind returns what an item is, for people.
func (i Item) kind() string {
	switch {
	case i.Role == toolRole:
		return strings.TrimSuffix("a result of "+i.Tool, " of ")
	case i.Tool != "":
		return "a call of " + i.Tool
	}
	return "a text of the " + i.Role
}

// String describes an item for people.
func (i Item) String() string {
	if i.Text == "" {
		return i.kind()
	}
	return i.kind() + ", " + fmt.Sprintf("%q", texts.Short(i.Text, 80))
}
