package doctor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestNoticeFindings: what cannot be delivered is a warning, as the team runs without it.
func TestNoticeFindings(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const secret = "0123456789abcdef"
	outside := filepath.Join(testkit.Files(t, map[string]string{"secret": secret, "short": "x"}))
	dir := testkit.Files(t, map[string]string{"secret": secret, "tell": "#!/bin/sh\n"})
	hook := func(file string) configs.Notify {
		return configs.Notify{Webhook: "https://example.com/T0KEN", SecretFile: file}
	}
	for name, c := range map[string]struct {
		rule configs.Notify
		want string // empty: it can work
	}{
		"no notify-send": {configs.Notify{Desktop: true}, "no notify-send"},
		"a command that is gone": {configs.Notify{Command: []string{"./gone"}},
			"the command ./gone cannot be run"},
		"a command that is none": {configs.Notify{Command: []string{"./tell"}},
			"the command ./tell cannot be run"},
		"a webhook":                 {hook(filepath.Join(outside, "secret")), ""},
		"a short secret":            {hook(filepath.Join(outside, "short")), "is too short"},
		"a secret that is gone":     {hook(filepath.Join(outside, "gone")), "cannot be read"},
		"a secret in the workspace": {hook(filepath.Join(dir, "secret")), "where members can read it"},
	} {
		found := noticeFindings(&configs.Team{Workspace: dir, Notify: []configs.Notify{c.rule}})
		bad := c.want != ""
		if len(found) != 1 || (found[0].Verdict == isWarn) != bad ||
			!strings.Contains(found[0].Text, c.want) ||
			strings.Contains(found[0].Text, "T0KEN") {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found := noticeFindings(&configs.Team{}); len(found) != 0 {
		t.Errorf("without rules: %+v", found)
	}
}
