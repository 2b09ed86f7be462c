package configs

import (
	"fmt"
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
