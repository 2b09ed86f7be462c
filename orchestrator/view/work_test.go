package view

import (
	"strings"
	"testing"
)

// TestTasks: a task has its fields, its owners, its lines, and who did not accept it.
func TestTasks(t *testing.T) {
	one := func(f func(*Task) string) func(*State) any {
		return func(s *State) any { return f(s.Task("1")) }
	}
	const release = `lead task {"op":"released","by":"lead","reason":"take the other first","task":{"id":"1","status":"pending","owner":"","epoch":3}}
`
	facts{
		{"fields", `lead task {"op":"updated","task":{"id":"1","subject":"Do it","description":"` + strings.Repeat("long ", 99) +
			`","status":"in_progress","owner":"ana","blockedBy":["2"],"labels":["go"],"metadata":{"a":1,"b":"` + strings.Repeat("x", 300) +
			`"},"evidence":[{"by":"ana","text":"a\nb"}]}}`, one(func(t *Task) string {
			return words(t.Subject, len(t.Description), t.BlockedBy, t.Labels, len(t.Metadata), t.Evidence[0].Text)
		}), "Do it 202 [2] [go] 1 a b"},
		{"owners", release + `ben task {"op":"claimed","by":"ben","task":{"id":"1","status":"in_progress","owner":"ben","epoch":4}}
ben task {"op":"completed","by":"ben","task":{"id":"1","status":"completed","owner":"ben","epoch":4}}
lead task {"op":"updated","by":"lead","task":{"id":"1","status":"completed","owner":"ben","epoch":4}}`, one(func(t *Task) string {
			text := ""
			for _, o := range t.Owners {
				text += words(o.Owner, o.By, o.Epoch, o.Since.Sub(noon), o.Claimed.Sub(noon), o.Until.Sub(noon), o.End) + "; "
			}
			return text + words(t.Completed.Sub(noon))
		}), "ana lead 1 5s 7s 8s released; ben ben 4 9s 9s 10s completed; 10s"},
		{"spans", "ana.1 text {}\nben.1 text {}\nana.2 text {}\n" + release + "ana.2 text {}", one(func(t *Task) string {
			return words(t.Spans, t.First, t.Last, t.Lines)
		}), "[{ana 1 7 8} {ana 2 10 10}] 5 11 [5 7 11]"},
		{"claimed and worked on in one answer", `ana.1 text {"text":"an earlier answer"}
ana.1 tool_call {"id":"a","name":"TaskList"}
ana.1 tool_result {"id":"a"}
ana.1 text {"text":"I take it"}
ana.1 tool_call {"id":"b","name":"TaskUpdate"}
ana.1 tool_call {"id":"c","name":"Bash"}
lead task {"op":"claimed","by":"ana","task":{"id":"2","status":"in_progress","owner":"ana"}}
ana.1 tool_result {"id":"b"}
ana.1 tool_result {"id":"c"}`, func(s *State) any { return words(s.Task("2").Spans) }, "[{ana 1 11 16}]"},
		{"sent back by a reviewer", `ana.1 request {"id":"r1","kind":"approval","member":"ana","to":"operator","payload":{"task_id":"1"},"state":"open"}
- request {"id":"r1","kind":"approval","member":"ana","to":"operator","payload":{"task_id":"1"},"state":"denied","by":"operator","feedback":"the test is gone"}`,
			one(func(t *Task) string {
				return words(t.SentBack, t.Refusals, t.Returns[0].Kind, t.Returns[0].By, t.Returns[0].Reason)
			}), "1 0 sent back operator the test is gone"},
		{"sent back at the merge", `- merge {"id":"1","tasks":["1"],"state":"waiting"}
- merge {"id":"1","tasks":["1"],"state":"returned","refused":true,"reason":"a person sent it back: no"}
- merge {"id":"2","tasks":["1"],"state":"returned","reason":"a conflict"}`,
			one(func(t *Task) string { return words(t.SentBack, t.Returns[0].Kind, t.Returns[1].Kind) }), "2 sent back returned"},
		{"opened again by a person", `lead task {"op":"completed","by":"ana","task":{"id":"1","status":"completed","owner":"ana"}}
- task {"op":"updated","by":"operator","reason":"sent back: no","task":{"id":"1","status":"pending","owner":"ana"}}`,
			one(func(t *Task) string { return words(t.SentBack, t.Returns[0].Reason) }), "1 sent back: no"},
		{"a refused call", `ana.1 gate {"event":"TaskCompleted","tool_use_id":"g1","task_id":"1"}
ana.1 hook_started {"event":"TaskCompleted","tool_use_id":"g1","command":"./a"}
ana.1 hook_finished {"event":"TaskCompleted","tool_use_id":"g1","command":"./a","outcome":"blocking"}
ana.1 task {"op":"refused","by":"ana","reason":"TaskCompleted hook feedback:\n[./a]: no","task":{"id":"1","status":"completed","owner":"ana"}}`,
			one(func(t *Task) string {
				return words(t.Status, t.Refusals, t.Returns[0].Seq, t.Returns[0].By, t.Returns[0].Reason)
			}),
			"in_progress 1 11 ./a no"},
		{"a refused turn end", `ana.1 hook_feedback {"event":"TaskCompleted","tool_use_id":"g1","text":"no","path":"turn_end","task_id":"1"}`,
			one(func(t *Task) string { return words(t.Refusals, t.Returns[0].Member, t.Returns[0].Turn) }), "1 ana 1"},
		{"given up", release, one(func(t *Task) string {
			r := t.Returns[0]
			return words(r.Kind, r.Member, r.By, r.Reason)
		}), "released ana lead take the other first"},
		{"awaits", `ana.1 task {"op":"awaits","reason":"the approval of rev","task":{"id":"1","status":"completed"}}`,
			one(func(t *Task) string { return words(t.Status, t.Awaits) }), "in_progress the approval of rev"},
		{"deleted", `lead task {"op":"deleted","by":"lead","task":{"id":"1","subject":"Do it","status":"in_progress","owner":"ana"}}`,
			func(s *State) any {
				return words(s.Task("1").Deleted, len(s.Graph()), s.Member("ana").InProgress, s.Task("1").Owners[0].End)
			}, "true 0 [] deleted"},
		{"never created", `ana.1 task {"op":"refused","by":"ana","reason":"no","task":{"id":"2","status":"proposed","subject":"More"}}`,
			func(s *State) any { return words(s.Task("2").Deleted, s.TaskCounts().Total()) }, "true 1"},
		{"in the order of ids", `lead task {"op":"created","task":{"id":"10","status":"pending","blockedBy":["9","1"]}}
lead task {"op":"created","task":{"id":"9","status":"completed"}}`, func(s *State) any {
			g := s.Graph()
			return words(g[0].ID, g[1].ID, g[2].ID, g[2].OpenBlockers(g), s.TaskCounts())
		}, "1 9 10 [1] {1 1 1 0 1}"},
		{"unchanged", `ana task_unchanged {"task_id":"1"}`, one(func(t *Task) string { return words(t.Unchanged) }), "true"},
	}.check(t, atWork)
}

func TestMailRequestsAndMerges(t *testing.T) {
	facts{
		{"mail", `lead.1 message {"id":"m1","from":"lead","to":"ana","kind":"text","text":"Hello\nyou","sent":"2026-11-25T11:00:00Z"}
lead.1 message {"id":"m2","from":"lead","to":"ana","kind":"text","summary":"More"}
ana.1 message_delivered {"id":"m1"}
ana.1 message_delivered {"id":"m1"}
ana.1 message_delivered {"id":"m7"}`, func(s *State) any {
			m := s.Mail[0]
			return words(m.Line, m.From, m.To, m.Summary, m.Sent.Hour(), m.Delivered.Sub(noon), s.Mail[1].Delivered.IsZero(), s.Member("ana").Unread)
		}, "8 lead ana Hello you 11 10s true 1"},
		{"a request", `ana.1 request {"id":"r1","kind":"plan","member":"ana","to":"lead","text":"a\nb","payload":{"x":1},"state":"open"}
lead.1 request {"id":"r1","kind":"plan","member":"ana","to":"lead","text":"a\nb","state":"denied","by":"lead","feedback":"no"}`,
			func(s *State) any {
				r := s.Requests[0]
				return words(r.Text, len(r.Payload), r.State, r.By, r.Feedback, r.Asked, r.Answered)
			}, "a b 0 denied lead no 8 9"},
		{"an open plan", `ana.1 request {"id":"r1","kind":"plan","member":"ana","to":"lead","text":"a","payload":{"plan":"b"},"state":"open"}
ana.1 request {"id":"r2","kind":"permission","member":"ana","to":"lead","payload":{"x":1},"state":"open"}`,
			func(s *State) any { return words(string(s.Requests[0].Payload), len(s.Requests[1].Payload)) }, `{"plan":"b"} 0`},
		{"hints are of a commit", `- merge {"id":"1","tasks":["1"],"commit":"a","state":"waiting"}
- work_hints {"merge":"1","commit":"a","hints":[{"kind":"x","mark":true,"word":"w"}],"size":{"files":1,"added":2,"removed":3}}
- merge {"id":"1","tasks":["1"],"commit":"a","state":"held"}
- merge {"id":"2","tasks":["1"],"commit":"b","state":"waiting"}
- work_hints {"merge":"2","commit":"b","hints":[{"kind":"x","mark":true,"word":"w"}],"size":{"files":1,"added":2,"removed":3}}
- merge {"id":"2","tasks":["1"],"commit":"c","state":"waiting"}`, func(s *State) any {
			return words(s.Merges[0].Size, len(s.Merges[0].Hints), s.Merges[1].Size, len(s.Merges[1].Hints))
		}, "{1 2 3} 1 {0 0 0} 0"},
		{"a merge", `- merge {"id":"1","member":"ana","branch":"b","tasks":["1"],"title":"Do it","into":"main","state":"queued"}
- merge {"id":"1","member":"ana","branch":"b","tasks":["1"],"title":"Do it","into":"main","state":"testing"}
- merge {"id":"1","member":"ana","branch":"b","tasks":["1"],"title":"Do it","into":"main","state":"returned","reason":"the tests fail","fix":"7"}`,
			func(s *State) any {
				m, task := s.Merges[0], s.Task("1")
				return words(len(m.Steps), m.State, m.Fix, m.Steps[2].Reason, task.Merges, task.Returns[0].Kind, task.Returns[0].Reason)
			}, "3 returned 7 the tests fail [1] returned the tests fail"},
		{"work that was sent back: where it is merged, by a person, by an approver, reopened, and after it was merged",
			`- task {"op":"created","task":{"id":"2"}}
- merge {"id":"1","member":"ana","branch":"b","tasks":["1"],"into":"main","state":"returned","reason":"the tests fail"}
- merge {"id":"1","member":"ana","branch":"b","tasks":["1"],"into":"main","state":"returned","reason":"the tests fail"}
- merge {"id":"2","member":"ben","branch":"c","tasks":["2"],"into":"main","state":"returned","reason":"not so","refused":true}
ana.1 request {"id":"r1","kind":"approval","member":"ana","to":"ben","text":"a","payload":{"task_id":"1"},"state":"open"}
ben.1 request {"id":"r1","kind":"approval","member":"ana","to":"ben","text":"a","payload":{"task_id":"1"},"state":"denied","by":"ben","feedback":"no test"}
ben.1 request {"id":"r2","kind":"merge","member":"ana","to":"ben","text":"a","payload":{"commit":"c3"},"state":"denied","by":"ben"}
- merge {"id":"3","member":"ana","branch":"d","commit":"c3","tasks":["2"],"into":"main","state":"returned","reason":"denied","refused":true}
- task {"op":"completed","task":{"id":"1","status":"completed","owner":"ana"}}
- task {"op":"updated","by":"operator","reason":"sent back: why","task":{"id":"1","status":"pending","owner":"ana"}}
- task {"op":"created","by":"operator","task":{"id":"9","status":"pending","owner":"ana","metadata":{"covey.revises":"1"}}}
- merge {"id":"4","member":"ana","branch":"e","tasks":["1"],"into":"main","state":"merged"}`, func(s *State) any {
				text := words(s.WorkCounts(), s.Task("1").SentBack, s.Task("2").SentBack)
				for _, r := range append(s.Task("1").Returns, s.Task("2").Returns...) {
					text += "; " + r.By + ": " + r.Reason
				}
				return text
			}, "{2 1 6} 4 2; : the tests fail; ben: no test; operator: sent back: why; operator: revised as task 9; operator: not so; ben: denied"},
		{"needs, the oldest first", `ana.1 needs_attention {"reason":"stuck"}
- merge {"id":"1","member":"ben","branch":"b","tasks":["1"],"title":"Do it","state":"held","reason":"a conflict"}
lead.1 request {"id":"r1","kind":"permission","member":"lead","to":"operator","text":"Bash","state":"open","created":"2026-11-25T11:00:00Z"}
ben.1 request {"id":"r2","kind":"plan","member":"ben","to":"lead","text":"a plan","state":"open"}`, func(s *State) any {
			text := ""
			for _, n := range s.Needs() {
				text += words(n.Kind, n.ID, n.Member, n.Text) + "; "
			}
			return text
		}, "request r1 lead Bash; member ana ana stuck; held 1 ben task 1 (Do it): a conflict; "},
		{"finished work", `- merge {"id":"1","member":"ana","branch":"b","tasks":["1","2"],"title":"Do it","into":"main","state":"waiting"}
- merge {"id":"2","member":"ben","branch":"c","title":"work of ben","into":"main","state":"waiting"}
- merge {"id":"2","member":"ben","branch":"c","title":"work of ben","into":"main","state":"queued"}
- merge {"id":"3","member":"ben","branch":"d","tasks":["2"],"into":"main","state":"held","asked":"r1"}
ben.1 request {"id":"r1","kind":"merge","member":"ben","to":"operator","text":"Merge?","state":"open"}`, func(s *State) any {
			text := ""
			for _, n := range s.Needs() {
				text += words(n.Kind, n.Asks, n.Task, n.Since.IsZero(), n.Text) + "; "
			}
			return text
		}, "request merge 2 true Merge?; merge  1 false tasks 1 and 2 (Do it) waits to be merged into main; "},
		{"a need is named once", `ana.1 needs_attention {"reason":"stuck"}
- request {"id":"r1","kind":"attention","member":"ana","to":"operator","text":"ana needs attention: stuck","state":"open"}
- request {"id":"r2","kind":"merge","member":"ben","to":"operator","text":"Merge?","state":"open"}
- merge {"id":"1","member":"ben","branch":"b","state":"held","asked":"r2"}`, func(s *State) any {
			return words(len(s.Needs()), s.Needs()[0].ID, s.Needs()[1].ID)
		}, "2 r1 r2"},
	}.check(t, atWork)
}
