package view

import "testing"

// gates describes the gates of a State.
func gates(s *State) any {
	text := ""
	for _, g := range s.Gates {
		text += words(g.Event, g.At, g.Member, g.Turn, g.Task, g.Merge, g.Number, g.Verdict, g.By, g.Reason, g.Ended.Sub(g.Started)) + "; "
	}
	return text
}

// TestGates: each gate has its place, its verdict, the hooks that decided, and what they said.
func TestGates(t *testing.T) {
	const stop = `ana.1 gate {"event":"Stop","tool_use_id":"g1"}
ana.1 hook_started {"event":"Stop","tool_use_id":"g1","command":"./a"}
`
	const task = `ana.1 gate {"event":"TaskCompleted","tool_use_id":"g2","task_id":"1"}
ana.1 hook_started {"event":"TaskCompleted","tool_use_id":"g2","command":"./a"}
ana.1 hook_started {"event":"TaskCompleted","tool_use_id":"g2","command":"./b"}
`
	const ended = `ana.1 hook_finished {"event":"TaskCompleted","tool_use_id":"g2","command":"./a","outcome":"success"}` + "\n"
	facts{
		{"judging", stop, gates, "Stop turn_end ana 1   1 judging []  -2562047h47m16.854775808s; "},
		{"agreed", stop + `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"success"}`,
			gates, "Stop turn_end ana 1   1 agreed []  2s; "},
		{"agreed, and goes on with a context", stop + `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"success"}
ana.1 hook_feedback {"event":"Stop","tool_use_id":"g1","text":"look again","path":"turn_end"}`,
			gates, "Stop turn_end ana 1   1 refused [] look again 3s; "},
		{"one of two ended", task + ended, gates, "TaskCompleted turn_end ana 1 1  1 judging []  -2562047h47m16.854775808s; "},
		{"one refused", task + ended + `ana.1 hook_finished {"event":"TaskCompleted","tool_use_id":"g2","command":"./b","outcome":"blocking"}
ana.1 hook_feedback {"event":"TaskCompleted","tool_use_id":"g2","text":"TaskCompleted hook feedback:\n[./b]: no","path":"turn_end","task_id":"1"}`,
			gates, "TaskCompleted turn_end ana 1 1  1 refused [./b] no 5s; "},
		{"a refusal outweighs a missing answer", task + `ana.1 hook_finished {"event":"TaskCompleted","tool_use_id":"g2","command":"./b","outcome":"await","awaits":"rev"}
ana.1 hook_finished {"event":"TaskCompleted","tool_use_id":"g2","command":"./a","outcome":"blocking"}`,
			func(s *State) any { return words(s.Gates[0].Verdict, s.Gates[0].By) }, "refused [./a]"},
		{"awaits", task + ended + `ana.1 hook_finished {"event":"TaskCompleted","tool_use_id":"g2","command":"./b","outcome":"await","awaits":"the approval of rev"}`,
			gates, "TaskCompleted turn_end ana 1 1  1 awaits [./b] the approval of rev 4s; "},
		{"its member hears that it awaits", task + ended + `ana.1 hook_finished {"event":"TaskCompleted","tool_use_id":"g2","command":"./b","outcome":"await","awaits":"the approval of rev"}
ana.1 hook_feedback {"event":"TaskCompleted","tool_use_id":"g2","text":"wait","path":"tool","task_id":"1"}`,
			func(s *State) any { return words(s.Gates[0].Verdict, s.Gates[0].By) }, "awaits [./b]"},
		{"observed", stop + `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"blocking","observed":"block"}`,
			gates, "Stop turn_end ana 1   1 agreed []  2s; "},
		{"halted", stop + `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"success"}
ana.1 hook_feedback {"event":"Stop","tool_use_id":"g1","text":"x","path":"turn_end"}
ana.1 hook_stopped_continuation {"event":"Stop","tool_use_id":"g1","message":"enough"}`, gates, "Stop turn_end ana 1   1 halted [] enough 4s; "},
		{"cut by the end of the turn", stop + `ana.1 turn_ended {"reason":"aborted_streaming"}`, gates, "Stop turn_end ana 1   1 cut []  2s; "},
		{"interrupted", stop + `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"cancelled"}`,
			gates, "Stop turn_end ana 1   1 cut []  2s; "},
		{"a hook waits for a slot", stop + `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"success"}
ana.1 hook_started {"event":"Stop","tool_use_id":"g1","command":"./b"}`, gates, "Stop turn_end ana 1   1 judging []  -2562047h47m16.854775808s; "},
		{"at a call", "ana.1 tool_call {\"id\":\"c1\",\"name\":\"TaskUpdate\",\"input\":{}}\n" + task, gates,
			"TaskCompleted tool ana 1 1  1 judging []  -2562047h47m16.854775808s; "},
		{"asked again", stop + `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"success"}
ana.1 gate {"event":"TaskCompleted","tool_use_id":"g3","task_id":"1"}
ana.1 gate {"event":"Stop","tool_use_id":"g4"}
ana.1 turn_ended {}
ana.2 turn_started {}
ana.2 gate {"event":"Stop","tool_use_id":"g5"}`, func(s *State) any {
			return words(s.Gates[0].Number, s.Gates[1].Number, s.Gates[2].Number, s.Gates[3].Number)
		}, "1 1 2 1"},
		{"not announced", `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","outcome":"success"}`,
			gates, "Stop turn_end ana 1   1 agreed []  0s; "},
		{"in the background", `ana.1 hook_finished {"event":"Stop","tool_use_id":"g1","command":"./a","background":true}`, gates, ""},
		{"of a merge", `- merge {"id":"4","member":"ben","branch":"b","tasks":["1"],"state":"testing"}
- gate {"event":"TaskCompleted","tool_use_id":"g9","merge":"4"}
- verdict {"task":"1","command":"./a","tree":"t1"}
- hook_started {"event":"TaskCompleted","tool_use_id":"g9","command":"./a"}
ben verdict_reused {"task":"1","command":"./a","tree":"t2","judged":"2026-11-25T11:00:00Z"}
- hook_finished {"event":"TaskCompleted","tool_use_id":"g9","command":"./a","outcome":"success","duration_ms":7,"stdout":"\n ok\nrest"}`,
			func(s *State) any {
				h := s.Gates[0].Hooks[0]
				return words(gates(s), h.Seq, h.Tree, h.Reused, h.Judged.Hour(), h.DurationMS, h.Output, s.MergeHooks[0].Event, s.MergeHooks[0].Runs)
			}, "TaskCompleted merge ben 0  4 1 agreed []  4s;  13 t2 true 11 7 ok merge 1"},
		{"a tree", task + `ana verdict {"task":"1","command":"./b","tree":"t1","pass":true}`, func(s *State) any {
			return words(s.Gates[0].Hooks[0].Tree, s.Gates[0].Hooks[1].Tree, s.Task("1").Lines)
		}, "t1 [5 7 8 11]"},
	}.check(t, atWork)
}

// TestTurns: a turn has its lines, its usage, and the tasks that were in progress in it.
func TestTurns(t *testing.T) {
	turn := func(s *State) any {
		u := s.Turns[0]
		return words(u.Number, u.First, u.Last, u.Cause, u.Prompt, u.Reason, u.Passes, u.Calls, u.Usage.Total(), u.CostUSD, u.Empty, u.Tasks)
	}
	facts{
		{"goes on", "ana.1 pass_started {\"pass\":1}\nana.1/h tool_call {\"name\":\"x\"}\nana.1 tool_call {\"name\":\"x\"}", turn,
			"1 6 10 task Do it  1 2 0 0 false [1]"},
		{"ended", `ana.1 turn_ended {"reason":"completed","passes":4,"usage":{"input_tokens":6},"cost_usd":0.5,"empty":true}
ana.1 idle {}`, turn, "1 6 8 task Do it completed 4 0 6 0.5 true [1]"},
		{"a helper's", "ana.1/h turn_started {}\nana.1/h turn_ended {\"reason\":\"completed\"}", turn, "1 6 9 task Do it  0 0 0 0 false [1]"},
		{"cut by a kill", "- team_started {\"members\":[\"lead\",\"ana\"]}\nana.1 turn_started {\"cause\":\"resume\"}", func(s *State) any {
			return words(s.Turns[0].Reason, s.Turns[1].Cause, s.Turns[1].Reason == "", s.Member("ana").Turn)
		}, "cut resume true 1"},
		{"two tasks share it", `ana.1 task {"op":"claimed","task":{"id":"2","status":"in_progress","owner":"ana"}}
ana.1 turn_ended {"usage":{"input_tokens":6},"cost_usd":0.5}`, func(s *State) any {
			return words(s.Turns[0].Tasks, s.Task("1").Spent, s.Task("2").Spent)
		}, "[1 2] {1 3 0.25} {1 3 0.25}"},
	}.check(t, atWork)
}
