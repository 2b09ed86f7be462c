package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestSkillTool: a skill's text is the result, and that it is loaded outlives the process.
func TestSkillTool(t *testing.T) {
	dir := testkit.Files(t, map[string]string{
		"pdf/SKILL.md": "---\nname: pdf\n---\nFill in $ARGUMENTS with ${CLAUDE_SKILL_DIR}/fill.py.\r\n",
	})
	known := []Skill{
		{Name: "pdf", Description: "Fills in\nforms", File: filepath.Join(dir, "pdf", "SKILL.md")},
		{Name: "gone", File: filepath.Join(dir, "gone", "SKILL.md")},
	}
	known = append(known, Skill{Name: "manual", Description: "For people", File: known[0].File, Manual: true})
	file := filepath.Join(t.TempDir(), "out", "skills.json")
	env := Env{Workdir: workspace.NewWorkdir(dir), OutputDir: t.TempDir(), Skills: NewSkills(known, "s1", file)}
	set := New(env)
	defer closeSet(t, set)
	list := set.List()
	tool := list[len(list)-1]
	if spec := tool.Spec(); spec.Name != SkillTool || !strings.HasSuffix(spec.Description, "\n- pdf: Fills in forms\n- gone") {
		t.Fatalf("the last tool is %s: %s", spec.Name, spec.Description)
	}
	call := func(input string) agent.ToolResult {
		return tool.Run(t.Context(), agent.ToolCall{Name: SkillTool, Input: json.RawMessage(input)})
	}
	if env.Skills.Loaded("pdf") {
		t.Error("loaded before it was")
	}
	want := fmt.Sprintf("Base directory for this skill: %s\n\nFill in a b with %[1]s/fill.py.", filepath.Join(dir, "pdf"))
	if got := call(`{"skill":"pdf","args":"a b"}`); got.IsError || got.Content != want {
		t.Errorf("got %+v", got)
	}
	for input, want := range map[string]string{
		`{"skill":"pfd"}`:    `there is no skill "pfd"; there are pdf, gone`,
		`{"skill":"gone"}`:   "gone cannot be loaded",
		`{"skill":"manual"}`: `there is no skill "manual"; there are pdf, gone`,
	} {
		if got := call(input); !got.IsError || !strings.Contains(got.Content, want) {
			t.Errorf("%s: %+v", input, got)
		}
	}
	if later := NewSkills(known, "s1", file); !later.Loaded("pdf") || later.Loaded("gone") {
		t.Error("what is loaded was forgotten")
	}
	if err := appendLine(file, `{"session":"s1","sk`, false); err != nil { // torn by a full disk
		t.Fatal(err)
	}
	if !NewSkills(known, "s1", file).Loaded("pdf") {
		t.Error("a torn line loses the others")
	}
	if NewSkills(known, "s2", file).Loaded("pdf") {
		t.Error("another session has it loaded")
	}
	if c, err := env.Skills.Command("manual"); err != nil || c.Text != strings.Replace(want, "a b", "$ARGUMENTS", 1) || !env.Skills.Loaded("manual") {
		t.Errorf("a person gets %q, %v", c.Text, err)
	}
	if _, err := env.Skills.Command("none"); !errors.Is(err, ErrNoSkill) {
		t.Error(err)
	}
	env.Skills = NewSkills(known[2:], "s1", file) // for people only
	bare := New(env)
	defer closeSet(t, bare)
	if n := len(bare.List()); n != len(list)-1 {
		t.Errorf("without skills there are %d tools", n)
	}
}

func closeSet(t *testing.T, set *Set) {
	t.Helper()
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

// TestManySkills: what every request carries stays short, and every name is in it.
func TestManySkills(t *testing.T) {
	var known []Skill
	for i := range 200 {
		known = append(known, Skill{Name: fmt.Sprintf("skill-%03d", i), Description: strings.Repeat("long ", 200)})
	}
	text := NewSkills(known, "s", "").describe()
	if len(text) > maxSkillList+200*20 || strings.Count(text, "\n- skill-") != 200 {
		t.Errorf("%d characters with %d skills", len(text), strings.Count(text, "\n- skill-"))
	}
}
