package configs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestTaskThatNobodyTakes: validate says when no member takes a task by itself, and why.
func TestTaskThatNobodyTakes(t *testing.T) {
	for spec, want := range map[string]string{
		"teammates: {r: {tools: [Read, Grep]}}\ntasks: [{subject: Write it}]":                                 "r only reads",
		"teammates: {r: {permission_mode: plan}}\ntasks: [{subject: Write it}]":                               "r only reads",
		"teammates: {r: {role: reviewer}}\ntasks: [{subject: A, wants: {role: coder}}]":                       "r lacks role coder",
		"teammates: {r: {labels: [go]}}\ntasks: [{subject: A, wants: {labels: [go, js]}}]":                    "r lacks a label",
		"teammates: {r: {tools: [Read]}, s: {tools: [Grep]}}\ntasks: [{subject: A, wants: {tools: [Write]}}]": "r lacks a tool, s lacks a tool",
		"teammates: {r: {tools: [Read]}}\ntasks: [{subject: A, wants: {tools: [Read]}}]":                      "",
		"teammates: {r: {tools: [Read]}}\ntasks: [{subject: A, owner: r}]":                                    "",
		"teammates: {r: {tools: [Read]}, c: {}}\ntasks: [{subject: A}]":                                       "",
		"teammates: {r: {tools: [Bash]}}\ntasks: [{subject: A}]":                                              "",
		"teammates: {r: {self_claim: false, tools: [Read]}}\ntasks: [{subject: A}]":                           "",
		"tasks: [{subject: A}]": "",
	} {
		dir := testkit.Files(t, map[string]string{"s.yaml": "steps: []\n",
			"team.yaml": "covey: 1\ngoal: g\nmodels: {m: {provider: script, script: s.yaml}}\ndefaults: {model: m}\nlead: {}\n" + spec + "\n"})
		team, err := Load(filepath.Join(dir, "team.yaml"))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		got := ""
		for _, w := range team.Warnings {
			got += w.String()
		}
		if want == "" && got != "" || !strings.Contains(got, want) || want != "" && !strings.Contains(got, "no member takes this task by itself: "+want) {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

// TestTaskWithoutSubject: a task that nobody takes and that has no subject is two findings, and no crash.
func TestTaskWithoutSubject(t *testing.T) {
	_, err := Parse(filepath.Join(t.TempDir(), "team.yaml"), []byte("covey: 1\nlead: claude\n"+
		"teammates: {reader: {agent: claude, permission_mode: plan}}\ntasks: [{description: x}]\n"))
	if err == nil || !strings.Contains(err.Error(), "has no subject") {
		t.Errorf("%v", err)
	}
}
