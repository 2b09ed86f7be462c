package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
)

// TestPresetsAreWhole: no field of the table was forgotten.
func TestPresetsAreWhole(t *testing.T) {
	for _, p := range presets() {
		if p.login == "" && len(p.keyVars) == 0 || p.install == "" || strings.Contains(p.install, "://") {
			t.Errorf("%s: login %q, install %q", p.name, p.login, p.install)
		}
		if len(p.programs) == 0 || p.programs[0].kind != configs.ACP {
			t.Errorf("%s: the first program must speak ACP", p.name)
		}
		for _, w := range p.programs {
			h := w.honours
			for what, missing := range map[string]bool{
				"bin": w.bin == "", "offline": w.offline == nil, "honours.MCP": h.MCP == "",
				"measured version and date, nor unmeasuredHonours": (h.Version == "" || h.Date == "") && !reflect.DeepEqual(h, unmeasuredHonours()),
			} {
				if missing {
					t.Errorf("%s: %s has no %s", p.name, w.bin, what)
				}
			}
			if (w.kind == configs.Command) != (w.dialect != "") || (w.kind == configs.Command) != (w.resume != nil) {
				t.Errorf("%s: %s is %s, with dialect %q and resume %q", p.name, w.bin, w.kind, w.dialect, w.resume)
			}
			for _, held := range []Hold{h.Gates, h.Cancel, h.Steer, h.Resume, h.System, h.Usage, h.Native} {
				if !slices.Contains([]Hold{Enforced, Detected, Advisory, Absent}, held) {
					t.Errorf("%s: %s honours something as %q", p.name, w.bin, held)
				}
			}
			if len(h.Tools) != len(ToolKinds()) {
				t.Errorf("%s: %s says of tools only %v", p.name, w.bin, h.Tools)
			}
		}
	}
	for _, name := range configs.Presets() {
		if _, ok := presetOf(configs.Preset(name)); !ok {
			t.Errorf("nothing is known of the preset %s", name)
		}
	}
	if _, ok := presetOf("nobody"); ok {
		t.Error("there is a preset called nobody")
	}
}

// offered makes the offer of a program as a member's would be made.
func offered(t *testing.T, w program, offline bool) (o *offer, home string) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	o = &offer{args: slices.Clone(w.args), env: slices.Clone(w.env), dir: t.TempDir(), workspace: "/some/where"}
	for _, step := range []func(*offer) error{w.writeSettings, w.nativeHooksOff} {
		if step != nil {
			if err := step(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if offline {
		if err := w.offline(o, "http://127.0.0.1:1", "sk-covey-1", home); err != nil {
			t.Fatal(err)
		}
	}
	return o, home
}

// TestOffline: a program that thinks with a script is led to the model server,
// and nowhere near the user's own files.
func TestOffline(t *testing.T) {
	user := t.TempDir()
	t.Setenv("HOME", user)
	for _, p := range presets() {
		for _, w := range p.programs {
			o, home := offered(t, w, true)
			if o.value("HOME") != home {
				t.Errorf("%s: HOME is %q", w.bin, o.value("HOME"))
			}
			said := strings.Join(o.env, "\n") + everything(t, home)
			if !strings.Contains(said, "http://127.0.0.1:1") || !strings.Contains(said, "sk-covey-1") {
				t.Errorf("%s is told neither the server nor the key:\n%s", w.bin, said)
			}
		}
	}
	if left := everything(t, user); left != "" {
		t.Errorf("the user's home holds %s", left)
	}
}

// everything is the text of all files below a folder, all of which only the
// user may read.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s may be read by others: %v", path, info.Mode())
		}
		data, readErr := os.ReadFile(path)
		all.WriteString(path + "\n" + string(data))
		return errors.Join(err, readErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestOnline: without a script a program keeps the user's home, and no key is
// made up for it.
func TestOnline(t *testing.T) {
	for _, p := range presets() {
		for _, w := range p.programs {
			o, home := offered(t, w, false)
			for _, kv := range o.env {
				name, value, _ := strings.Cut(kv, "=")
				if name == "HOME" || slices.Contains(p.keyVars, name) || p.routed(name, o.value) {
					t.Errorf("%s: %s is set to %q", w.bin, name, value)
				}
			}
			if text := everything(t, home); text != "" {
				t.Errorf("%s wrote %s", w.bin, text)
			}
			// Told twice, as a member that is started again is, it says the same.
			again, _ := offered(t, w, false)
			if len(again.args) != len(o.args) {
				t.Errorf("%s: arguments %q, then %q", w.bin, o.args, again.args)
			}
		}
	}
}

// TestNativeHooksOff: what turns a program's own hooks off reaches it.
func TestNativeHooksOff(t *testing.T) {
	for bin, want := range map[string]string{
		"claude-agent-acp": `"disableAllHooks":true`,
		"claude-code-acp":  `"disableAllHooks":true`,
		"claude":           `"disableAllHooks":true`,
		"codex-acp":        `hooks`,
		"codex":            `hooks`,
		"gemini":           `"hooksConfig":{"enabled":false}`,
		"qwen":             `"disableAllHooks":true`,
	} {
		for _, p := range presets() {
			for _, w := range p.programs {
				if w.bin != bin {
					continue
				}
				o, _ := offered(t, w, false)
				meta, err := json.Marshal(o.meta)
				if err != nil {
					t.Fatal(err)
				}
				said := strings.Join(o.args, " ") + strings.Join(o.env, " ") + string(meta) + everything(t, o.dir)
				said = strings.NewReplacer(" ", "", "\n", "").Replace(said)
				if !strings.Contains(said, want) {
					t.Errorf("%s (%s) gets %s, want %s in it", bin, w.pkg, said, want)
				}
			}
		}
	}
}

// TestFindProgram: the first program that is there serves, and of two of one name the
// package decides.
func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	install := func(pkg, bin string) string {
		folder := filepath.Join(dir, "node_modules", pkg)
		path := filepath.Join(folder, "dist", "index.js")
		for file, text := range map[string]string{
			path: "#!/bin/sh\n", filepath.Join(folder, "package.json"): `{"name":"` + pkg + `","version":"9.8.7"}`,
			// It says how files are read and not whose they are.
			filepath.Join(folder, "dist", "package.json"): `{"type":"module"}`,
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(t.TempDir(), bin)
		if err := os.Symlink(path, link); err != nil {
			t.Skip("no links here: ", err)
		}
		return link
	}
	look := func(there map[string]string) func(string) (string, error) {
		return func(name string) (string, error) {
			if path, ok := there[name]; ok {
				return path, nil
			}
			return "", exec.ErrNotFound
		}
	}
	ours, zeds := install("@agentclientprotocol/codex-acp", "codex-acp"), install("@zed-industries/codex-acp", "codex-acp")
	if name, version := packageOf(ours); name != "@agentclientprotocol/codex-acp" || version != "9.8.7" {
		t.Errorf("the package is %s %s", name, version)
	}
	for _, tc := range []struct {
		there map[string]string
		bin   string
		pkg   string
		kind  configs.AgentKind
	}{
		{map[string]string{"codex-acp": ours, "codex": "/x/codex"}, "codex-acp", "@agentclientprotocol/codex-acp", configs.ACP},
		{map[string]string{"codex-acp": zeds}, "codex-acp", "", configs.ACP},
		{map[string]string{"codex-acp": "/opt/codex-acp"}, "codex-acp", "", configs.ACP},
		{map[string]string{"codex": "/x/codex"}, "codex", "", configs.Command},
	} {
		w, path, err := codex().find(look(tc.there))
		if err != nil || w.bin != tc.bin || w.pkg != tc.pkg || w.kind != tc.kind || path != tc.there[tc.bin] {
			t.Errorf("%v: found %s of %q, %s at %s (%v)", tc.there, w.bin, w.pkg, w.kind, path, err)
		}
	}
	_, _, err := codex().find(look(nil))
	if !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(), "none of codex-acp, codex in PATH; `npm i -g") {
		t.Errorf("nothing is there: %v", err)
	}
	if _, _, err = gemini().find(look(nil)); !strings.Contains(err.Error(), "there is no gemini in PATH") {
		t.Errorf("nothing is there: %v", err)
	}
}

// TestFindTellsVersionsApart: of a program that has learned something, one that
// is older is not taken for what it is today, and neither is one of no known version.
func TestFindTellsVersionsApart(t *testing.T) {
	const pkg, bin = "@agentclientprotocol/claude-agent-acp", "claude-agent-acp"
	for version, want := range map[string]Hold{
		"0.49.0": Absent, "0.99.9": Absent, "0.100.0": Enforced, "0.100.0-rc.1": Enforced, "0.101": Enforced, "1.0.0": Enforced,
		"": Absent, "unknown": Absent,
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "dist", "index.js")
		for file, text := range map[string]string{
			path:                                  "",
			filepath.Join(folder, "package.json"): fmt.Sprintf(`{"name":%q,"version":%q}`, pkg, version),
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		way, _, err := claude().find(func(name string) (string, error) {
			if name != bin {
				return "", exec.ErrNotFound
			}
			return path, nil
		})
		if err != nil || way.bin != bin || way.honours.Steer != want {
			t.Errorf("%q: found %s, which is %s steered (%v)", version, way.bin, way.honours.Steer, err)
		}
		if way := claude().programOf([]string{"/usr/bin/node", path}); way.bin != bin || way.honours.Steer != want {
			t.Errorf("%q behind node: found %s, which is %s steered", version, way.bin, way.honours.Steer)
		}
	}
	if way, _, err := claude().find(func(name string) (string, error) { return "/opt/" + name, nil }); err != nil ||
		way.bin != bin || way.honours.Steer != Absent {
		t.Errorf("of no package: found %s, which is %s steered (%v)", way.bin, way.honours.Steer, err)
	}
}

// TestPatchJSON merges, and keeps its hands off what is no JSON.
func TestPatchJSON(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "settings.json")
	for _, fields := range []object{
		{"a": object{"b": 1, "c": object{"d": true}}, "list": []string{"x"}},
		{"a": object{"c": object{"e": false}}, "list": []string{"y"}},
	} {
		if err := patchJSON(dir, "deep/settings.json", fields); err != nil {
			t.Fatal(err)
		}
	}
	var got struct {
		A struct {
			B int
			C map[string]bool
		}
		List []string
	}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &got) != nil {
		t.Fatal(string(data), err)
	}
	if got.A.B != 1 || !got.A.C["d"] || len(got.A.C) != 2 || !slices.Equal(got.List, []string{"y"}) {
		t.Errorf("merged into %s", data)
	}
	if err := os.WriteFile(path, []byte("no json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := patchJSON(dir, "deep/settings.json", object{"a": 1}); err == nil || !strings.Contains(err.Error(), "settings.json") {
		t.Errorf("a file that is no JSON: %v", err)
	}
	// A program that may write in the folder leads nobody out of it by a link.
	outside := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.json")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	err = patchJSON(dir, "link.json", object{"a": 1})
	if data, _ := os.ReadFile(outside); err == nil || string(data) != "{}" {
		t.Errorf("behind a link there is %s (%v)", data, err)
	}
}

// TestQwenWaitsForTheTeamTools: its first prompt must not go out before it has asked
// the MCP servers for their tools.
func TestQwenWaitsForTheTeamTools(t *testing.T) {
	o, _ := offered(t, qwen().programs[0], false)
	if got := o.value("QWEN_CODE_LEGACY_MCP_BLOCKING"); got != "1" {
		t.Errorf("QWEN_CODE_LEGACY_MCP_BLOCKING is %q", got)
	}
}

// TestClaudeAsksItsMember: no version of the adapter begins in a mode in which a model
// judges calls in place of the member's rules.
func TestClaudeAsksItsMember(t *testing.T) {
	for _, w := range claude().programs {
		if w.kind == configs.ACP && w.mode != "default" {
			t.Errorf("%s of %s begins in mode %q", w.bin, w.honours.Version, w.mode)
		}
	}
}

// TestCodexOfflineByVersion: newer versions end over a policy that the oldest one needs,
// so that it asks.
func TestCodexOfflineByVersion(t *testing.T) {
	for _, w := range codex().programs {
		_, home := offered(t, w, true)
		config := everything(t, home)
		old := w.pkg == "" && w.kind == configs.ACP
		if strings.Contains(config, `approval_policy = "untrusted"`) != old ||
			strings.Contains(config, `approval_policy = "on-request"`) == old {
			t.Errorf("%s of %q (%s) gets\n%s", w.bin, w.pkg, w.honours.Version, config)
		}
	}
}

// TestCodexTakesTheTeamToolsOverMCP: in its sandbox a shell command cannot tell whose it
// is.
func TestCodexTakesTheTeamToolsOverMCP(t *testing.T) {
	for _, w := range codex().programs {
		if w.bin != "codex" {
			continue
		}
		said := strings.Join(w.connect("http://127.0.0.1:1/mcp"), " ")
		for _, want := range []string{
			`-c mcp_servers.covey.url="http://127.0.0.1:1/mcp"`, `mcp_servers.covey.bearer_token_env_var="COVEY_MCP_TOKEN"`,
			`mcp_servers.covey.default_tools_approval_mode="approve"`,
		} {
			if !strings.Contains(said, want) {
				t.Errorf("the arguments lack %s: %s", want, said)
			}
		}
	}
}

func TestKeysThatProgramsDoNotFind(t *testing.T) {
	for name, want := range map[configs.Preset][2]bool{ // whether GH_TOKEN and OPENAI_API_KEY are left out
		"": {false, true}, configs.Claude: {false, true}, configs.Copilot: {true, true},
	} {
		p, _ := presetOf(name)
		for i, key := range []string{"GH_TOKEN", "OPENAI_API_KEY"} {
			if p.foreign(key) != want[i] {
				t.Errorf("preset %q: %s is left out: %v", name, key, !want[i])
			}
		}
	}
}

// TestQwenAsksOnlyForItsTurn: requests of its own, which it does not report, are switched off above the
// user's settings.
func TestQwenAsksOnlyForItsTurn(t *testing.T) {
	o, _ := offered(t, qwen().programs[0], false)
	data, err := os.ReadFile(o.value("QWEN_CODE_SYSTEM_SETTINGS_PATH"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		UI     struct{ EnableFollowupSuggestions *bool }
		Memory struct{ EnableManagedAutoMemory, EnableManagedAutoDream *bool }
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for name, on := range map[string]*bool{"suggestions": got.UI.EnableFollowupSuggestions,
		"memory": got.Memory.EnableManagedAutoMemory, "dreams": got.Memory.EnableManagedAutoDream} {
		if on == nil || *on {
			t.Errorf("%s may be on: %s", name, data)
		}
	}
}

// TestMoveHome: in another home a program has the settings of the user as they are now, what the spec grants, and the login,
// and no variable leads it back.
func TestMoveHome(t *testing.T) {
	for _, p := range presets() {
		user, home, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
		write := func(path, text string) {
			t.Helper()
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		env := []string{"HOME=" + user, "XDG_CONFIG_HOME=" + filepath.Join(user, "conf")}
		names := map[string]bool{}
		for i, f := range slices.Concat(p.settings, p.logins) {
			if f.variable != "" && !names[f.variable] && f.variable != "XDG_CONFIG_HOME" {
				env = append(env, f.variable+"="+filepath.Join(elsewhere, f.variable))
				names[f.variable] = true
			}
			path, _ := f.at(func(name string) string { return (&offer{env: env}).value(name) })
			if filepath.Ext(path) == "" && i%2 == 1 {
				path = filepath.Join(path, "deep", "file")
			}
			write(path, fmt.Sprint(i))
		}
		write(filepath.Join(user, ".gitconfig"), "[user]")
		write(filepath.Join(user, "sdk", "x"), "x")
		o := offer{env: slices.Clone(env)}
		logins, err := p.moveHome(&o, home, []string{filepath.Join(user, "sdk"), "/elsewhere", user})
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		if o.value("HOME") != home || len(logins.files) != len(p.logins) {
			t.Errorf("%s: %v, logins %+v", p.name, o.env, logins.files)
		}
		for i, f := range p.settings {
			path, _ := f.at(o.value)
			if filepath.Ext(path) == "" && i%2 == 1 {
				path = filepath.Join(path, "deep", "file")
			}
			if data, err := os.ReadFile(path); string(data) != fmt.Sprint(i) || !strings.HasPrefix(path, home) {
				t.Errorf("%s: %s has %q, %v", p.name, path, data, err)
			}
		}
		for path, want := range map[string]string{".gitconfig": "[user]", "sdk/x": "x"} {
			if data, err := os.ReadFile(filepath.Join(home, path)); string(data) != want {
				t.Errorf("%s: %s has %q, %v", p.name, path, data, err)
			}
		}
		for i, l := range logins.files {
			users, _ := p.logins[i].at((&offer{env: env}).value)
			own, _ := p.logins[i].at(o.value)
			if l.user != users || filepath.Join(home, l.own) != own {
				t.Errorf("%s: the login %+v, want %s and %s", p.name, l, users, own)
			}
		}
		// What the user has removed goes, and links lead round in no circle.
		if err := errors.Join(os.Remove(filepath.Join(user, ".gitconfig")), os.MkdirAll(filepath.Join(user, "conf", "git"), 0o755),
			os.Symlink("..", filepath.Join(user, "conf", "git", "up"))); err != nil {
			t.Skip("no symbolic links:", err)
		}
		o = offer{env: slices.Clone(env)}
		if _, err := p.moveHome(&o, home, nil); err != nil {
			t.Errorf("%s: again: %v", p.name, err)
		}
		if _, err := os.Stat(filepath.Join(home, ".gitconfig")); err == nil {
			t.Errorf("%s: what the user has removed is still there", p.name)
		}
	}
}
