package configs

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestCount: an entry with a count is that many members, which differ by name only, and a
// mistake in it is reported once.
func TestCount(t *testing.T) {
	const head = "covey: 1\nmodels: {m: {provider: script, script: demo.yaml}}\nlead: {model: m}\n"
	team := mustParse(t, head+"teammates:\n  a: {model: m}\n  w: {model: m, count: 300, depends_on: [a], labels: [x]}\n  z: {model: m}\n")
	names := team.MemberNames()
	if len(names) != 303 || names[2] != "w-1" || names[301] != "w-300" || names[302] != "z" {
		t.Errorf("names: %v", names)
	}
	first, last := team.Teammates[1], team.Teammates[300]
	first.Name = last.Name
	if fmt.Sprint(first) != fmt.Sprint(last) || !slices.Equal(last.DependsOn, []string{"a"}) || last.Role != "w" {
		t.Errorf("%+v\nis not\n%+v", first, last)
	}
	for spec, want := range map[string]string{
		"w: {model: m, count: 0}":                                 "4:34: count must be a whole number from 1 to 10000",
		"w: {model: m, count: -1}":                                "4:34: count must be",
		"w: {model: m, count: 10001}":                             "4:34: count must be",
		"a: {model: m, count: 6000}, b: {model: m, count: 6000}":  "4:41: more than 10000 teammates",
		"w: {model: nobody, count: 300}":                          "4:24: there is no model \"nobody\"",
		"w: {model: m, count: 300, depends_on: [nobody]}":         "4:52: there is no member \"nobody\"",
		"w: {model: m, count: 3, depends_on: [w-2]}":              "\"w-2\" cannot wait for itself",
		"w: {model: m, count: 3}, w-2: {model: m}":                "4:38: another teammate is called \"w-2\" too",
		strings.Repeat("a", 30) + ": {model: m, count: 10}":       "which is longer than 32",
		"w: {model: m, count: 3}, v: {model: m, depends_on: [w]}": "there is no member \"w\", but w-1 to w-3; write one of them",
	} {
		_, err := parse(t, head+"teammates: {"+spec+"}\n")
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%s: %v, want %q once", spec, err, want)
		}
	}
	if _, err := parse(t, head+"defaults: {count: 2}\n"); err == nil || !strings.Contains(err.Error(), "count") {
		t.Errorf("defaults: %v", err)
	}
}

// TestSandboxFolders: a folder that cannot be meant is a mistake with its place.
func TestSandboxFolders(t *testing.T) {
	const head = "covey: 1\nlead: {model: {provider: script, script: demo.yaml}}\nsandbox: {write: ["
	for folder, want := range map[string]string{
		`"*"`: "3:19: \"*\" is a pattern; name a folder", `"out/[ab]"`: "is a pattern", "~nobody/x": "3:19: \"~nobody/x\" is no folder; write ~/",
		`"~"`: "write ~/ for your home",
	} {
		if _, err := parse(t, head+folder+"]}\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
	if team := mustParse(t, head+"~/notes, out]}\n"); len(team.Sandbox.Write) != 2 {
		t.Errorf("%v", team.Sandbox)
	}
}

// TestTemplates: a template is a member with its defaults and a max. Nobody has its name, so nothing
// can be given to it.
func TestTemplates(t *testing.T) {
	const head = "covey: 1\nmodels: {m: openai/gpt-5}\nlead: {model: m}\n"
	team := mustParse(t, head+"defaults: {limits: {max_turns: 7}, depends_on: [a]}\nteammates: {a: {model: m}}\n"+
		"templates:\n  coder: {model: m, max: 4, labels: [go]}\n  tester: {model: m, max: 1}\n")
	coder := team.Templates[0]
	if len(team.Teammates) != 1 || len(team.Templates) != 2 || coder.Name != "coder" || coder.Max != 4 || coder.Role != "coder" ||
		coder.Limits.MaxTurns != 7 || !coder.SelfClaim || !slices.Equal(coder.DependsOn, []string{"a"}) ||
		!slices.Equal(team.Lead.Spawns, []string{"coder", "tester"}) {
		t.Errorf("%+v\nof %+v", coder, team.Lead)
	}
	var all []string
	for m := range team.EachAndTemplates() {
		all = append(all, m.Name)
	}
	if !slices.Equal(all, []string{"lead", "a", "coder", "tester"}) || !slices.Equal(team.MemberNames(), []string{"lead", "a"}) {
		t.Errorf("all %v, members %v", all, team.MemberNames())
	}
	for spec, want := range map[string]string{
		"templates: {w: {model: m}}":                                                      "w has no max",
		"templates: {w: {model: m, max: 0}}":                                              "max must be a whole number from 1 to 10000",
		"templates: {w: {model: m, max: 2, count: 2}}":                                    `unknown key "count"`,
		"templates: {w: claude}":                                                          "w must be a mapping",
		"templates: {w: {max: 2}}":                                                        "this member has no agent",
		"templates: {w: {model: nobody, max: 2}}":                                         `there is no model "nobody"`,
		"templates: {w: {model: m, max: 2, tools: [Raed]}}":                               "there is no tool \"Raed\"; write Read",
		"templates: {w: {model: m, max: 2, depends_on: [w]}}":                             `there is no member "w"`,
		"templates: {operator: {model: m, max: 2}}":                                       "which means the person at the command line",
		"templates: {lead: {model: m, max: 2}}":                                           `the lead is called "lead" too`,
		"teammates: {w: {model: m}}\ntemplates: {w: {model: m, max: 2}}":                  `another teammate is called "w" too`,
		"teammates: {v: {model: m, depends_on: [w]}}\ntemplates: {w: {model: m, max: 2}}": `there is no member "w"`,
		"templates: {w: {model: m, max: 2}}\ntasks: [{subject: A, owner: w}]":             `there is no member "w"`,
		"templates: {w: {model: m, max: 6000}, v: {model: m, max: 6000}}":                 "more than 10000 teammates",
	} {
		if _, err := parse(t, head+spec+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
}

// TestManyTeammates: what reading a spec takes grows with the number of its teammates, and not with the square.
func TestManyTeammates(t *testing.T) {
	taken := func(n int) uint64 {
		var spec strings.Builder
		spec.WriteString("covey: 1\nagents: {a: {use: command, command: [cat]}}\nlead: a\nteammates:\n")
		for i := range n {
			fmt.Fprintf(&spec, "  m%d: {agent: a}\n", i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Parse("team.yaml", []byte(spec.String())); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := taken(100), taken(800)
	if many > 16*few {
		t.Errorf("reading 800 teammates takes %d bytes, and 100 take %d", many, few)
	} else {
		t.Logf("%d and %d bytes", few, many)
	}
}
