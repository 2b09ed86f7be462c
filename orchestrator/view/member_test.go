package view

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestMemberStates: the state of a member follows from its lines, in the turn and between turns.
func TestMemberStates(t *testing.T) {
	const idle = "ana.1 turn_ended {\"reason\":\"completed\"}\nana.1 idle {\"reason\":\"available\",\"last_text\":\"Done.\"}\n"
	const limited = "ana.1 limited {\"agent\":\"codex\",\"until\":\"2026-11-25T15:00:00Z\",\"known\":true,\"text\":\"no\\nmore\"}\n" +
		"ana.1 turn_ended {\"reason\":\"usage_limit\"}\nana.1 idle {\"reason\":\"usage_limit\",\"last_text\":\"x\"}\n"
	const loggedOut = "ana.1 logged_out {\"agent\":\"codex\",\"hint\":\"log in\",\"fix\":\"codex login\"}\n" +
		"ana.1 turn_ended {\"reason\":\"logged_out\"}\nana.1 needs_attention {\"reason\":\"not logged in\",\"kind\":\"login\"}\n" +
		"ana.1 idle {\"reason\":\"logged_out\"}\n"
	const slot = `ana.1 waiting {"kind":"slot","for":"a slot of codex"}` + "\n"
	const asks = `ana.1 waiting {"kind":"answer","for":"permission"}` + "\n"
	facts{
		{"a turn begins", "", ana, "working||thinking||"},
		{"a call", `ana.1 tool_call {"id":"c1","name":"Bash","input":{"command":"go  test"}}`, ana, "working||Bash go test||"},
		{"two calls, one result", `ana.1 tool_call {"id":"c1","name":"Bash","input":{"command":"a"}}
ana.1 tool_call {"id":"c2","name":"Bash","input":{"command":"b"}}
ana.1 tool_result {"id":"c1","content":"x"}`, ana, "working||Bash b||"},
		{"a text", `ana.1 text {"text":"I\nlook."}`, ana, "working||I look.||"},
		{"a helper's call", `ana.1/h tool_call {"id":"h1","name":"Bash","input":{"command":"ls"}}`, ana, "working||helper: Bash ls||"},
		{"a gate", `ana.1 hook_started {"event":"Stop","tool_use_id":"t1","command":"./gate"}`, ana, "working|Stop|Stop: ./gate||"},
		{"another hook", `ana.1 hook_started {"event":"PreToolUse","tool_use_id":"t1","command":"./x","status":"Looking"}`,
			ana, "working||PreToolUse: Looking||"},
		{"another hook and its end", `ana.1 tool_call {"id":"t1","name":"Bash","input":{"command":"a"}}
ana.1 hook_started {"event":"PreToolUse","tool_use_id":"t1","command":"./x"}
ana.1 hook_finished {"event":"PreToolUse","tool_use_id":"t1","command":"./x","outcome":"success"}`, ana, "working||Bash a||"},
		{"refused", `ana.1 hook_started {"event":"Stop","tool_use_id":"t1","command":"./gate"}
ana.1 hook_feedback {"event":"Stop","tool_use_id":"t1","text":"no"}`, ana, "working||refused by Stop||"},
		{"held up", `ana.1 held_up {"for":"a login"}`, ana, "working||thinking|a login|"},
		{"held up no more", "ana.1 held_up {\"for\":\"a login\"}\nana.1 pass_started {\"pass\":2}", ana, "working||thinking||"},
		{"its program starts", `ana.1 program_starts {"program":"codex-acp"}`, ana, "working||starting codex-acp||"},
		{"its program is ready", `ana.1 program_starts {"program":"codex-acp"}
ana.1 held_up {"for":"the agent program"}
ana.1 program_starts {"program":"codex-acp","ready":true}`, ana, "working||thinking||"},
		{"idle", idle, ana, "idle||Done.||"},
		{"awaits", idle + `ana.1 request {"id":"r1","kind":"plan","member":"ana","to":"rev","state":"open"}`, ana, "idle||Done.|rev's approval of its plan|"},
		{"awaits the older answer", idle + `ana.1 request {"id":"r1","kind":"plan","member":"ana","to":"rev","state":"open"}
ana.1 request {"id":"r2","kind":"question","member":"ana","to":"ben","state":"open"}
ana.1 request {"id":"r1","kind":"plan","member":"ana","to":"rev","state":"approved"}`, ana, "idle||Done.|ben's answer to its question|"},
		{"awaits nobody", idle + `- request {"id":"r1","kind":"shutdown","member":"ana","to":"ben","state":"open"}`, ana, "idle||Done.||"},
		{"waits for a slot", idle + slot, ana, "waiting||Done.|a slot of codex|"},
		{"has a slot", idle + slot + `ana.1 waiting {"kind":"slot","for":""}`, ana, "idle||Done.||"},
		{"waits for a slot in its turn", slot + `ana.1 tool_call {"id":"c1","name":"Bash"}`, ana, "waiting||Bash|a slot of codex|"},
		{"waits for other gates", `ana.1 hook_started {"event":"Stop","tool_use_id":"t1","command":"./gate"}
ana.1 waiting {"kind":"gates","for":"other gates"}`, ana, "waiting|Stop|Stop: ./gate|other gates|"},
		{"gates of an idle member", idle + `ana.1 waiting {"kind":"gates","for":"other gates"}`, ana, "idle||Done.||"},
		{"waits before its session", `ana member_restarts {"reason":"failed"}
ana waiting {"kind":"gates","for":"other gates"}`, ana, "starting||thinking|other gates|"},
		{"a limit of another", idle + `ana.1 waiting {"kind":"limit","for":"ben's limit","until":"2026-11-25T15:00:00Z"}`, ana, "limited||Done.||"},
		{"the limit is over", limited + `ana.1 waiting {"kind":"limit","for":""}`,
			func(s *State) any { return words(ana(s), s.Member("ana").Lockout) }, "idle||thinking|| <nil>"},
		{"another agent", limited + `ana.1 agent_changed {"from":"codex","to":"claude"}`, ana, "idle||thinking||"},
		{"a command in its background", idle + `ana.1 waiting {"kind":"run","for":"command bash_1"}`, ana, "waiting||Done.|command bash_1|"},
		{"a hook in its background", idle + `ana.1 waiting {"kind":"hook","for":"hook ./w"}`, ana, "idle||Done.|hook ./w|"},
		{"attention in the turn", `ana.1 needs_attention {"reason":"stuck"}`, ana, "working||thinking||stuck"},
		{"attention after it", "ana.1 turn_ended {}\nana.1 needs_attention {\"reason\":\"stuck\"}\nana.1 idle {\"reason\":\"limited\"}",
			ana, "needs attention||||stuck"},
		{"attention ends with a turn", idle + "ana.1 needs_attention {\"reason\":\"stuck\"}\nana.2 turn_started {}", ana, "working||thinking||"},
		{"attention is over", idle + "ana.1 needs_attention {\"reason\":\"stuck\"}\nana attention_over {}", ana, "idle||Done.||"},
		{"attention was left so", idle + `ana.1 needs_attention {"reason":"stuck"}
- request {"id":"r1","kind":"attention","member":"ana","to":"operator","state":"denied"}`, ana, "needs attention||Done.||stuck"},
		{"at its own limit", idle + `ana.1 needs_attention {"reason":"no more","kind":"limit"}`,
			func(s *State) any { return words(ana(s), s.Member("ana").AtLimit) }, "needs attention||Done.||no more true"},
		{"its limit was raised", idle + "ana.1 needs_attention {\"reason\":\"no more\",\"kind\":\"limit\"}\nana attention_over {}",
			func(s *State) any { return words(ana(s), s.Member("ana").AtLimit) }, "idle||Done.|| false"},
		{"limited", limited, ana, "limited||thinking||"},
		{"logged out", loggedOut, ana, "logged out||thinking||not logged in"},
		{"held while idle", idle + `ana member_held {"by":"operator"}`, ana, "held||Done.|covey resume ana|"},
		{"held in its turn", `ana member_held {"by":"operator","cut":true}`, ana, "working||thinking||"},
		{"held after it", "ana member_held {\"by\":\"operator\"}\n" + idle, ana, "held||Done.|covey resume ana|"},
		{"resumed", idle + "ana member_held {}\nana member_resumed {}", ana, "idle||Done.||"},
		{"tries again", "ana.1 turn_failed {\"text\":\"busy\",\"until\":\"2026-11-25T15:00:00Z\",\"left\":3}\nana.1 turn_ended {}\n" +
			"ana.1 idle {\"reason\":\"failed\",\"last_text\":\"x\"}", ana, "waiting||thinking|try 0 of 2, after: busy|"},
		{"held between two tries", "ana.1 turn_failed {\"text\":\"busy\",\"until\":\"2026-11-25T15:00:00Z\",\"left\":3}\nana.1 turn_ended {}\n" +
			"ana.1 idle {\"reason\":\"failed\",\"last_text\":\"x\"}\nana member_held {}", ana, "held||thinking|covey resume ana|"},
		{"failed for good", "ana.1 turn_failed {\"text\":\"no\"}\nana.1 turn_ended {}\nana.1 idle {\"reason\":\"failed\",\"last_text\":\"no\"}",
			ana, "idle||no||"},
		{"asks for permission", asks, ana, "waiting||thinking|permission|"},
		{"asks before its call is told", asks + `ana.1 tool_call {"id":"t1","name":"Bash","input":{"command":"rm a"}}`, ana,
			"waiting||Bash rm a|permission|"},
		{"has permission", asks + `ana.1 waiting {"kind":"answer","for":""}`, ana, "working||thinking||"},
		{"ended", `ana member_ended {"reason":"done"}`, ana, "ended||done||"},
		{"has left", "ana member_ended {\"reason\":\"stopped\"}\nana member_left {\"reason\":\"a person ended it\"}",
			func(s *State) any { return words(ana(s), s.Member("ana").Gone) }, "ended||a person ended it|| a person ended it"},
		{"restarts", `ana member_restarts {"reason":"failed"}`, ana, "starting||thinking||"},
		{"begins another life", "ana.1 member_restarts {}\nana member_ended {\"reason\":\"done\",\"again\":true}", ana, "starting||done||"},
		{"started again", "ana member_ended {}\nana member_started {\"agent\":\"acp/codex\"}", ana, "idle||||"},
	}.check(t, atWork)
}

// TestMemberFacts: the rest of what a State knows of a member.
func TestMemberFacts(t *testing.T) {
	member := func(f func(*Member) string) func(*State) any {
		return func(s *State) any { return f(s.Member("ana")) }
	}
	facts{
		{"begin", "", member(func(m *Member) string {
			return words(m.Agent, m.Session, m.Turn, m.InTurn, m.InProgress, m.Since.Sub(noon))
		}), "acp/codex s2 1 true [1] 6s"},
		{"passes", `ana.1 pass_started {"pass":3}`, member(func(m *Member) string { return words(m.Pass, m.Done.Passes) }), "3 1"},
		{"usage", `ana.1 turn_ended {"usage":{"input_tokens":5,"output_tokens":2},"cost_usd":0.5,"empty":true}
ana hook_model {"usage":{"input_tokens":3}}`, member(func(m *Member) string {
			return words(m.Done.Tokens, m.Done.CostUSD, m.Done.Empty, m.Spent, m.Pass, m.InTurn)
		}), "10 0.5 1 {1 10 0.5} 0 false"},
		{"a context", `ana.1 tokens_used {"usage":{"input_tokens":9},"context":{"tokens":40,"window":200}}
ana.1/h tokens_used {"context":{"tokens":99,"window":100}}
ana.1 tokens_used {"usage":{"input_tokens":9}}`, member(func(m *Member) string { return words(m.Done.Context) }), "{40 200}"},
		{"a fresh session", `ana fresh_session {"reason":"gone"}`, member(func(m *Member) string { return words(m.Done.FreshSessions) }), "1"},
		{"a compacted context", `ana.1 tokens_used {"context":{"tokens":40,"window":200}}
ana.1 compacted {"layer":"summary","before_tokens":40,"after_tokens":7}`, member(func(m *Member) string { return words(m.Done.Context) }), "{7 200}"},
		{"a context that nobody tells", `ana.1 compacted {"layer":"summary","after_tokens":7}`,
			member(func(m *Member) string { return words(m.Done.Context) }), "{0 0}"},
		{"the context of a new session", `ana.1 tokens_used {"context":{"tokens":40,"window":200}}
ana session_rotated {"session":"s9"}`, member(func(m *Member) string { return words(m.Done.Context, m.Session) }), "{0 0} s9"},
		{"a lockout", `ana.1 limited {"agent":"codex","until":"2026-11-25T15:00:00Z","known":true,"text":"no"}`,
			member(func(m *Member) string {
				return words(m.State, m.Lockout.Known, m.Lockout.Until.Hour(), m.IncidentCounts)
			}), "limited true 15 map[limited:1]"},
		{"hooks", `ana.1 hook_finished {"event":"PreToolUse","command":"./x","outcome":"cancelled","failed_open":true}`,
			member(func(m *Member) string { return words(m.Hooks.FailedOpen()) }), "1"},
		{"incidents", `ana.1 compacted {"layer":"summary","trigger":"auto","before_tokens":9,"after_tokens":4}
ana.1 program_restarts {"reason":"killed"}
ana.1 member_restarts {"reason":"failed"}
ana.1 model_switched {"from":"a","to":"b","why":"busy"}
ana.1 agent_changed {"from":"codex","to":"claude"}
ana.1 watchdog {"reason":"is silent","did":"interrupted"}`, member(func(m *Member) string {
			text := ""
			for _, i := range m.Incidents {
				text += i.Kind + ": " + i.Text + "; "
			}
			return text + words(m.Incidents[0].Before, m.Incidents[0].After, m.Agent)
		}), "compacted: summary auto; program_restarts: killed; member_restarts: failed; model_switched: a to b: busy; " +
			"agent_changed: codex to claude; watchdog: is silent; interrupted; 9 4 claude"},
		{"helpers", `ana.1 subagent_started {"id":"h1","agent_type":"look","description":"a\nb"}
ana.1 subagent_started {"id":"h2"}
ana.1 subagent_ended {"id":"h2"}`, member(func(m *Member) string { return words(len(m.Helpers), m.Helpers[0].Kind, m.Helpers[0].What) }),
			"1 look a b"},
		{"its working copy", `ana worktree {"op":"created","path":"/w/ana","branch":"b","base":"c0"}
ana worktree {"op":"kept","path":"/w/ana","reason":"unmerged"}`, member(func(m *Member) string { return words(*m.Worktree) }),
			"{/w/ana b c0 kept unmerged}"},
		{"its node", `ana member_placed {"node":"big"}
ana member_placed {"node":"small"}`, member(func(m *Member) string { return m.Node }), "small"},
		{"texts", `ana.1 text {"text":"1"}
ana.1 text {"text":"2"}
ana.1/h text {"text":"of a helper"}
ana.1 text {"text":"3"}
ana.1 text {"text":"4"}
ana.1 text {"text":"5"}
ana.1 text {"text":"6"}`, member(func(m *Member) string { return m.Texts[0].Text + m.Texts[4].Text }), "26"},
		{"refusals", `ana.1 hook_feedback {"event":"PreToolUse","text":"no","path":"tool"}
ana.1/h hook_feedback {"event":"SubagentStop","text":"no"}`, func(s *State) any {
			return words(s.Member("ana").Done.Refusals, s.Run().Refusals, s.Turns[0].Refusals)
		}, "2 2 2"},
		{"tasks done", `- task {"op":"completed","by":"operator","task":{"id":"1","status":"completed","owner":"ana"}}
- task {"op":"completed","by":"operator","task":{"id":"2","status":"completed"}}`, func(s *State) any {
			return words(s.Member("ana").Done.Completed, s.Member("ana").InProgress, s.Run().Turns.Completed)
		}, "[1] [] 2"},
		{"unknown senders are no members", `operator message {"id":"m1","from":"operator","to":"ana"}`,
			func(s *State) any { return words(s.Member("operator") == nil, s.Member("ana").Unread) }, "true 1"},
	}.check(t, atWork)
	facts{{"seen first in the middle", `- task {"op":"claimed","task":{"id":"4","status":"in_progress","owner":"ana"}}
- message {"id":"m1","to":"ana"}
ana.7 text {"text":"x"}`, member(func(m *Member) string { return words(m.InProgress, m.Unread, m.Turn, m.State) }),
		"[4] 1 7 working"}}.check(t, "")
}

// TestMemberOverRuns: of a member, these fields outlast a run, and begin clears the others. Whoever
// adds a field decides which it is.
func TestMemberOverRuns(t *testing.T) {
	t.Parallel()
	m := &Member{Name: "dev"}
	fields := reflect.ValueOf(m).Elem()
	for i := range fields.NumField() {
		fill(fields.Field(i))
	}
	before := *m
	m.begin(time.Unix(9, 0))
	var kept []string
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if reflect.DeepEqual(fields.Field(i).Interface(), reflect.ValueOf(before).Field(i).Interface()) {
			kept = append(kept, name)
		}
	}
	want := []string{"Name", "Lead", "Left", "Agent", "Reported", "LastNode", "Awaits", "Held", "Lockout", "InProgress", "Spent", "CostTold",
		"Unreported", "Unread", "Texts", "Worktree"}
	if !slices.Equal(kept, want) {
		t.Errorf("these outlast a run: %q, want %q; begin in teamfold.go decides", kept, want)
	}
}

// fill sets a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	}
}
