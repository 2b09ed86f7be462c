package cases

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// Drafted is a file of cases, and the scripts that it names, as a run has gone. Paths are relative to the
// folder of the file.
type Drafted struct {
	Cases   string
	Scripts map[string]string // by path
}

// Draft makes cases of the last run of a team: the calls with their decisions, and the run with its gates,
// tasks and end. spec is the path of its spec for the file, and mask hides secrets. The error of a team that
// has not run matches fs.ErrNotExist.
func Draft(place state.Place, team *configs.Team, spec string, mask func(string) string) (Drafted, error) {
	d := draft{team: team, place: place, r: newRecord(team.Workspace), mask: mask}
	for l, err := range state.ReadJournal(place.Journal(), 0) {
		if err != nil {
			return Drafted{}, fmt.Errorf("read the last run: %w", err)
		}
		e := l.Event()
		d.r.state.Apply(e)
		if start, ok := e.Data.(events.TeamStarted); ok && start.Merge == "" {
			d.r.lines, d.first = nil, e.Seq
		}
		d.r.lines = append(d.r.lines, e)
	}
	d.printf("covey-test: %d\nspec: %s\ncases:\n", Format, d.value(filepath.ToSlash(spec)))
	out := Drafted{Scripts: d.scripts()}
	d.tables()
	d.run(slices.Sorted(maps.Keys(out.Scripts)))
	out.Cases = d.text.String()
	return out, nil
}

// draft makes the text of a case file.
type draft struct {
	team  *configs.Team
	place state.Place
	r     *record
	first uint64 // the line that begins the run
	mask  func(string) string
	text  strings.Builder
}

// draftFolder is the folder of the scripts, beside the case file.
const draftFolder = "last-run"

func (d *draft) printf(format string, args ...any) { fmt.Fprintf(&d.text, format, args...) }

// value writes a value as YAML, which JSON is.
func (d *draft) value(v any) string { return string(texts.Encode(mapTexts(v, d.mask))) }

// here makes an input independent of where the member worked. Long texts are cut where only the decision
// counts.
func (d *draft) here(member string, input json.RawMessage, cut bool) any {
	var value any
	if json.Unmarshal(input, &value) != nil {
		return map[string]any{}
	}
	dirs := []string{filepath.Join(d.place.Worktrees(), member), d.team.Workspace}
	return mapTexts(value, func(text string) string {
		for _, dir := range dirs {
			text = strings.ReplaceAll(strings.ReplaceAll(text, dir+"/", ""), dir, ".")
		}
		if cut {
			text = texts.Clip(text, maxInput)
		}
		return text
	})
}

// maxInput bounds a text of an input in a table.
const maxInput = 1000

// mapTexts replaces the texts in a decoded JSON value.
func mapTexts(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = mapTexts(v[i], change)
		}
	case map[string]any:
		for key := range v {
			v[key] = mapTexts(v[key], change)
		}
	}
	return value
}

// tables writes a table for each member that has made calls.
func (d *draft) tables() {
	rows := map[string][]string{}
	var names []string
	for _, c := range d.r.calls() {
		if !d.present(c.member) || !isTool(c.Tool) || isTeamTool(c.Tool) && c.decision == Allow {
			continue
		}
		row := fmt.Sprintf("{tool: %s, input: %s, expect: %s%s}", c.Tool, d.value(d.here(c.member, c.Input, true)),
			d.decided(c.id, c.decision), d.reason(c))
		if rows[c.member] == nil {
			names = append(names, c.member)
		}
		if !slices.Contains(rows[c.member], row) {
			rows[c.member] = append(rows[c.member], row)
		}
	}
	for _, name := range names {
		d.printf("  - name: calls of %s\n    member: %s\n    calls:\n", name, name)
		for _, row := range rows[name] {
			d.printf("      - %s\n", row)
		}
	}
}

// present reports whether the spec has a member.
func (d *draft) present(name string) bool { return slices.Contains(d.team.MemberNames(), name) }

// isTeamTool reports whether a tool acts on the team only. Such a tool needs no permission.
func isTeamTool(name string) bool {
	workspace := []string{"Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "Skill"}
	return !slices.Contains(workspace, name) && slices.Contains(orchestrator.ScriptTools(), name)
}

// decided returns the decision of rules, hooks and the mode. What a person has said is no part of it.
func (d *draft) decided(id string, decision Decision) Decision {
	for _, e := range d.r.lines {
		p, ok := e.Data.(events.PermissionDecided)
		if ok && p.ID == id && !slices.Contains([]string{"rule", "hook", "mode"}, p.By) {
			return Ask
		}
	}
	return decision
}

// reason returns the key with the rule that denies a call.
func (d *draft) reason(c madeCall) string {
	if c.decision != Deny || c.rule == "" || !isRule(c.rule) {
		return ""
	}
	return ", reason: " + d.value(regexp.QuoteMeta(c.rule))
}

// run writes the case with the whole run.
func (d *draft) run(scripts []string) {
	d.printf("  # The files with which the run began are not known. Add what its gates and scripts need: files, or copy.\n")
	d.printf("  - name: the last run\n")
	if goal := d.r.state.Run().Goal; goal != "" && goal != d.team.Goal {
		d.printf("    goal: %s\n", d.value(goal))
	}
	if len(scripts) > 0 {
		d.printf("    members:\n")
		for _, path := range scripts {
			name := strings.TrimSuffix(filepath.Base(path), ".yaml")
			d.printf("      %s: %s\n", name, d.value(path))
		}
	}
	d.printf("    expect:\n")
	var rows []string
	add := func(format string, args ...any) {
		if row := fmt.Sprintf(format, args...); !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	for _, g := range d.r.state.Gates {
		decision := decisionOfGate(g)
		if g.First < d.first || decision == "" {
			continue
		}
		switch {
		case g.Merge != "":
			add("{gate: merge, decision: %s}", decision)
		case g.Task != "":
			add("{gate: %s, task: %q, decision: %s}", g.Event, g.Task, decision)
		case d.present(g.Member):
			add("{gate: %s, member: %s, decision: %s}", g.Event, g.Member, decision)
		}
	}
	for _, t := range d.r.state.Tasks {
		add("{task: %q, status: %s}", t.ID, d.status(t))
	}
	if end := d.ended(); end != nil {
		add("{end: %d}", end.ExitCode)
	}
	for _, row := range rows {
		d.printf("      - %s\n", row)
	}
}

// status returns the state of a task.
func (d *draft) status(t *view.Task) string {
	if t.Deleted {
		return "deleted"
	}
	return string(t.Status)
}

// ended returns how the run ended; nil: it was killed, or interrupted.
func (d *draft) ended() *events.TeamEnded {
	for _, e := range d.r.lines {
		if end, ok := e.Data.(events.TeamEnded); ok && slices.Contains([]int{0, 1, 3}, end.ExitCode) {
			return &end
		}
	}
	return nil
}

// scripts returns a script for each member that has worked and plays none, by its path.
func (d *draft) scripts() map[string]string {
	list := map[string]string{}
	for m := range d.team.Each() {
		if m.Agent.Kind == configs.Builtin && m.Agent.Model.Script != "" {
			continue
		}
		if steps := d.steps(m.Name); len(steps) > 0 {
			path := draftFolder + "/" + m.Name + ".yaml"
			list[path] = "# What " + m.Name + " did in the last run.\nsteps:\n" + strings.Join(steps, "") + "  - {say: Understood., times: -1}\n"
		}
	}
	return list
}

// steps returns what a member did in each pass.
func (d *draft) steps(member string) (steps []string) {
	var said string
	var calls []string
	flush := func() {
		if said != "" || len(calls) > 0 {
			step := "  - say: " + d.value(cmp.Or(said, "")) + "\n"
			if len(calls) > 0 {
				step += "    call:\n" + strings.Join(calls, "")
			}
			steps = append(steps, step)
		}
		said, calls = "", nil
	}
	for _, e := range d.r.lines {
		if e.Member != member || e.Helper != "" {
			continue
		}
		switch data := e.Data.(type) {
		case events.PassStarted, events.TurnEnded:
			flush()
		case events.TextSaid:
			said = strings.TrimPrefix(said+"\n"+data.Text, "\n")
		case events.ToolCalled:
			if slices.Contains(orchestrator.ScriptTools(), data.Name) {
				calls = append(calls, fmt.Sprintf("      - {tool: %s, input: %s}\n", data.Name, d.value(d.here(member, data.Input, false))))
			}
		}
	}
	flush()
	return steps
}
