package view

import (
	"encoding/json"
	"testing"
	"time"
)

// TestNumbers: lines that were applied change nothing, missing ones are a gap, and a fold may
// begin in the middle.
func TestNumbers(t *testing.T) {
	s := &State{}
	apply := func(seq int, text string) { s.Apply(lineOf(seq, text).Event()) }
	apply(7, `ana.3 text {"text":"Hello"}`)
	apply(8, `ana.3 news_from_the_future {"text":[1]}`)
	apply(8, `ana.3 text {"text":"again"}`)
	apply(0, `ana.3 text {"text":"no number"}`)
	apply(11, `ana.3 text {"text":7}`)
	apply(13, `- team_started {"goal":"Go on","resumed":true,"members":["lead","ana"]}`)
	if s.First != 7 || s.Seq != 13 || s.Team != "crew" || s.Time != noon.Add(13e9) {
		t.Errorf("from %d to %d of %s at %v", s.First, s.Seq, s.Team, s.Time)
	}
	if got := words(s.Gaps); got != "[{8 11 false} {11 13 true}]" {
		t.Errorf("gaps %v", got)
	}
	if m := s.Member("ana"); len(m.Texts) != 1 || m.Texts[0].Text != "Hello" || s.Members[0].Name != "lead" {
		t.Errorf("ana %+v", m)
	}
}

// TestFresh: `covey up --fresh` begins another journal; one that is read again is the same.
func TestFresh(t *testing.T) {
	s := fold(atWork)
	before := encoded(t, s)
	if s.apply(""); encoded(t, s) != before {
		t.Error("nothing was applied, and something has changed")
	}
	s.Apply(lineOf(1, `- team_started {"goal":"Ship it"}`).Event())
	if encoded(t, s) != before {
		t.Error("the first line was applied again")
	}
	l := lineOf(1, `- team_started {"goal":"Anew","members":["lead"]}`)
	l.Time = noon.Add(1 << 40)
	s.Apply(l.Event())
	if s.Seq != 1 || len(s.Tasks) != 0 || len(s.Members) != 1 || s.Run().Goal != "Anew" {
		t.Errorf("after a fresh start: %s", encoded(t, s))
	}
}

func TestRuns(t *testing.T) {
	const ended = crew + "ana.1 turn_started {}\nana.1 turn_ended {}\nana.1 needs_attention {\"reason\":\"stuck\"}\n" +
		`- team_ended {"reason":"all work is done","exit_code":1,"tasks":{"completed":2},"turns":{"turns":5}}` + "\n"
	const nothingNew = `- team_started {"goal":"Ship it","resumed":true,"members":["lead","ana","ben"]}
- team_ended {"reason":"nothing is new","exit_code":0}
`
	stopped := func(s *State) any {
		text := ""
		for _, m := range s.Statuses() {
			text += words(m.Name, m.State, m.Turns) + "; "
		}
		return text
	}
	facts{
		{"its beginning", crew, func(s *State) any {
			r := s.Run()
			return words(r.First, r.Last, r.Goal, r.Covey, r.Spec, r.Workspace, r.Staffed, r.Ended.IsZero(), r.ExitCode)
		}, "1 4 Ship it 1.2 /w/team.yaml /w true true <nil>"},
		{"its end", ended, func(s *State) any {
			r := s.Run()
			return words(r.Reason, *r.ExitCode, r.Counts, r.Turns.Turns, r.Ended.Equal(s.Time), r.Cut)
		}, "all work is done 1 map[completed:2] 5 true false"},
		{"cut by a kill", crew + `- team_started {"resumed":true}`, func(s *State) any {
			return words(s.Runs[0].Cut, s.Runs[0].Ended.IsZero(), s.Runs[1].Resumed, s.Member("ana").State)
		}, "true true true starting"},
		{"stopped", ended, stopped, "lead idle 0; ana needs attention 1; ben idle 0; "},
		{"nothing new", ended + nothingNew, stopped, "lead idle 0; ana idle 1; ben idle 0; "},
		{"nothing new, twice", ended + nothingNew + nothingNew, stopped, "lead idle 0; ana idle 1; ben idle 0; "},
		{"the next one", ended + nothingNew + `- team_started {"members":["lead","ana"]}
lead member_started {"agent":"x"}`, stopped, "lead idle 0; ana idle 0; "},
		{"of a running team", ended + nothingNew + `- team_started {"members":["lead","ana"]}
lead member_started {"agent":"x"}`, func(s *State) any { return words(s.Roster(true)[1].State, s.Roster(false)[1].State) }, "starting idle"},
		{"as it was left", ended + nothingNew, func(s *State) any {
			m := s.Roster(false)[1]
			return words(m.Name, m.State, m.Done.Turns, m.Since.IsZero(), s.Roster(true)[1].Done.Turns)
		}, "ana idle 1 true 0"},
		{"who has left comes last", crew + `- team_started {"members":["ben","new"]}`, func(s *State) any {
			text := ""
			for _, m := range s.Members {
				text += words(m.Name, m.Lead, m.Left, m.State) + " "
			}
			return text
		}, "ben true false starting new false false starting lead false true ended ana false true ended "},
		{"a merge without a team", ended + `- team_started {"merge":"task 1"}
- hook_finished {"event":"TaskCompleted","command":"go test","outcome":"blocking"}
- team_ended {"merge":"task 1","exit_code":0}`, func(s *State) any {
			return words(s.Run().Merge, s.Member("ana").Attention, s.MergeHooks[0].Refusals, s.StaffedRun().First)
		}, "task 1 stuck 1 1"},
		{"waits", crew + `- team_waits {"until":"2026-11-25T15:00:00Z","members":["ana"]}`,
			func(s *State) any { return words(s.Waits.Members, s.Waits.Until.Hour(), s.Waits.Since.Equal(s.Time)) }, "[ana] 15 true"},
		{"waits no more", "- team_waits {}\nana.1 turn_started {}", func(s *State) any { return s.Waits }, "<nil>"},
		{"bus", crew + `- bus {"host":"a.test","since":"2026-11-25T15:00:00Z","epoch":3,"quorum":true}
- bus {"host":"a.test","since":"2026-11-25T15:00:00Z","epoch":3,"standby":"b.test","acked":"2026-11-25T15:00:09Z"}`, func(s *State) any {
			return words(s.Bus.Host, s.Bus.Epoch, s.Bus.Standby, s.Bus.Quorum, s.Bus.Acked.Second())
		}, "a.test 3 b.test false 9"},
		{"another run without a bus", crew + "- bus {\"host\":\"a.test\"}\n- team_started {}", func(s *State) any { return s.Bus == nil }, "true"},
		{"budget", crew + `- budget {"what":"usd","used":1,"limit":2,"level":50}
- budget {"what":"usd","used":1.5,"limit":2,"level":75}
ana budget {"member":"ana","what":"tokens","used":5,"limit":10,"level":50}`, func(s *State) any {
			return words(s.Budget, s.Member("ana").Limits)
		}, "[1.50 of 2.00 US dollars (75 %)] [5 of 10 tokens (50 %)]"},
		{"coordination", `- team_started {"members":["lead","ana"]}
lead.1 turn_ended {"usage":{"input_tokens":90,"output_tokens":10}}
lead.1 coordination {"tokens":10,"of":100,"notices":1}
lead.2 turn_ended {"usage":{"input_tokens":100}}
ana.1 turn_ended {"usage":{"input_tokens":100}}`, func(s *State) any {
			return words(s.Noticed().Tokens, s.Noticed().Of, s.Noticed().Notices)
		}, "10 200 1"},
		{"use", crew + `ana.1 turn_ended {"cost_usd":1}
ana.2 use {"cost_usd":1.25,"limits":[{"member":"ana","what":"tokens","used":5,"limit":10}],"team":[{"what":"tokens","used":7,"limit":20}]}
ana.2 turn_ended {"cost_usd":0.25}`, func(s *State) any {
			return words(s.Member("ana").Status().CostUSD, s.Member("ana").Status().Limits, s.BudgetAt(s.Time))
		}, "1.25 [5 of 10 tokens (50 %)] [7 of 20 tokens (35 %)]"},
		{"a budget of time", crew + `ana use {"team":[{"what":"time","used":60,"limit":600}]}`, func(s *State) any {
			later := s.BudgetAt(s.Time.Add(4 * time.Minute))
			end := fold(crew + "ana use {\"team\":[{\"what\":\"time\",\"used\":60,\"limit\":600}]}\nana.1 turn_started {}\n- team_ended {}")
			return words(later, later[0].Level, end.BudgetAt(end.Time.Add(time.Hour)))
		}, "[5m0s of 10m0s (50 %)] 50 [1m2s of 10m0s (10 %)]"},
		{"a limit that is gone", crew + `ana use {"limits":[{"member":"ana","what":"tokens","used":5,"limit":10}],"team":[{"what":"tokens","used":7,"limit":20}]}
- team_ended {}
` + crew + `ana use {"cost_usd":1}
ana member_started {}`, func(s *State) any { return words(s.Member("ana").Limits, s.BudgetAt(s.Time)) }, "[] []"},
		{"a run with nothing new", crew + `ana member_started {}
ana use {"team":[{"what":"tokens","used":7,"limit":20}]}
- team_ended {}
- team_started {"members":["lead","ana","ben"]}
- team_ended {}`, func(s *State) any { return s.BudgetAt(s.Time) }, "[7 of 20 tokens (35 %)]"},
		{"warnings", "- warning {\"text\":\"a\\nb\"}\nana warning {\"text\":\"c\"}", func(s *State) any {
			return s.Warnings[0].Text + s.Warnings[1].Member
		}, "a bana"},
		{"another spec", crew + `- spec_changed {"goal":"More","member_changes":[{"name":"new","change":"added"},{"name":"ben","change":"retired"}]}`,
			func(s *State) any { return words(s.Run().Goal, s.Member("new").Left, s.Member("ben").Left) }, "More false true"},
	}.check(t, "")
}

// TestDamagedData: data of another shape gives what can be decoded, and no panic.
func TestDamagedData(t *testing.T) {
	for _, data := range []string{`null`, `[]`, `"x"`, `{"id":7}`, `{"task":3,"members":"x","until":"soon"}`, `{`} {
		s := fold(atWork)
		for _, kind := range kinds {
			l := lineOf(int(s.Seq)+1, "ana.1 "+kind)
			l.Data = json.RawMessage(data)
			s.Apply(l.Event())
		}
		if s.Seq != uint64(7+len(kinds)) {
			t.Errorf("%s: %d lines", data, s.Seq)
		}
	}
}

// kinds are all types of lines that a State knows, and one that it does not.
var kinds = []string{
	"team_started", "team_ended", "team_waits", "bus", "budget", "coordination", "warning", "spec_changed", "task", "task_unchanged",
	"message", "message_delivered", "request", "merge", "gate", "hook_started", "hook_finished", "hook_feedback",
	"hook_stopped_continuation", "verdict", "verdict_reused", "turn_started", "pass_started", "text", "tool_call", "tool_result",
	"held_up", "turn_ended", "idle", "member_started", "member_ended", "member_left", "needs_attention", "attention_over", "member_held", "member_resumed",
	"waiting", "hook_model", "worktree", "subagent_started", "subagent_ended", "compacted", "program_starts", "program_restarts", "member_restarts",
	"model_switched", "agent_changed", "watchdog", "limited", "logged_out", "turn_failed", "plan",
}
