package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/teammate/script"
)

// Suite runs cases.
type Suite struct {
	Load    func(path string) (*configs.Team, error) // reads and checks a spec
	Default string                                   // the spec of files that name none
	Version string                                   // of covey
	Bin     string                                   // path of the covey executable, for hooks; empty: this process's
	Managed []string                                 // orchestrator.Options.ManagedFolders
	specs   map[string]spec
}

// spec is a spec and what its cases take along.
type spec struct {
	team  *configs.Team
	named []string
}

// Prepared is a case that can run. Close removes its files.
type Prepared struct {
	File *File
	Case *Case

	suite   *Suite
	team    *configs.Team
	scratch scratch
	hooks   []api.Hook
	layers  teamhooks.Layers
	marks   []string // of the processes that it starts
}

// Close removes the files of the case.
func (p *Prepared) Close() error { return p.scratch.remove() }

// Prepare makes a case ready: its workspace and its team. A mistake of the case is a yaml.Errors.
func (s *Suite) Prepare(f *File, c *Case) (_ *Prepared, err error) {
	p := &Prepared{File: f, Case: c, suite: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if f.team != nil {
		err = p.ownTeam()
	} else {
		err = p.teamOfSpec()
	}
	if err != nil {
		return nil, err
	}
	if p.layers, err = teamhooks.LoadLayers(p.team); err != nil {
		return nil, err
	}
	if p.hooks, err = teamhooks.List(p.team, p.team.Workspace, p.layers.Sources, nil); err != nil {
		return nil, err
	}
	return p, p.check()
}

// teamOfSpec takes the team of the spec that the file names.
func (p *Prepared) teamOfSpec() error {
	path := p.File.SpecPath(p.suite.Default)
	known, ok := p.suite.specs[path]
	if !ok {
		team, err := p.suite.Load(path)
		if _, absent := os.Stat(path); absent != nil && p.File.Spec != "" {
			return p.File.problem(p.File.spec.At, "there is no spec %s; name one relative to this file", yaml.Quote(p.File.Spec))
		}
		if err != nil {
			return err
		}
		known = spec{team, named(team)}
		if p.suite.specs == nil {
			p.suite.specs = map[string]spec{}
		}
		p.suite.specs[path] = known
	}
	var err error
	if p.scratch, err = newScratch(filepath.Dir(known.team.File), known.team.Workspace); err != nil {
		return err
	}
	if err := p.scratch.bring(known.named, known.team.Workspace); err != nil {
		return err
	}
	if err := p.scratch.fill(p.Case); err != nil {
		return err
	}
	p.team = copyOf(known.team)
	p.team.Workspace = p.scratch.workspace
	return nil
}

// ownTeam makes the team that the file has. Its workspace must have all files first, because the spec is
// checked against them.
func (p *Prepared) ownTeam() error {
	file, err := filepath.Abs(p.File.Path)
	if err != nil {
		return err
	}
	from := filepath.Dir(file)
	if w := p.File.team.TextOf("workspace"); w != "" {
		from = p.File.below(w)
	}
	if p.scratch, err = newScratch(from, from); err != nil {
		return err
	}
	if err := p.scratch.bring(namedIn(p.File.team, configs.ScriptPlace{Workspace: from, Spec: from})); err != nil {
		return err
	}
	if err := p.scratch.fill(p.Case); err != nil {
		return err
	}
	opts := configs.Options{Version: p.suite.Version, Given: []string{given}, Managed: p.suite.Managed}
	team, err := configs.ParsePart(file, p.File.doc, p.File.partsOf(p.scratch.workspace), opts)
	if err != nil {
		return err
	}
	p.team = copyOf(team)
	return nil
}

// SpecPath returns the path of the file's spec: otherwise, if it names none, and empty if it has a team.
func (f *File) SpecPath(otherwise string) string {
	switch {
	case f.team != nil:
		return ""
	case f.Spec != "":
		return f.below(f.Spec)
	}
	return otherwise
}

// below returns a path of the file, which starts at its folder.
func (f *File) below(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}

// copyOf returns a team that may be changed, without what has no place in a test: a team that stays up, and
// notices to people. Nobody answers a question, so its time is over soon.
func copyOf(team *configs.Team) *configs.Team {
	t := *team
	t.Teammates, t.Templates = slices.Clone(t.Teammates), slices.Clone(t.Templates)
	t.Keep, t.Schedules, t.Notify, t.Web = false, nil, nil, configs.Web{}
	t.OnAsk, t.AskLimit = configs.DenyAsk, time.Millisecond
	return &t
}

// check reports what can never be seen.
func (p *Prepared) check() error {
	var found yaml.Errors
	fail := func(at *yaml.Node, format string, args ...any) {
		found = append(found, p.File.doc.Problem(at.At, fmt.Sprintf(format, args...)))
	}
	known := p.memberNames()
	member := func(v yaml.Value[string]) {
		if v.V != "" && !slices.Contains(known, v.V) {
			fail(v.At, "there is no member %s; %s", yaml.Quote(v.V), nearOr(v.V, known, "the team has "+strings.Join(known, ", ")))
		}
	}
	member(p.Case.member)
	for _, played := range p.Case.Members {
		member(yaml.Value[string]{V: played.Member, At: played.name})
	}
	creates, err := p.scripts()
	if err != nil {
		return err
	}
	for _, c := range p.Case.Calls {
		member(c.member)
		if !isTool(c.Tool) {
			fail(c.tool.At, "there is no tool %s; %s", yaml.Quote(c.Tool), nearTool(c.Tool))
		}
	}
	for _, s := range slices.Concat(p.Case.Expect, p.Case.Never) {
		for _, v := range s.member {
			if len(p.team.Templates) == 0 { // the lead names those that it adds
				member(v)
			}
		}
		switch {
		case s.Kind == SeesCall && slices.Contains(known, s.Member) && !p.plays(s.Member):
			fail(s.member[0].At, "%s has no script in this case, so it makes no calls and this can never be seen; name a script under members", s.Member)
		case s.Gate != "" && !slices.ContainsFunc(p.hooks, func(h api.Hook) bool { return h.Event == s.Gate && h.Never == "" }):
			fail(s.gate.At, "the spec has no gate and no hook for %s, so this can never be seen; %s", s.Gate, p.gatesThere())
		case s.Call.Tool != "" && !isTool(s.Call.Tool):
			fail(s.call.At, "there is no tool %s; %s", yaml.Quote(s.Call.Tool), nearTool(s.Call.Tool))
		case s.Task != "" && !creates && !p.hasTask(s.Task):
			fail(s.task.At, "the spec has no task %s, and no script creates one, so this can never be seen; %s",
				yaml.Quote(s.Task), p.tasksThere())
		}
	}
	if len(found) > 0 {
		return yaml.Errors(yaml.SortProblems(found))
	}
	return nil
}

// plays reports whether a member plays a script.
func (p *Prepared) plays(member string) bool {
	for m := range p.team.EachAndTemplates() {
		if m.Name == member && m.Agent.Kind == configs.Builtin && m.Agent.Model.Script != "" {
			return true
		}
	}
	return slices.ContainsFunc(p.Case.Members, func(played Played) bool { return played.Member == member })
}

// scripts checks the scripts of the case. creates reports whether one of all members' scripts may create a
// task.
func (p *Prepared) scripts() (creates bool, err error) {
	var errs []error
	see := func(path string) {
		data, err := texts.ReadStart(path, script.MaxSize+1)
		creates = creates || err != nil || strings.Contains(string(data), "TaskCreate")
	}
	for m := range p.team.EachAndTemplates() {
		if m.Agent.Model.Script != "" {
			see(m.Agent.Model.Script)
		}
	}
	for _, played := range p.Case.Members {
		path := p.File.below(played.Script)
		if played.isRecorded() {
			if err := recordings.CheckFile(path); err != nil {
				errs = append(errs, p.File.problem(played.at, "%v", err))
			}
			see(path)
			continue
		}
		s, err := script.Load(path)
		if err == nil {
			err = s.CheckTools(orchestrator.ScriptTools())
		}
		var mistakes yaml.Errors
		if err != nil && !errors.As(err, &mistakes) {
			err = p.File.problem(played.at, "the script of %s cannot be read: %v", played.Member, texts.Cause(err))
		}
		errs = append(errs, err)
		see(path)
	}
	return creates, errors.Join(errs...)
}

// memberNames returns the members that may be named: those of the team, and templates.
func (p *Prepared) memberNames() []string {
	names := p.team.MemberNames()
	for _, t := range p.team.Templates {
		names = append(names, t.Name)
	}
	return names
}

// isTool reports whether there may be a tool of that name.
func isTool(name string) bool {
	return strings.HasPrefix(name, "mcp__") || slices.Contains(tools(), name)
}

// tools returns the tools that covey's own agent and agent programs are known to have.
func tools() []string { return slices.Concat(orchestrator.ScriptTools(), settings.ToolNames()) }

// nearTool says which tool is meant, or which there are.
func nearTool(name string) string {
	return nearOr(name, tools(), "the tools are "+strings.Join(orchestrator.ScriptTools(), ", "))
}

// nearOr says which of some names is meant, or else.
func nearOr(name string, known []string, otherwise string) string {
	if near := yaml.Nearest(name, known); near != "" {
		return "write " + near
	}
	return otherwise
}

// gatesThere says which gates the spec has.
func (p *Prepared) gatesThere() string {
	var there []string
	for _, e := range gateEvents() {
		if slices.ContainsFunc(p.hooks, func(h api.Hook) bool { return h.Event == e && h.Never == "" }) {
			there = append(there, e)
		}
	}
	if len(there) == 0 {
		return "it has none for a turn end"
	}
	return "it has some for " + strings.Join(there, ", ")
}

// hasTask reports whether the spec has a task that is stored under an id.
func (p *Prepared) hasTask(id string) bool {
	n, err := strconv.Atoi(id)
	return err == nil && n > 0 && n <= len(p.team.Tasks)
}

// tasksThere says which tasks the spec has.
func (p *Prepared) tasksThere() string {
	switch n := len(p.team.Tasks); n {
	case 0:
		return "it has none"
	case 1:
		return `its task is "1"`
	default:
		return fmt.Sprintf(`its tasks are "1" to "%d"`, n)
	}
}
