package runner

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/web"
)

// layer is a source with restrictions.
func layer(name string, managed bool, json string) settings.Source {
	file, _ := settings.Parse(name, []byte(json))
	return settings.Source{Name: name, Managed: managed, Settings: file.Hooks, Restrictions: file.Restrictions}
}

// TestLimitsOnHooks: which hooks run, by who says what.
func TestLimitsOnHooks(t *testing.T) {
	const on, off, only = `{"disableAllHooks":false}`, `{"disableAllHooks":true}`, `{"allowManagedHooksOnly":true}`
	m := func(json string) settings.Source { return layer("managed.json", true, json) }
	u := func(json string) settings.Source { return layer("user.json", false, json) }
	for _, c := range []struct {
		name    string
		sources []settings.Source
		barred  string // of managed, other, gate and mandatory hooks: x for those that do not run
		note    string // part of the one note; empty: there is none
	}{
		{"nothing", nil, "....", ""},
		{"a file switches off", []settings.Source{u(off)}, ".x..", "disableAllHooks in user.json: of the configured hooks only managed"},
		{"a later file switches on", []settings.Source{u(off), layer("local.json", false, on)}, "....", ""},
		{"a later file switches off", []settings.Source{u(on), layer("local.json", false, off)}, ".x..", "disableAllHooks in local.json"},
		{"managed off", []settings.Source{m(off)}, "xxxx", "disableAllHooks in managed.json: no hooks run, and gates refuse"},
		{"managed off, file on", []settings.Source{m(off), u(on)}, "xxxx", "no hooks run"},
		{"managed on, file off", []settings.Source{m(on), u(off)}, "....", "user.json: disableAllHooks has no effect"},
		{"file off, then managed on", []settings.Source{u(off), m(on)}, "....", "user.json: disableAllHooks has no effect"},
		{"managed only", []settings.Source{m(only)}, ".xxx", "allowManagedHooksOnly in managed.json: of the configured"},
		{"managed only, file off", []settings.Source{m(only), u(off)}, ".xxx", "allowManagedHooksOnly in managed.json"},
		{"managed on and only", []settings.Source{m(`{"disableAllHooks":false,"allowManagedHooksOnly":true}`)}, ".xxx", "Only in managed"},
		{"a file says only", []settings.Source{u(only)}, "....", "user.json: allowManagedHooksOnly has no effect"},
		{"a file's slip", []settings.Source{u(`{"disableAllHooks":"yes"}`)}, "....", ""},
		{"a managed slip", []settings.Source{m(`{"allowManagedHooksOnly":"yes"}`)}, ".xxx", "allowManagedHooksOnly in managed.json"},
	} {
		l := settings.LimitsOf(c.sources)
		got := ""
		for _, h := range []struct {
			managed bool
			hooks.Handler
		}{{true, hooks.Handler{}}, {false, hooks.Handler{}}, {false, hooks.Handler{Gate: true}}, {false, hooks.Handler{Mandatory: true}}} {
			if l.Bars(h.managed, h.Handler) == "" {
				got += "."
			} else {
				got += "x"
			}
		}
		if got != c.barred {
			t.Errorf("%s: %s, want %s", c.name, got, c.barred)
		}
		if l.Bars(false, hooks.Handler{Policy: "no-open-tasks", Gate: true}) != "" {
			t.Errorf("%s: a policy that ships with covey is barred", c.name)
		}
		notes := l.Notes()
		if (len(notes) == 0) != (c.note == "") || len(notes) > 1 || c.note != "" && !strings.Contains(notes[0], c.note) {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
	}
}

// TestLimitsOnURLs: lists of one rank add up; a managed list and the others must
// both agree, but for managed hooks, whom the others do not bind.
func TestLimitsOnURLs(t *testing.T) {
	m := func(list string) settings.Source { return layer("m", true, `{"allowedHttpHookUrls":`+list+`}`) }
	u := func(list string) settings.Source { return layer("u", false, `{"allowedHttpHookUrls":`+list+`}`) }
	const a, b = "https://a/", "https://b/"
	for _, c := range []struct {
		sources []settings.Source
		managed []string // what managed hooks may call
		others  []string // what other hooks may call
	}{
		{nil, []string{a, b}, []string{a, b}},
		{[]settings.Source{u(`[]`)}, []string{a, b}, nil},
		{[]settings.Source{u(`["https://a/*"]`)}, []string{a, b}, []string{a}},
		{[]settings.Source{u(`["https://a/*"]`), u(`["https://b/*"]`)}, []string{a, b}, []string{a, b}},
		{[]settings.Source{u(`["https://a/*"]`), u(`[]`)}, []string{a, b}, []string{a}},
		{[]settings.Source{m(`[]`)}, nil, nil},
		{[]settings.Source{m(`["https://a/*"]`)}, []string{a}, []string{a}},
		{[]settings.Source{m(`["https://a/*"]`), u(`["*"]`)}, []string{a}, []string{a}},
		{[]settings.Source{m(`["https://a/*"]`), u(`["https://b/*"]`)}, []string{a}, nil},
		{[]settings.Source{m(`["https://a/*"]`), m(`["https://b/*"]`), u(`["https://b/*"]`)}, []string{a, b}, []string{b}},
		{[]settings.Source{u(`"https://a/*"`)}, []string{a, b}, nil}, // a slip opens nothing
		{[]settings.Source{u(`["nonsense"]`)}, []string{a, b}, nil},
		{[]settings.Source{m(`null`)}, nil, nil},
	} {
		l := settings.LimitsOf(c.sources)
		for managed, want := range map[bool][]string{true: c.managed, false: c.others} {
			for _, text := range []string{a, b} {
				to, err := web.ParseTarget(text)
				if err != nil {
					t.Fatal(err)
				}
				why, _ := l.Of(managed).URL(to)
				if (why == "") != slices.Contains(want, text) {
					t.Errorf("%+v: managed %v may call %s: %q", c.sources, managed, text, why)
				}
			}
		}
	}
	if l := settings.LimitsOf([]settings.Source{u(`["nonsense"]`)}); len(l.Notes()) != 1 || !strings.Contains(l.Notes()[0], "matches nothing") {
		t.Errorf("notes %q", l.Notes())
	}
}

// TestListed: only a pattern that names the host lists it.
func TestListed(t *testing.T) {
	to, err := web.ParseTarget("https://hooks.corp:8443/x")
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]bool{`["*"]`: false, `["https://*.corp:8443/*"]`: false, `["https://*"]`: false,
		`["https://hooks.corp:*"]`: true, `["*", "https://hooks.corp:8443/x"]`: true, `["*", "https://other:8443/*"]`: false} {
		l := settings.LimitsOf([]settings.Source{layer("u", false, `{"allowedHttpHookUrls":`+list+`}`)})
		if why, listed := l.Of(false).URL(to); why != "" || listed != want {
			t.Errorf("%s: %q, listed %v", list, why, listed)
		}
	}
}

// TestLimitsOnVariables: as with URLs, a list below widens none above.
func TestLimitsOnVariables(t *testing.T) {
	m := layer("m", true, `{"httpHookAllowedEnvVars":["A","B"]}`)
	u := layer("u", false, `{"httpHookAllowedEnvVars":["B","C"]}`)
	for _, c := range []struct {
		sources         []settings.Source
		managed, others string
	}{
		{nil, "ABC", "ABC"},
		{[]settings.Source{m}, "AB", "AB"},
		{[]settings.Source{u}, "ABC", "BC"},
		{[]settings.Source{m, u}, "AB", "B"},
		{[]settings.Source{u, m}, "AB", "B"},
		{[]settings.Source{layer("u", false, `{"httpHookAllowedEnvVars":[]}`)}, "ABC", ""},
		{[]settings.Source{layer("u", false, `{"httpHookAllowedEnvVars":["A", 7]}`)}, "ABC", "A"},
	} {
		l := settings.LimitsOf(c.sources)
		for managed, want := range map[bool]string{true: c.managed, false: c.others} {
			got := ""
			for _, name := range []string{"A", "B", "C"} {
				if l.Of(managed).Variable(name) {
					got += name
				}
			}
			if got != want {
				t.Errorf("%+v: managed %v: %s, want %s", c.sources, managed, got, want)
			}
		}
	}
}

// TestRestrictionWarnings: a slip in a key is told, and with what it means.
func TestRestrictionWarnings(t *testing.T) {
	file, warnings := settings.Parse("s.json", []byte(`{"disableAllHooks": 1, "allowManagedHooksOnly": 1,
		"allowedHttpHookUrls": {}, "httpHookAllowedEnvVars": ["A", null], "model": 5}`))
	checkTexts(t, warnings, []string{
		"s.json:1: disableAllHooks: want true or false, got 1",
		"s.json:1: allowManagedHooksOnly: want true or false, got 1",
		"s.json:1: allowManagedHooksOnly: it counts as true until this is corrected",
		"s.json:2: allowedHttpHookUrls: want a list, got {}",
		"s.json:2: allowedHttpHookUrls: no URL is allowed until this is corrected",
		"s.json:2: httpHookAllowedEnvVars: want a string, got null",
	})
	r := file.Restrictions
	if r.DisableAllHooks != nil || !r.AllowManagedHooksOnly || r.AllowedHTTPHookURLs == nil ||
		!slices.Equal(r.HTTPHookAllowedEnvVars, []string{"A"}) || !r.Any() || (settings.Restrictions{}).Any() || file.Broken {
		t.Errorf("%+v", file)
	}
}

// TestManagedCannotBeWeakened: whatever other files say, and wherever they stand,
// they take nothing from managed hooks, and open nothing that managed settings
// close.
func TestManagedCannotBeWeakened(t *testing.T) {
	urls := []string{"https://a/", "https://b/x", "http://127.0.0.1:9/"}
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SampledFrom([]string{"*", "https://a/*", "https://b/*", "http://127.0.0.1:*", "nonsense"})
		variables := rapid.SampledFrom([]string{"A", "B", "C"})
		draw := func(managed bool) settings.Source {
			var r settings.Restrictions
			r.DisableAllHooks = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "off")
			r.AllowManagedHooksOnly = rapid.Bool().Draw(t, "only")
			if rapid.Bool().Draw(t, "urls") {
				r.AllowedHTTPHookURLs = append([]string{}, rapid.SliceOfN(patterns, 0, 3).Draw(t, "patterns")...)
			}
			if rapid.Bool().Draw(t, "env") {
				r.HTTPHookAllowedEnvVars = append([]string{}, rapid.SliceOfN(variables, 0, 3).Draw(t, "variables")...)
			}
			return settings.Source{Name: "s", Managed: managed, Restrictions: r}
		}
		managed := []settings.Source{draw(true), draw(true)}
		alone := settings.LimitsOf(managed)
		both := settings.LimitsOf(slices.Insert(slices.Clone(managed), rapid.IntRange(0, 2).Draw(t, "place"), draw(false), draw(false)))
		if alone.Bars(true, hooks.Handler{}) != both.Bars(true, hooks.Handler{}) {
			t.Fatal("other files decide about managed hooks")
		}
		for _, h := range []hooks.Handler{{}, {Gate: true}, {Mandatory: true}} {
			if alone.Bars(false, h) != "" && both.Bars(false, h) == "" {
				t.Fatalf("other files let %+v run", h)
			}
			if h.Binding() && alone.Bars(false, h) == "" && both.Bars(false, h) != "" {
				t.Fatalf("other files switch %+v off", h)
			}
		}
		for _, text := range urls {
			to, err := web.ParseTarget(text)
			if err != nil {
				t.Fatal(err)
			}
			was, listed := alone.Of(true).URL(to)
			if is, still := both.Of(true).URL(to); is != was || listed != still {
				t.Fatalf("other files decide whether managed hooks may call %s: %q, then %q", text, was, is)
			}
			if why, _ := alone.Of(false).URL(to); why != "" {
				if is, _ := both.Of(false).URL(to); is == "" {
					t.Fatalf("other files allow %s", text)
				}
			}
		}
		for _, name := range []string{"A", "B", "C"} {
			if alone.Of(true).Variable(name) != both.Of(true).Variable(name) || !alone.Of(false).Variable(name) && both.Of(false).Variable(name) {
				t.Fatalf("other files decide about $%s", name)
			}
		}
	})
}
