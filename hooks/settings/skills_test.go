package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestSkills: which skills are listed, and what is said of those that are not.
func TestSkills(t *testing.T) {
	dir := testkit.Files(t, map[string]string{
		"w/.claude/skills/pdf/SKILL.md":     "---\nname: pdf-forms\ndescription: Fill in forms\nallowed-tools: Read\n---\nDo it.",
		"w/.claude/skills/plain/SKILL.md":   "# Plain work\n\nNo head.",
		"w/.claude/skills/manual/SKILL.md":  "---\ndisable-model-invocation: true\n---\nFor people.",
		"w/.claude/skills/broken/SKILL.md":  "---\ndescription: [x\n---\nText",
		"w/.claude/skills/binary/SKILL.md":  "\x00",
		"w/.claude/skills/twin/SKILL.md":    "---\nname: pdf-forms\n---\nAnother.",
		"w/.claude/skills/empty/README.md":  "no skill",
		"plug/.claude-plugin/plugin.json":   `{"name": "tools"}`,
		"plug/skills/deploy/SKILL.md":       "---\ndescription: Deploy\n---\nText",
		"elsewhere/SKILL.md":                "secret",
		"w/.claude/skills/linked/other.txt": "x",
	})
	if err := os.Symlink(filepath.Join(dir, "elsewhere", "SKILL.md"), filepath.Join(dir, "w/.claude/skills/linked/SKILL.md")); err != nil {
		t.Skip(err)
	}
	list, warnings := Skills(filepath.Join(dir, "w"), []string{filepath.Join(dir, "plug")})
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s=%s %t", s.Name, s.Description, s.Manual))
	}
	if have := strings.Join(got, "; "); have != "manual=For people. true; pdf-forms=Fill in forms false; plain=Plain work false; "+
		"tools:deploy=Deploy false" {
		t.Errorf("skills %s", have)
	}
	text := fmt.Sprint(warnings)
	for _, want := range []string{
		"broken/SKILL.md is left out: it has a head that is not YAML", "binary/SKILL.md is left out: it is not UTF-8 text",
		"linked/SKILL.md is left out: it is a link to",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning %q in %s", want, text)
		}
	}
	if len(warnings) != 3 {
		t.Errorf("%d warnings: %v", len(warnings), warnings)
	}
}
