package board

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// payloads are texts that do harm to terminals, or that take other room than they seem to.
var payloads = []string{
	"\x1b[2J\x1b[H", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJm\x07", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
	"\x1bP+q544e\x1b\\", "\x1b[?1049l", "\x1b[?25l", "\x1bc", "\x1b[6n", "\x1b[c", "\x1b(0lqqk", "\x1b[999;999H", "\x1b[1000B", "\x1b[18t",
	"\x1b]1337;File=:AAAA\x07", "\x1b_Ga=T\x1b\\", "\x1b^pm\x1b\\", "\u009b31m", "\u009d0;t\u009c", "\u0090q\u009c", "a\rb", "a\bb", "a\x7fb",
	"a\x00b", "\x0e\x0f", "\x05", "a\vb\fc", "\x1b", "\x1b[", "\x1b]", "a\x1b", "a\u202eb\u202c", "\u202d\u202a\u202b", "\u2066a\u2067b\u2068c\u2069",
	"\u200e\u200f\u061c", "a\u2028b\u2029c", "\ufeffa", "\u00ada", "\u200ba", "a\U000e0041\U000e0042", "\ue000\U0010f00a", "\ufff9a\ufffab\ufffb",
	"世界世界世界", "ｆｕｌｌ", "👩\u200d💻👨\u200d👩\u200d👧", "🇩🇪🇫🇷", "e\u0301\u0302\u0303" + strings.Repeat("\u0304", 200), "☺️☺︎", "שלום עולם", "مرحبا بالعالم",
	"नमस्ते", "한국어", "ไทย", "\xff\xfe\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "\t\ta\tb", strings.Repeat("x", 500), strings.Repeat("a\n", 300),
	"  \n \n", "\r\n\r\n", "%s%d%n", "`rm -rf /`", "\u3000\u00a0a",
}

// hostile are the lines of a team all of whose texts are one payload.
func hostile(payload string) []events.Line {
	quoted, _ := json.Marshal(payload) // strings can be encoded
	p := string(quoted)
	name := strings.ToValidUTF8(payload[:min(len(payload), 40)], "\ufffd")
	n, _ := json.Marshal(name)
	return []events.Line{
		teamtest.Line(0, "", "team_started", `{"goal":`+p+`,"members":["lead",`+string(n)+`]}`),
		teamtest.Line(1, name, "member_started", `{"agent":`+p+`}`),
		teamtest.Line(1, "", "task", `{"op":"created","task":{"id":"1","subject":`+p+`,"description":`+p+`,"status":"pending","owner":`+string(n)+`}}`),
		teamtest.Line(2, name, "turn_started", `{"cause":"task","prompt":`+p+`}`),
		teamtest.Line(3, name, "text", `{"text":`+p+`}`),
		teamtest.Line(4, name, "tool_call", `{"id":"1","name":`+p+`,"input":{"command":`+p+`}}`),
		teamtest.Line(5, name, "tool_result", `{"id":"1","content":`+p+`}`),
		teamtest.Line(6, name, "hook_feedback", `{"event":"Stop","text":`+p+`}`),
		teamtest.Line(7, name, "merge", `{"id":"1","member":`+string(n)+`,"tasks":["1"],"title":`+p+`,"state":"held","reason":`+p+`,"into":`+p+`}`),
		teamtest.Line(8, name, "worktree", `{"op":"created","path":`+p+`,"branch":`+p+`}`),
		teamtest.Line(9, name, "needs_attention", `{"reason":`+p+`}`),
		teamtest.Line(10, name, "request", `{"id":`+string(n)+`,"kind":"permission","member":`+string(n)+`,"to":"operator","text":`+p+`,"state":"open","created":"2026-11-21T11:00:00Z"}`),
		teamtest.Line(11, name, "tokens_from_the_future", p),
	}
}

// fits fails unless a frame has the size of its terminal and nothing in it acts on a terminal.
func (b *boardOf) fits(t interface{ Fatalf(string, ...any) }, what string) {
	if b.width <= 0 || b.height <= 0 {
		return
	}
	view := b.View()
	lines := strings.Split(view.Content, "\n")
	if len(lines) != b.height {
		t.Fatalf("%s: %d lines on a terminal of %d", what, len(lines), b.height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > b.width {
			t.Fatalf("%s: %d columns on a terminal of %d: %q", what, w, b.width, line)
		}
		for _, r := range line {
			if r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) ||
				r == '\u2028' || r == '\u2029' {
				t.Fatalf("%s: %q in %q", what, r, line)
			}
		}
		if !utf8.ValidString(line) {
			t.Fatalf("%s: %q", what, line)
		}
	}
	if c := view.Cursor; c != nil && (c.X < 0 || c.X >= b.width || c.Y < 0 || c.Y >= b.height) {
		t.Fatalf("%s: the cursor is at %d, %d of %d by %d", what, c.X, c.Y, b.width, b.height)
	}
}

// TestPayloads: whatever agents write, in whatever place, a frame shows it and does nothing else.
func TestPayloads(t *testing.T) {
	if len(payloads) < 60 {
		t.Fatalf("%d payloads", len(payloads))
	}
	for _, payload := range payloads {
		b := newBoard(t, 80, 24)
		b.full = payload
		b.sees(hostile(payload)...)
		drafts := members.Drafting{Number: 1, Seq: 99, Drafts: []members.Draft{{Member: payload, Helper: payload, Text: payload, Cut: true}, {Member: "lead", Text: payload}}}
		b.does(news{scene: b.look(drafts), drafts: drafts})
		for _, keys := range [][]string{
			nil, {"down"}, {"enter"}, {"esc", "tab"}, {"down", "down"}, {"tab"}, {"m"}, {"esc",
				"r"}, {"esc", "4"}, {"enter"}, {"esc", "2", "home", "s"},
		} {
			b.press(keys...)
			b.fits(t, fmt.Sprintf("%q after %q", payload, keys))
		}
		b.does(tea.PasteMsg{Content: payload})
		b.fits(t, fmt.Sprintf("%q is pasted", payload))
		b.press("enter", "/")
		b.does(tea.PasteMsg{Content: payload})
		b.fits(t, fmt.Sprintf("%q is a filter", payload))
		b.does(doneMsg{said: payload})
		b.does(tea.WindowSizeMsg{Width: 121, Height: 40})
		b.press("enter")
		b.fits(t, fmt.Sprintf("%q in a wide terminal", payload))
	}
}

// TestLongLine: a line of ten million letters costs a frame no more than what is seen of it.
func TestLongLine(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(hostile("short")...)
	b.sees(teamtest.Line(12, "lead", "tool_result", `{"content":"`+strings.Repeat("x", 10<<20)+`"}`))
	b.press("2", "home", "enter")
	b.fits(t, "a long line")
	b.shows("the rest: covey logs")
}

// TestAnyKeys: no order of keys, news and sizes makes a frame that does not fit, or a way in that
// has no way out.
func TestAnyKeys(t *testing.T) {
	keys := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "pgup", "pgdown", "home", "end",
		"shift+up", "shift+down", "left", "right",
		"backspace", "ctrl+z", "ctrl+home", "ctrl+end", "1", "2", "3", "4", "a", "d", "s", "h", "i", "m", "r", "j", "k", "g", "G", "/", "?", "x", "世", " "}
	all := played()
	for _, p := range []string{"\x1b[2J世界\u202e", "👩\u200d💻"} {
		all = append(all, hostile(p)...)
	}
	rapid.Check(t, func(r *rapid.T) {
		b := newBoard(t, rapid.IntRange(0, 210).Draw(r, "width"), rapid.IntRange(0, 70).Draw(r, "height"))
		for i := range rapid.IntRange(0, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 9).Draw(r, "what") {
			case 0:
				b.does(tea.WindowSizeMsg{Width: rapid.IntRange(0, 210).Draw(r, "width"), Height: rapid.IntRange(0, 70).Draw(r, "height")})
			case 1:
				b.up = rapid.Bool().Draw(r, "up")
				from := rapid.IntRange(0, len(all)-1).Draw(r, "from")
				b.sees(all[from:min(len(all), from+rapid.IntRange(0, 20).Draw(r, "lines"))]...)
			case 2:
				b.does(tea.PasteMsg{Content: rapid.SampledFrom(payloads).Draw(r, "pasted")})
			case 3:
				b.does(news{scene: b.look(members.Drafting{}), fresh: true})
			default:
				b.press(rapid.SampledFrom(keys).Draw(r, "key"))
			}
			b.fits(r, fmt.Sprint("step ", i))
		}
		b.press("esc", "esc", "q")
		if !b.quit {
			r.Fatalf("no way out:\n%s", b.frame())
		}
	})
}
