package notices

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
)

// Version is the version of the JSON of a Notice. Fields may be added; none is renamed within
// a version.
const Version = 1

// Digest is the kind of a notice about several things.
const Digest configs.Notable = "digest"

// maxText bounds the text of a notice, in characters.
const maxText = 400

// Notice is what people are told, as commands and webhooks get it in JSON.
type Notice struct {
	Version int             `json:"version,omitempty"` // 0 in Notices
	Team    string          `json:"team,omitempty"`    // empty in Notices
	Kind    configs.Notable `json:"kind"`
	Member  string          `json:"member,omitempty"` // who asks, or whom it is about; empty: the team
	Task    string          `json:"task,omitempty"`   // id of a task
	// ID is the id of the request or of the merge. What has happened and needs no answer has Seq
	// instead, the number of its line in the journal; for the end of a run, that of the line
	// that came next.
	ID       string    `json:"id,omitempty"`
	Seq      uint64    `json:"seq,omitempty"`
	Text     string    `json:"text"` // one line, without control characters
	Since    time.Time `json:"since"`
	Deadline time.Time `json:"deadline,omitzero"` // when it is decided without a person
	URL      string    `json:"url,omitempty"`     // of the web page
	Answer   *Answer   `json:"answer,omitempty"`
	// Notices are what a notice of the kind Digest is about, the oldest first.
	Notices []Notice `json:"notices,omitempty"`
	// Dropped counts what was left out because too much had come.
	Dropped int `json:"dropped,omitempty"`
}

// Answer has the links that answer a request. Each leads to a page that asks once more, and
// one answer is all that both are good for.
type Answer struct {
	Approve string `json:"approve"`
	Deny    string `json:"deny"`
}

// key identifies what is open.
func (n Notice) key() string { return string(n.Kind) + " " + n.ID }

// oneNotice makes one notice of several.
func oneNotice(list []Notice, dropped int) Notice {
	if len(list) == 1 && dropped == 0 {
		return list[0]
	}
	texts := make([]string, 0, len(list))
	for _, n := range list {
		texts = append(texts, n.Text)
	}
	text := fmt.Sprintf("%d notices: %s", len(list)+dropped, strings.Join(texts, " | "))
	return Notice{Kind: Digest, Text: oneLine(text), Since: list[0].Since, Notices: list, Dropped: dropped}
}

// oneLine returns a text as one line that a terminal shows and does not obey.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return texts.Short(texts.Unbroken(text), maxText)
}
