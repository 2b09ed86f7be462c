package accounts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

func TestShippedPrices(t *testing.T) {
	f, err := ShippedPrices()
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]price{
		"anthropic/claude-sonnet-4-5": {3, 15, 0.3, 3.75},
		"anthropic/claude-opus-4-5":   {5, 25, 0.5, 6.25},
		"openai/gpt-5":                {1.25, 10, 0.125, 1.25},
	} {
		if got, ok := (PriceList{f}).find(model); !ok || got != want {
			t.Errorf("%s costs %+v, %v", model, got, ok)
		}
	}
	for _, model := range []string{"", "script/demo", "anthropic/claude-9", "claude/"} {
		if got, ok := (PriceList{f}).find(model); ok {
			t.Errorf("%q costs %+v", model, got)
		}
	}
	if f.Old(f.Date.AddDate(0, 1, 0)) || !f.Old(f.Date.AddDate(1, 0, 0)) {
		t.Error("prices are old after a year, and not after a month")
	}
}

// No pattern of the shipped prices hides one below it.
func TestShippedPricesAreAllReached(t *testing.T) {
	f, err := ShippedPrices()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range f.rows {
		for _, above := range f.rows[:i] {
			if texts.Wild(above.Model, r.Model) {
				t.Errorf("%s is never reached, for %s stands above it", r.Model, above.Model)
			}
		}
	}
}

func TestPriceOfTokens(t *testing.T) {
	p := price{Input: 10, Output: 100, CacheRead: 1, CacheWrite: 20}
	u := agent.Usage{InputTokens: 1e6, OutputTokens: 1e5, CacheReadTokens: 5e5, CacheWriteTokens: 1e5}
	if got := p.of(u); got != 4+10+0.5+2 {
		t.Errorf("%v dollars", got)
	}
}

// All mistakes of a price file are told, each with its place and the way out.
func TestPriceFileMistakes(t *testing.T) {
	for text, want := range map[string][]string{
		"":   {"p.yaml:1:1: the price file is empty; write `covey_prices: 1`"},
		"{}": {"the price file has no covey_prices", "the price file has no date", "the price file has no prices"},
		"covey_prices: 2\ndate: 2026-11-01\nprices: []":                             {"p.yaml:1:15: no price file that covey can read; write covey_prices: 1", "p.yaml:3:9: no prices"},
		"covey_prices: 1\ndate: today\nprices: [{model: a/b, input: 1, output: 1}]": {`p.yaml:2:7: date is "today"; write the day`},
		"covey_prices: 1\ndate: 2026-11-01\nprices:\n  - {model: a/b, input: -1}\n  - {model: a/b, input: 1, output: .inf}\n  - {model: b, context: 0}": {
			"p.yaml:4:25: input must be a number, 0 or more, not -1", "p.yaml:5:36: output must be a number", "p.yaml:5:5: a/b stands at 4:5 already",
			`p.yaml:6:13: model is "b"; write provider/model`, "p.yaml:6:25: context must be a whole number from 1",
		},
		"covey_prices: 1\ndate: 2026-11-01\nprices: [{model: a/b, input: 1}, {model: a/c}, {input: 1e9, output: 1}, 3]": {
			"p.yaml:3:10: input and output are both needed", "p.yaml:3:34: input and output are both needed",
			"p.yaml:3:56: a price of 1e+09; write", "has no model", "p.yaml:3:73:",
		},
		"covey_prices: 1\ndate: 2026-11-01\nprices: [{model: a/b, in: 1, output: 1}]": {`p.yaml:3:23: unknown key "in"; the keys here are model, input,`},
		"covey_prices: 1\nprice: 3\n":  {`p.yaml:2:1: unknown key "price"; write prices`},
		"covey_prices: 1\nprices: [\n": {"p.yaml:2:"},
		"[]":                           {"p.yaml:1:"},
	} {
		_, err := parsePrices("p.yaml", []byte(text))
		if err == nil {
			t.Errorf("%q was taken", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v\ndoes not say %q", text, err, part)
			}
		}
	}
}

// The team's own file comes first; one that is too large or not there is named.
func TestLoadPrices(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.yaml")
	own := "covey_prices: 1\ndate: 2026-11-01\nprices: [{model: openai/*, input: 7, output: 8}]\n"
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := LoadPrices(configs.Budget{Prices: path})
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := list.find("openai/gpt-5"); p != (price{7, 8, 7, 7}) {
		t.Errorf("gpt-5 costs %+v", p)
	}
	if _, ok := list.find("anthropic/claude-sonnet-4-5"); !ok || list[0].File != path {
		t.Error("covey's own prices are not there")
	}
	if _, err := LoadPrices(configs.Budget{Prices: filepath.Join(dir, "none.yaml")}); err == nil || !strings.Contains(err.Error(),
		"read budget.prices") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, make([]byte, yaml.MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPrices(configs.Budget{Prices: path}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a file that is too large: %v", err)
	}
}

// Where a policy bounds dollars, prices are those of its own file and of covey; the file of the spec has only what
// models can read.
func TestPricesOfAPolicy(t *testing.T) {
	const mine = "covey_prices: 1\ndate: 2026-11-01\nprices:\n  - {model: openai/*, context: 9}\n  - {model: anthropic/*, input: 0, output: 0}\n"
	const theirs = "covey_prices: 1\ndate: 2026-11-01\nprices: [{model: openai/*, input: 7, output: 8}]\n"
	dir := testkit.Files(t, map[string]string{"mine.yaml": mine, "theirs.yaml": theirs})
	b := configs.Budget{Prices: filepath.Join(dir, "mine.yaml"), PricedBy: "p.yaml:3",
		PolicyPrices: configs.PolicyRef{Where: filepath.Join(dir, "theirs.yaml"), SHA256: texts.Digest([]byte(theirs))}}
	if _, err := LoadPrices(b); err == nil || !strings.Contains(err.Error(), "mine.yaml:5: a price of anthropic/*, and the policy has "+
		"dollars counted without prices of the spec (p.yaml:3)") {
		t.Errorf("a price of the spec: %v", err)
	}
	testkit.Put(t, dir, "mine.yaml", strings.ReplaceAll(mine, "input: 0, output: 0", "context: 10"))
	list, err := LoadPrices(b)
	testkit.Must(t, err)
	if in, _, _ := list.Of("openai/gpt-5"); in != 7 || list.Window("openai/gpt-5") != 9 {
		t.Errorf("gpt-5 costs %v and reads %d", in, list.Window("openai/gpt-5"))
	}
	testkit.Put(t, dir, "theirs.yaml", strings.ReplaceAll(theirs, "7", "0"))
	if _, err := LoadPrices(b); err == nil || !strings.Contains(err.Error(), "theirs.yaml: its content is not the one that is named") {
		t.Errorf("another content: %v", err)
	}
}

// A price file that is made by a machine never brings covey down.
func TestAnyPriceFile(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"covey_prices", ": ", "1", "\n", "date", "2026-01-01", "prices", "[", "]", "{", "}", "model", "a/b*", ",", "input",
		"-1e400", "&a ", "*a", "!!binary ", "|\n", "- ", "\t", "\x00", "\"",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "")
		if f, err := parsePrices("p.yaml", []byte(text)); err == nil && (f.Models == 0 || f.Date.IsZero()) {
			t.Fatalf("%q gives %+v", text, f)
		}
	})
}

// Subscriptions have no price; agent programs with a key go by their name.
func TestPricedAs(t *testing.T) {
	for want, a := range map[string]configs.Agent{
		"script/demo": {Kind: configs.Builtin, Model: configs.Model{Name: "demo", Provider: "script"}},
		"":            {Kind: configs.ACP, Preset: configs.Claude, Auth: configs.Login},
		"codex/":      {Kind: configs.ACP, Preset: configs.Codex, Auth: configs.Key},
		"agent.sh/":   {Kind: configs.Command, Command: []string{"/w/agent.sh"}, Auth: configs.Key},
		"given/mine":  {Kind: configs.Given, Name: "mine"},
	} {
		if got := pricedAs(a); got != want {
			t.Errorf("%+v is priced as %q, want %q", a, got, want)
		}
	}
}

// A limit in dollars is refused where the cost can never be known, and only there.
func TestCheckPrices(t *testing.T) {
	shipped, err := ShippedPrices()
	if err != nil {
		t.Fatal(err)
	}
	own, err := parsePrices("own", []byte("covey_prices: 1\ndate: 2026-11-01\n"+
		"prices: [{model: own/free, input: 0, output: 0}, {model: qwen/*, input: 1, output: 1}, {model: own/window, context: 9}]"))
	if err != nil {
		t.Fatal(err)
	}
	model := func(provider configs.Provider, name string) configs.Model {
		return configs.Model{Provider: provider, Model: name, Name: name}
	}
	builtin := func(m configs.Model) configs.Agent { return configs.Agent{Kind: configs.Builtin, Model: m} }
	program := func(p configs.Preset, auth configs.Auth) configs.Agent {
		return configs.Agent{Kind: configs.ACP, Preset: p, Auth: auth}
	}
	fallen := model("anthropic", "claude-sonnet-4-5")
	fallen.Fallback = "other"
	played := program(configs.Codex, configs.Key)
	played.Model.Script = "demo.yaml"
	for name, tt := range map[string]struct {
		agent configs.Agent
		want  string // without a price
	}{
		"a priced model":             {builtin(model("anthropic", "claude-sonnet-4-5")), ""},
		"a model that costs nothing": {builtin(model("own", "free")), ""},
		"a model without a price":    {builtin(model("ollama", "qwen3")), "ollama/qwen3"},
		"only a window":              {builtin(model("own", "window")), "own/window"},
		"a fallback without a price": {builtin(fallen), "own/other"},
		"a script":                   {builtin(configs.Model{Provider: "script", Script: "demo.yaml"}), ""},
		"a program that tells costs": {program(configs.Claude, configs.Key), ""},
		"a program that tells none":  {program(configs.Codex, configs.Key), "codex/*"},
		"the same with a price":      {program(configs.Qwen, configs.Key), ""},
		"the same with a login":      {program(configs.Codex, configs.Login), ""},
		"the same with a script":     {played, ""},
		"a program covey knows not":  {configs.Agent{Kind: configs.Command, Command: []string{"x"}, Auth: configs.Key}, ""},
		"an agent that is given":     {configs.Agent{Kind: configs.Given, Name: "mine"}, ""},
	} {
		team := &configs.Team{Models: map[string]configs.Model{"other": model("own", "other")},
			Lead: configs.Member{Name: "lead", Agent: tt.agent}, Teammates: []configs.Member{{Name: "ana", Agent: tt.agent}}}
		prices := PriceList{own, shipped}
		if err := prices.CheckPrices(team); err != nil {
			t.Errorf("%s: without a limit: %v", name, err)
		}
		team.Budget.USD, team.Teammates[0].Limits.MaxBudgetUSD = 1, 1
		err := prices.CheckPrices(team)
		team.Lead.Gateway.On, team.Teammates[0].Gateway.On = true, true
		if gone := prices.CheckPrices(team) == nil; gone != (tt.want == "" || tt.agent.Kind != configs.Builtin) {
			t.Errorf("%s, behind the gateway, which refuses requests without a price: nothing is wrong: %t", name, gone)
		}
		if tt.want == "" && err == nil {
			continue
		}
		for _, part := range []string{"limits.max_budget_usd of ana cannot hold, because " + tt.want + " has no price",
			"budget.usd cannot hold, because " + tt.want + " has no price", "limits.max_tokens", "with budget.tokens"} {
			if tt.want == "" || !errors.Is(err, configs.ErrSpec) || strings.Count(err.Error(), part) != 1 {
				t.Errorf("%s: %v\ndoes not say %q once", name, err, part)
			}
		}
	}
}

// What ps says of the age is counted in whole days.
func TestPriceDate(t *testing.T) {
	f, err := parsePrices("p.yaml", []byte("covey_prices: 1\ndate: 2026-11-01\nprices: [{model: a/b, input: 1, output: 1}]"))
	if err != nil || !f.Date.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) || f.Models != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}
