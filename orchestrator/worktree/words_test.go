package worktree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestGuardAgainst: every setting that could run a program of the repository's choice
// is answered, under any name, and settings that run nothing are left alone. What the
// user has under the same name counts.
func TestGuardAgainst(t *testing.T) {
	t.Parallel()
	lfs := Filter{Name: "lfs", Clean: "lfs clean", Smudge: "lfs smudge", Required: true}
	for _, test := range []struct {
		name       string
		outer, own []entry
		want       string // settings, then what is forbidden
	}{
		{"nothing", nil, []entry{{key: "user.name", value: "x"}, {key: "merge.conflictstyle"}, {key: "filter.clean"}, {key: "core.pager"}, {}, {key: "."},
			{key: "diff.png.binary", value: "true"}, {key: "merge.ours.name", value: "x"}}, " !"},
		{"drivers", nil, []entry{{key: "diff.png.command", value: "x"}, {key: "diff.png.textconv", value: "x"}, {key: "merge.ours.driver", value: "x"}},
			"diff.png.command= diff.png.textconv= merge.ours.driver=false !"},
		{"drivers of the user", []entry{{key: "diff.png.textconv", value: "mine"}, {key: "merge.ours.driver", value: "mine"}},
			[]entry{{key: "diff.png.textconv", value: "x"}, {key: "merge.ours.driver", value: "x"}},
			"diff.png.textconv=mine merge.ours.driver=mine !"},
		{"hooks of anybody", []entry{{key: "hook.a.command", value: "x"}}, []entry{{key: "hook.b=c.event", value: "post-checkout"}},
			"hook.a.enabled=false hook.b=c.enabled=false !"},
		{"a filter", nil, []entry{{key: "filter.a.b=c.clean", value: "x"}},
			"filter.a.b=c.clean= filter.a.b=c.smudge= filter.a.b=c.required=false filter.a.b=c.process= !a.b=c"},
		{"a filter without a name", nil, []entry{{key: "filter..smudge", value: "x"}},
			"filter..clean= filter..smudge= filter..required=false filter..process= !"},
		{"only required", nil, []entry{{key: "filter.a.required", value: "true"}}, " !"},
		{"a filter of the user, too", []entry{{key: "filter.up.clean", value: "tr a b"}}, []entry{{key: "filter.up.clean", value: "x"}, {key: "filter.up.required", value: "true"}},
			"filter.up.clean=tr a b filter.up.smudge= filter.up.required=false !"},
		{"allowed", nil, []entry{{key: "filter.lfs.clean", value: "another"}},
			"filter.lfs.clean=lfs clean filter.lfs.smudge=lfs smudge filter.lfs.required=true !"},
		{"a process beside what is allowed", nil, []entry{{key: "filter.lfs.clean", value: "lfs clean"}, {key: "filter.lfs.process", value: "x"}},
			"filter.lfs.clean= filter.lfs.smudge= filter.lfs.required=false filter.lfs.process= !lfs"},
	} {
		g := guardAgainst(test.outer, test.own, []Filter{lfs})
		var settings []string
		for _, s := range g.settings {
			settings = append(settings, s.key+"="+s.value)
		}
		if got := strings.Join(settings, " ") + " !" + strings.Join(g.forbidden, ","); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// TestSettingsEnv: a key of others' making reaches git whole.
func TestSettingsEnv(t *testing.T) {
	t.Parallel()
	got := settingsEnv([]setting{{"filter.a=b.clean", ""}, {"merge.x.driver", "false"}})
	want := []string{
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=filter.a=b.clean", "GIT_CONFIG_VALUE_0=",
		"GIT_CONFIG_KEY_1=merge.x.driver", "GIT_CONFIG_VALUE_1=false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := settingsEnv(nil); !slices.Equal(got, []string{"GIT_CONFIG_COUNT=0"}) {
		t.Errorf("none: %q", got)
	}
}

// TestEnvironment: git sees what it needs of covey's environment, and neither keys
// nor what would lead it to another repository.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	given := []string{
		"PATH=/bin", "HOME=/h", "GIT_AUTHOR_NAME=Ana=B", "GIT_COMMITTER_DATE=1", "GIT_CONFIG_GLOBAL=/g",
		"GIT_DIR=/evil", "GIT_WORK_TREE=/evil", "GIT_INDEX_FILE=/evil", "GIT_EXTERNAL_DIFF=evil", "GIT_CONFIG_COUNT=1",
		"OPENAI_API_KEY=secret", "LC_ALL=de_DE", "GIT_PAGER=less", "PATHS=/x", "home=/lower", "[=odd", "",
	}
	before := slices.Clone(given)
	got := environment(given)
	if !slices.Equal(got[:5], given[:5]) {
		t.Errorf("it keeps %q", got[:5])
	}
	for _, kv := range got[5:] {
		if slices.Contains(given, kv) {
			t.Errorf("it hands on %q", kv)
		}
	}
	for _, kv := range []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_LITERAL_PATHSPECS=1", "GIT_EDITOR=false"} {
		if !slices.Contains(got, kv) {
			t.Errorf("%s is missing", kv)
		}
	}
	if !slices.Equal(given, before) {
		t.Error("the caller's list was changed")
	}
}

// TestFailureText: people read what git said and why it was ended, whichever there is.
func TestFailureText(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Failure{
		"git add in /w: fatal: no":                           {Stderr: "fatal: no", Code: 128},
		"git add in /w: exit code 3":                         {Code: 3},
		"git add in /w: context canceled":                    {Code: -1, Cause: context.Canceled},
		"git add in /w: context canceled: fatal: in the way": {Code: -1, Cause: context.Canceled, Stderr: "fatal: in the way"},
	} {
		f.Command, f.Dir = "add", "/w"
		if got := f.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if errors.Is(&f, context.Canceled) != (f.Cause != nil) {
			t.Errorf("%s: the cause is not seen", want)
		}
	}
}

// TestLocked: only the locks of another git are waited for; a call that was ended,
// and a failure that another try would not mend, are not tried again.
func TestLocked(t *testing.T) {
	t.Parallel()
	lock := "fatal: Unable to create '/w/.git/index.lock': File exists."
	for _, test := range []struct {
		f    Failure
		want bool
	}{
		{Failure{Stderr: lock}, true},
		{Failure{Stderr: lock, Cause: context.Canceled}, false},
		{Failure{Stderr: "error: could not lock config file .git/config: File exists"}, true},
		{Failure{Stderr: "Another git process seems to be running in this repository"}, true},
		{Failure{Stderr: "fatal: failed to read .git/worktrees/ana/commondir: Success"}, true},
		{Failure{Stderr: "fatal: '/w/a.lock' already exists"}, false},
		{Failure{Stderr: "fatal: not a git repository"}, false},
		{Failure{}, false},
	} {
		if got := test.f.locked(); got != test.want {
			t.Errorf("%+v: %v", test.f, got)
		}
	}
}

// TestMoved: a reference that somebody else has moved is told from other failures.
func TestMoved(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"cannot lock ref 'refs/heads/x': is at 12 but expected 34":                   true,
		"cannot lock ref 'refs/heads/x': reference already exists":                   true,
		"cannot lock ref 'refs/heads/x': unable to resolve reference 'refs/heads/x'": true,
		"fatal: 12: not a valid SHA1":                                                false,
		"":                                                                           false,
	} {
		if got := moved(said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

// TestWords: a failure names the command as people do, never its arguments.
func TestWords(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"":                {},
		"status":          {"status", "--porcelain"},
		"worktree add":    {"worktree", "add", "--quiet", "/secret"},
		"worktree":        {"worktree", "--help"},
		"commit":          {"commit", "message"},
		"rev-parse":       {"rev-parse"},
		"worktree remove": {"worktree", "remove"},
	} {
		if got := words(args); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// TestLineAndFields: what git prints is split where git splits it, and nowhere else:
// a file's name may hold line breaks.
func TestLineAndFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "a": "a", "a\n": "a", "a\r\nb": "a", "\na": "", " a ": " a "} {
		if got := line([]byte(text)); got != want {
			t.Errorf("line of %q: %q", text, got)
		}
	}
	for text, want := range map[string][]string{
		"": nil, "\x00": nil, "a\x00": {"a"}, "a\x00b": {"a", "b"}, "a\nb\x00c d\x00": {"a\nb", "c d"}, "a\x00\x00b\x00": {"a", "", "b"},
	} {
		if got := fields([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("fields of %q: %q", text, got)
		}
	}
}

// TestCalm: no setting of git's is given twice, and each stands behind a -c.
func TestCalm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	options := baseOptions()
	for i := 0; i < len(options); i += 2 {
		key, _, ok := strings.Cut(options[i+1], "=")
		if options[i] != "-c" || !ok || seen[key] {
			t.Errorf("option %q %q", options[i], options[i+1])
		}
		seen[key] = true
	}
	if !seen["core.hooksPath"] || !seen["protocol.allow"] {
		t.Error("hooks or the network are not off")
	}
}
