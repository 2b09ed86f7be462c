package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/tasks"
)

// said are lines with places: %m is a member, %i a small number, %s a state.
var said = []string{
	`- team_started {"goal":"Ship it","resumed":true,"members":["lead","ana","ben"]}`,
	`- team_ended {"exit_code":0}`,
	`%m member_started {"agent":"builtin/script","session_id":"s%i"}`,
	`%m.%i turn_started {"cause":"task","prompt":"p"}`,
	`%m.%i pass_started {"pass":%i}`,
	`%m.%i text {"text":"t%i"}`,
	`%m.%i tool_call {"id":"c%i","name":"Bash"}`,
	`%m.%i tool_result {"id":"c%i"}`,
	`%m.%i/h subagent_started {"id":"h%i"}`,
	`%m.%i gate {"event":"Stop","tool_use_id":"g%i"}`,
	`%m.%i hook_started {"event":"Stop","tool_use_id":"g%i","command":"./a"}`,
	`%m.%i hook_finished {"event":"Stop","tool_use_id":"g%i","command":"./a","outcome":"success"}`,
	`%m.%i hook_feedback {"event":"TaskCompleted","tool_use_id":"g%i","text":"no","path":"turn_end","task_id":"%i"}`,
	`%m.%i turn_ended {"reason":"completed","usage":{"input_tokens":9}}`,
	`%m.%i idle {"reason":"available","last_text":"Done."}`,
	`%m.%i limited {"agent":"codex","text":"no more"}`,
	`%m session_rotated {"before":"s%i","session":"s%i"}`,
	`%m member_held {"by":"operator"}`,
	`%m member_resumed {}`,
	`%m needs_attention {"reason":"stuck"}`,
	`%m attention_over {}`,
	`%m.%i waiting {"kind":"answer","for":"x%i"}`,
	`%m.%i waiting {"kind":"limit","for":"","until":"2026-11-25T15:00:00Z"}`,
	`%m member_ended {"again":true}`,
	`- task {"op":"claimed","by":"%m","task":{"id":"%i","status":"in_progress","owner":"%m","epoch":%i}}`,
	`- task {"op":"released","by":"%m","task":{"id":"%i","status":"pending"}}`,
	`- task {"op":"completed","by":"%m","task":{"id":"%i","status":"completed","owner":"%m"}}`,
	`%m message {"id":"m%i","from":"%m","to":"%m","text":"x"}`,
	`%m message_delivered {"id":"m%i"}`,
	`%m request {"id":"r%i","kind":"permission","member":"%m","to":"operator","state":"open","text":"Bash"}`,
	`- request {"id":"r%i","kind":"permission","member":"%m","to":"operator","state":"approved"}`,
	`- merge {"id":"%i","member":"%m","tasks":["%i"],"state":"%s","reason":"%i"}`,
}

// aLine draws a line.
func aLine(t *rapid.T) string {
	text := rapid.SampledFrom(said).Draw(t, "line")
	for _, place := range []struct {
		mark string
		of   []string
	}{
		{"%m", []string{"lead", "ana", "ben"}}, {"%i", []string{"1", "2", "3"}}, {"%s", []string{"queued", "held", "returned", "merged"}},
	} {
		for strings.Contains(text, place.mark) {
			text = strings.Replace(text, place.mark, rapid.SampledFrom(place.of).Draw(t, place.mark), 1)
		}
	}
	return text
}

// TestGeneratedJournals: whatever lines come in which order and whichever are lost, a reader that
// joins from a snapshot has the same as one that was there, and what the lists say fits together.
func TestGeneratedJournals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, joined := fold(atWork), &State{}
		n := rapid.IntRange(1, 40).Draw(t, "lines")
		at := rapid.IntRange(0, n-1).Draw(t, "joins")
		for i := range n {
			if i == at {
				if err := json.Unmarshal([]byte(encoded(t, s)), joined); err != nil {
					t.Fatal(err)
				}
			}
			seq := int(s.Seq) + rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "step")
			l := lineOf(seq, aLine(t))
			s.Apply(l.Event())
			if i >= at {
				joined.Apply(l.Event())
			}
		}
		if a, b := encoded(t, s), encoded(t, joined); a != b {
			t.Fatalf("joined before line %d of %d:\n%s\nwant\n%s", at, n, b, a)
		}
		fits(t, s)
	})
}

// fits checks that the members, tasks, turns and letters of a State agree with each other.
func fits(t *rapid.T, s *State) {
	for _, m := range s.Members {
		goesOn, unread := 0, 0
		for _, turn := range s.Turns {
			if turn.Member == m.Name && turn.Reason == "" {
				goesOn++
			}
		}
		for _, letter := range s.Mail {
			if letter.To == m.Name && letter.Delivered.IsZero() {
				unread++
			}
		}
		if goesOn > 1 || m.InTurn != (goesOn == 1) || m.Unread != unread {
			t.Fatalf("%s is in a turn: %v, but %d go on; %d messages of %d are unread", m.Name, m.InTurn, goesOn, m.Unread, unread)
		}
		for _, task := range s.Tasks {
			if slices.Contains(m.InProgress, task.ID) != task.isWorkOf(m.Name) {
				t.Fatalf("%s has %v in progress; task %s is %s of %q", m.Name, m.InProgress, task.ID, task.Status, task.Owner)
			}
		}
	}
	for _, task := range s.Tasks {
		for i, o := range task.Owners {
			if o.Until.IsZero() != (i == len(task.Owners)-1 && task.Status != tasks.Completed && task.Owner != "") {
				t.Fatalf("task %s: owner %d of %+v", task.ID, i, task.Owners)
			}
		}
	}
}

// TestTogether: members whose lines come in turn have each their own turn, and lost lines leave
// nothing that seems to go on.
func TestTogether(t *testing.T) {
	turns := func(s *State) any {
		text := ""
		for _, turn := range s.Turns {
			text += words(turn.Member, turn.Number, turn.First, turn.Last, turn.Calls, turn.Passes, turn.Reason, turn.Tasks) + "; "
		}
		return text
	}
	merge := func(state string) string {
		return fmt.Sprintf("- merge {\"id\":\"1\",\"member\":\"ana\",\"tasks\":[\"1\"],\"state\":%q,\"by\":\"lead\"}\n", state)
	}
	const ask = `ben.1 request {"id":"r1","kind":"permission","member":"ben","to":"operator","state":"open","text":"Bash"}` + "\n"
	closed := func(s *State) any {
		r, m := s.Requests[0], s.Member("ben")
		return words(r.State, r.Answered, m.State, "|"+m.WaitsFor+"|", len(s.Needs()))
	}
	facts{
		{"turns in turn", `ben.4 turn_started {}
ana.1 tool_call {"id":"a1","name":"Bash"}
ben.4 tool_call {"id":"b1","name":"Read"}
lead.2 turn_started {}
ana.1/h tool_call {"id":"a2","name":"Bash"}
ben.4 turn_ended {"reason":"completed","passes":3}
ana.1 pass_started {"pass":2}
ben.5 turn_started {}`, turns, "ana 1 6 14 2 2  [1]; ben 4 8 13 1 3 completed []; lead 2 11 11 0 0  []; ben 5 15 15 0 0  []; "},
		{"the end of a turn is lost", "ana.1 idle {\"reason\":\"available\"}\nana.2 turn_started {}", turns,
			"ana 1 6 7 0 0 cut [1]; ana 2 9 9 0 0  [1]; "},
		{"a turn of two tasks", `ana.1 task {"op":"claimed","task":{"id":"2","status":"in_progress","owner":"ana"}}
ana.1 turn_ended {"usage":{"input_tokens":10},"cost_usd":1}`, func(s *State) any {
			return words(s.Turns[0].Tasks, s.Task("1").Spent, s.Task("2").Spent, s.Member("ana").Spent)
		}, "[1 2] {1 5 0.5} {1 5 0.5} {1 10 1}"},
		{"another session", `ana.1 session_rotated {"before":"s2","session":"s9"}`, func(s *State) any { return s.Member("ana").Session }, "s9"},
		{"models and compactions", strings.Repeat("ana.1 model_switched {\"from\":\"a\",\"to\":\"b\",\"why\":\"busy\"}\n"+
			"ana.1 compacted {\"before_tokens\":9,\"after_tokens\":4}\n", maxIncidents) + "ana.2 turn_started {}", func(s *State) any {
			m := s.Member("ana")
			return words(len(m.Incidents), m.Incidents[0].Kind, m.IncidentCounts, m.Agent, m.State)
		}, "20 model_switched map[compacted:20 model_switched:20] acp/codex working"},
		{"a merge on its way", merge("waiting") + merge("queued") + merge("testing") + merge("testing") + merge("landing") +
			merge("testing") + merge("landing") + merge("merged"), func(s *State) any {
			text := ""
			for _, step := range s.Merges[0].Steps {
				text += words(step.Seq, step.State) + "; "
			}
			return text + words(len(s.Task("1").Returns), s.Task("1").Merges)
		}, "8 waiting; 9 queued; 10 testing; 12 landing; 13 testing; 14 landing; 15 merged; 0 [1]"},
		{"returned twice", merge("queued") + merge("returned") + merge("queued") + merge("held") + merge("returned") + merge("dropped"),
			func(s *State) any {
				r := s.Task("1").Returns
				return words(len(r), r[0].Seq, r[1].Seq, r[1].By, r[1].Member, len(s.Needs()))
			}, "2 9 12  ana 0"},
		{"asked", "ben.1 turn_started {}\n" + ask, closed, "open 0 working || 1"},
		{"answered", "ben.1 turn_started {}\n" + ask + strings.Replace(ask, "open", "denied", 1), closed, "denied 10 working || 0"},
		{"expired", "ben.1 turn_started {}\n" + ask + strings.Replace(ask, "open", "expired", 1), closed, "expired 10 working || 0"},
		{"withdrawn", "ben.1 turn_started {}\n" + ask + strings.Replace(ask, "open", "withdrawn", 1), closed, "withdrawn 10 working || 0"},
		{"withdrawn after its turn", "ben.1 turn_started {}\n" + ask + "ben.1 turn_ended {}\nben.1 idle {}\n" +
			strings.Replace(ask, "open", "withdrawn", 1), closed, "withdrawn 12 idle || 0"},
		{"needs of another kind", `ben needs_attention {"reason":"stuck"}
- request {"id":"r1","kind":"merge","member":"ben","to":"operator","text":"Merge?","state":"open"}`, func(s *State) any {
			return words(len(s.Needs()), s.Needs()[0].Kind, s.Needs()[1].Kind)
		}, "2 request member"},
	}.check(t, atWork)
}
