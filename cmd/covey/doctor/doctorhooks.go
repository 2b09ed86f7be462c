package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
)

// probeWithin is how long a server may take to answer a probe.
const probeWithin = 2 * time.Second

// hookExam examines hooks. It runs none of them and changes nothing; only with probe
// does it access the network.
type hookExam struct {
	set   *hookSet
	probe bool
	lines map[string]*lineIndex // by file
	seen  map[string]int        // how often a text of a source and event has occurred
	infos map[hooks.Event]hooks.EventInfo
	// triggers are what members can fire, by event; empty without a team.
	triggers map[hooks.Event][]teamhooks.Trigger
	counts   accounts.HookTally // of the team's last run; empty if it has not run
	// observers counts the hooks that cannot refuse because they run in the background, of
	// which the first is reported; observer is the index of its finding.
	observers, observer int
	found               []finding
}

// examineHooks examines all hooks of a set.
//
// What concerns whole files comes first, and then the hooks by event, in the order in which
// they are written. checked is the number of hooks and gates that were examined, for people
// who see no finding. The error is one that keeps hooks from being examined at all.
func examineHooks(
	ctx context.Context, set *hookSet, probe bool,
) (findings []finding, checked int, err error) {
	x := &hookExam{set: set, probe: probe, lines: map[string]*lineIndex{}, seen: map[string]int{},
		infos: map[hooks.Event]hooks.EventInfo{}}
	for _, info := range hooks.Events() {
		x.infos[info.Event] = info
	}
	list, err := runner.Inspect(set.Sources, nil, &runner.Options{ProjectDir: set.Workspace})
	if err != nil {
		return nil, 0, err
	}
	if err := x.teamTriggers(list); err != nil {
		return nil, 0, err
	}
	x.countLastRun()
	for _, warning := range set.Warnings {
		x.warning(warning)
	}
	for _, file := range x.settingsFiles() {
		x.checkKeys(file)
	}
	for i := range list {
		x.hook(ctx, &list[i], string(list[i].Event))
	}
	// Gates of merges are in no layer of hooks: covey runs them itself.
	merges, err := teamhooks.MergeGates(set.Team)
	if err != nil {
		return nil, 0, err
	}
	for i := range merges {
		x.hook(ctx, &merges[i], api.AtMerge)
	}
	if x.observers > 1 {
		x.found[x.observer].Text += fmt.Sprintf(" (and %s like it)", texts.Plural(x.observers-1, "other hook"))
	}
	return x.found, len(list) + len(merges), nil
}

// countLastRun reads how often each hook failed in the team's last run. A journal that cannot
// be read is a matter of other commands.
func (x *hookExam) countLastRun() {
	if x.set.Team == nil {
		return
	}
	place, err := state.PlaceOf(x.set.Team.Name, x.set.Team.Workspace)
	if err != nil {
		return
	}
	if run, err := view.ReadLastRun(place); err == nil {
		x.counts = *run.Hooks()
	}
}

// hook runs all checks of one hook. moment is its event, for people.
func (x *hookExam) hook(ctx context.Context, h *runner.Configured, moment string) {
	place := x.placeOf(h, moment)
	what := fmt.Sprintf("%s hook %s", moment, term.Short(h.Label))
	if h.Handler.Gate {
		what = fmt.Sprintf("gate on %s: %s", moment, term.Short(h.Label))
	}
	report := func(f flaw) {
		if f.text == "" {
			return
		}
		v := isFail
		if f.mild {
			v = isWarn
		}
		x.found = append(x.found, finding{Check: "hooks", Verdict: v, Place: place,
			Text: what + ": " + f.text, WayOut: f.wayOut})
	}
	info := x.infos[h.Event]
	report(x.never(h))
	if h.Never == "" {
		report(x.moment(h, info))
	}
	// A matcher in another program's names was compared with those when its file was
	// read.
	f := flaw{}
	if p := h.Handler.Dialect.Program; p == "" || p == hooks.Codex || info.Matcher != "tool_name" {
		f = matcherFlaw(info, h.Matcher)
	}
	if f.text == "" {
		f = x.untriggered(h, info)
	}
	report(f)
	report(x.time(h))
	if f := backgroundFlaw(h, info); f.text == asyncObserver {
		if x.observers++; x.observers == 1 {
			report(f)
			x.observer = len(x.found) - 1
		}
	} else {
		report(f)
	}
	if n := x.counts.Of(moment, h.Label); n.FailedOpen > 0 {
		report(flaw{fmt.Sprintf("in the last run it gave no verdict %s, and what it guards went on: %s",
			texts.Plural(n.FailedOpen, "time"), n.Why), "correct it, and try it with covey hooks run " + string(h.Event), true})
	}
	switch {
	case h.Handler.Policy != "":
	case h.Handler.Type == "command":
		for _, f := range x.commandCheck(h).flaws() {
			f.wayOut += consequence(h)
			report(f)
		}
	case h.Handler.Type == "http" && x.probe:
		report(probe(ctx, h.Handler.URL))
	case h.Handler.Type == "mcp_tool":
		report(x.server(h))
	case h.Handler.Type == "prompt" || h.Handler.Type == "agent":
		report(x.model(h))
	}
}

// consequence returns what happens if nothing is done. It differs for gates and hooks,
// and decides how urgent a finding is.
func consequence(h *runner.Configured) string {
	switch {
	case h.Handler.Gate:
		return " (a gate that cannot run refuses)"
	case h.Handler.OnFailure == "block":
		return ""
	}
	return " (a hook that cannot run lets everything pass)"
}

// never returns why a hook is never run.
func (x *hookExam) never(h *runner.Configured) flaw {
	switch {
	case h.Never == "":
		return flaw{}
	case strings.Contains(h.Never, "runs in its place"):
		return flaw{"it never runs: " + h.Never, "delete one of the two", true}
	// An `if` on such an event is a mistake; a policy may be intended.
	case strings.Contains(h.Never, "`if`"):
		return flaw{"it never runs: " + h.Never, "delete the `if`, or correct it", false}
	}
	return flaw{"it never runs: " + h.Never, "change the setting that is named, or delete the hook", true}
}

// moment checks that something fires the hook's event.
func (x *hookExam) moment(h *runner.Configured, info hooks.EventInfo) flaw {
	if info.Fires {
		return flaw{}
	}
	return flaw{"nothing fires this event yet: it waits for " + info.Requires,
		"covey hooks run " + string(h.Event) + " fires it by hand", true}
}

// oddTimeout is a time-out, in seconds, that is probably meant in milliseconds;
// sessionEnds is the longest one at the end of a session.
const (
	oddTimeout  = 7200
	sessionEnds = 60
)

// time checks that a hook's time-out is not longer than what it can have.
func (x *hookExam) time(h *runner.Configured) flaw {
	t := h.Handler.Timeout
	switch {
	case h.Event == hooks.SessionEnd && t > sessionEnds:
		return flaw{fmt.Sprintf("a time-out of %v s is more than the end of a session gives", t),
			fmt.Sprintf("write at most %d", sessionEnds), true}
	case h.Event == hooks.SessionEnd && h.Source.Root != "" && t > 1.5:
		return flaw{fmt.Sprintf("a time-out of %v s in a plugin does not make the end of a session wait longer than 1.5 s", t),
			"set it in a settings file, for a hook on SessionEnd, or set CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", true}
	case t >= oddTimeout:
		return flaw{fmt.Sprintf("a time-out of %v s is %s: time-outs are in seconds", t,
			term.Elapsed(time.Duration(t)*time.Second)),
			fmt.Sprintf("write %v if milliseconds were meant", t/1000), true}
	}
	if limit, member := x.shortestTurn(h); limit > 0 && t > limit.Seconds() && !h.Handler.Async &&
		!h.Handler.AsyncRewake {
		return flaw{fmt.Sprintf("a time-out of %v s is longer than a turn of %s may be (%s)", t, member, term.Elapsed(limit)),
			"write a shorter one, or raise limits.turn_timeout", true}
	}
	return flaw{}
}

// shortestTurn returns the shortest turn_timeout of the members that the hook is for,
// and the member that has it; 0: none has one.
func (x *hookExam) shortestTurn(h *runner.Configured) (limit time.Duration, member string) {
	if x.set.Team == nil {
		return 0, ""
	}
	for m := range x.set.Team.EachAndTemplates() {
		t := m.Limits.TurnTimeout
		if t > 0 && (limit == 0 || t < limit) && (h.Source.Member == "" || h.Source.Member == m.Name) {
			limit, member = t, m.Name
		}
	}
	return limit, member
}

// asyncObserver is what is odd about a hook that observes in the background where others
// refuse.
const asyncObserver = "async: nobody waits for it, so it cannot refuse anything here"

// backgroundFlaw reports a hook that cannot decide although it seems to be meant to.
func backgroundFlaw(h *runner.Configured, info hooks.EventInfo) flaw {
	if !h.Handler.Async && !h.Handler.AsyncRewake {
		return flaw{}
	}
	switch {
	case h.Handler.Mandatory:
		return flaw{"it is mandatory and runs in the background, where it decides nothing",
			"remove async or mandatory", false}
	case h.Handler.OnFailure == "block":
		return flaw{"onFailure: block has no effect on a hook in the background", "remove one of the two", false}
	case h.Handler.AsyncRewake || !info.Blocks || info.Exit2 == hooks.WithResult:
		return flaw{}
	}
	return flaw{asyncObserver,
		"remove async if it is to decide; asyncRewake wakes the agent with what it finds", true}
}

// probe checks whether a server accepts connections at a URL.
func probe(ctx context.Context, text string) flaw {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return flaw{} // reported elsewhere
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
	// Connect only: the server might act upon a request.
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return flaw{fmt.Sprintf("nobody answers at %s: %v", u.Host, err), "start the server, or correct the URL", false}
	}
	_ = conn.Close()
	return flaw{}
}

// warning reports what was wrong when the files were read.
func (x *hookExam) warning(warning error) {
	var f *settings.Flaw
	if !errors.As(warning, &f) {
		x.found = append(x.found, warn("hooks", warning.Error(), "correct it, or leave it if it is meant"))
		return
	}
	out := finding{Check: "hooks", Verdict: isFail, Place: x.at(f.File, cmp.Or(f.Line, x.index(f.File).at(f.Path))),
		Text: strings.TrimPrefix(f.Path+": "+f.Text, ": "), WayOut: "correct it; until then it has no effect"}
	if f.Refused {
		out.WayOut = "correct it; until then nothing runs with this file"
	}
	if key := f.Path[strings.LastIndex(f.Path, ".")+1:]; strings.Contains(f.Text, "unknown field") {
		out.Verdict, out.WayOut = isWarn, "delete it, if no other program reads it"
		if near := texts.Typo(key, settings.Fields()); near != "" {
			out.Verdict, out.WayOut = isFail, "write "+near
		}
	}
	x.found = append(x.found, out)
}

// checkKeys finds keys of a settings file that are similar to one that covey reads.
// Others belong to other programs.
func (x *hookExam) checkKeys(file string) {
	known := []string{"hooks", "permissions", "disableAllHooks", "allowManagedHooksOnly",
		"allowedHttpHookUrls",
		"httpHookAllowedEnvVars", "pluginConfigs"}
	if filepath.Ext(file) != ".json" {
		return
	}
	index := x.index(file)
	for path, line := range index.paths {
		if strings.ContainsAny(path, ".[") || slices.Contains(known, path) {
			continue
		}
		// Some keys of other programs only look similar to one of covey's.
		others := []string{"pluginConfig", "version", "model", "models"}
		if near := texts.Typo(path, known); near != "" && !slices.Contains(others, path) {
			x.found = append(x.found, finding{Check: "hooks", Verdict: isFail, Place: x.at(file, line),
				Text: fmt.Sprintf("the key %q means nothing to covey", path), WayOut: "write " + near})
		}
	}
}

// settingsFiles returns the settings files among the sources.
func (x *hookExam) settingsFiles() []string {
	files := slices.Clone(x.set.files)
	for _, s := range x.set.Sources {
		if s.Root == "" && filepath.Ext(s.Name) == ".json" &&
			(x.set.Team == nil || s.Name != x.set.Team.File) {
			files = append(files, s.Name)
		}
	}
	if x.set.Team != nil {
		files = append(files, x.set.Team.Settings...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// commandCheck returns the check of a command hook.
func (x *hookExam) commandCheck(h *runner.Configured) commandCheck {
	s := newCommandCheck(*h, x.set.Workspace)
	if h.Handler.Gate && x.set.Team != nil {
		s.mayProvide = x.set.Team.CopyMayHave
	}
	return s
}

// placeOf returns the file and line of a hook.
func (x *hookExam) placeOf(h *runner.Configured, moment string) string {
	// Indexes do not help: they do not count entries that were left out, and a
	// plugin's hooks come from several files.
	label := h.Label
	if h.Handler.Type == "mcp_tool" {
		label = h.Handler.Server // the file does not contain its label
	}
	key := fmt.Sprintf("%s\x00%s\x00%s", h.Source.Name, moment, label)
	nth := x.seen[key]
	x.seen[key]++
	if h.Source.Root == "" {
		file := strings.TrimPrefix(h.Source.Name, "gates of ")
		return x.at(file, x.index(file).of(label, keyOfGates(h, moment), nth))
	}
	for _, name := range []string{"hooks/hooks.json", ".claude-plugin/plugin.json", ".codex-plugin/plugin.json"} {
		file := filepath.Join(h.Source.Root, name)
		if line := x.index(file).of(label, string(h.Event), nth); line > 0 {
			return x.at(file, line)
		}
	}
	return "plugin " + h.Source.Name
}

// keyOfGates returns the key below which a hook is in its file.
func keyOfGates(h *runner.Configured, moment string) string {
	keys := map[string]string{"TaskCompleted": "task", "TeammateIdle": "idle", "Stop": "stop",
		api.AtMerge: "merge"}
	if key := keys[moment]; h.Handler.Gate && key != "" {
		return "gates." + key
	}
	return moment
}

// index returns the line index of a file, which is read once.
func (x *hookExam) index(file string) *lineIndex {
	if x.lines[file] == nil {
		x.lines[file] = indexLines(x.absolute(file))
	}
	return x.lines[file]
}

// absolute returns the absolute path of a file: names from flags are relative to the
// folder of the command.
func (x *hookExam) absolute(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(x.set.Folder, file)
}

// at formats a place; line 0: the file.
func (x *hookExam) at(file string, line int) string {
	file = cli.Below(x.set.Folder, file)
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// specFindings returns the mistakes of a spec as findings.
func specFindings(mistakes configs.Errors) []finding {
	var findings []finding
	for _, p := range mistakes {
		findings = append(findings, finding{Check: "spec", Verdict: isFail, Text: p.Message,
			Place: fmt.Sprintf("%s:%d:%d", p.File, p.Line,
				p.Col), WayOut: "correct the spec; covey validate shows the line"})
	}
	return findings
}

// hooks checks the hooks for `covey doctor`.
func (x *examination) hooks(ctx context.Context, team *configs.Team) []finding {
	set, err := newHookSet(team, team.Layers(nil), x.managed, x.dir)
	if err != nil {
		return []finding{fail("hooks", err.Error(), "a managed file that cannot be read stops every team")}
	}
	findings, count, err := examineHooks(ctx, set, false)
	switch {
	case err != nil:
		return []finding{fail("hooks", err.Error(), "covey hooks doctor shows more")}
	case len(findings) == 0:
		return []finding{ok("hooks", "%s, all there", hooksAndGates(count))}
	}
	return findings
}

// hooksAndGates counts hooks and gates for people.
func hooksAndGates(n int) string {
	if n == 1 {
		return "1 hook or gate"
	}
	return fmt.Sprintf("%d hooks and gates", n)
}
