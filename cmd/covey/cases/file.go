package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// Format is the version of the form of case files. Keys may be added under the same number.
const Format = 1

// MaxSize is the size of the largest case file, in bytes.
const MaxSize = 1 << 20

// File is a file of cases.
type File struct {
	Path  string // as it was named
	Spec  string // the path of the spec, as the file names it; empty: it has a team, or names none
	Cases []Case

	doc   *yaml.Document
	team  *yaml.Node // the spec, or parts of one; nil: it has none
	names []*yaml.Node
	spec  yaml.Value[string]
}

// Case is one case.
type Case struct {
	Name    string
	Member  string // makes the calls; empty: the lead
	Goal    string // instead of the spec's
	Timeout time.Duration
	Git     bool // the workspace is a git repository also if the team does not need one
	Calls   []Call
	Files   []WorkspaceFile
	Copy    []string // globs of more files below the spec's folder
	Members []Played
	Expect  []Sight
	Never   []Sight

	at     *yaml.Node
	member yaml.Value[string]
}

// Call is a row of a table: a tool call, and what is to be decided.
type Call struct {
	Tool   string
	Input  json.RawMessage // an object
	Member string          // empty: that of the case
	Expect Decision
	Reason *regexp.Regexp // nil: any

	at     *yaml.Node
	member yaml.Value[string]
	tool   yaml.Value[string]
}

// Decision is what is decided about a call.
type Decision string

// The decisions about calls.
const (
	Allow Decision = "allow"
	Deny  Decision = "deny"
	Ask   Decision = "ask" // a person is asked; without one the call is denied
)

// The decisions of gates, as `covey hooks run` has them.
const (
	Pass  Decision = "pass"
	Block Decision = "block"
	Await Decision = "await"
	Stop  Decision = "stop"
)

// WorkspaceFile is a file of the workspace of a case.
type WorkspaceFile struct{ Path, Text string }

// Played is what a member does.
type Played struct {
	Member string
	Script string // path of its script or recording, as the file names it

	name *yaml.Node
	at   *yaml.Node
}

// isRecorded reports whether a recording says what the member does.
func (p Played) isRecorded() bool { return filepath.Ext(p.Script) == ".jsonl" }

// SightKind is what a Sight is about.
type SightKind string

// The kinds of sights. Each is the key that names it.
const (
	SeesGate    SightKind = "gate"
	SeesTask    SightKind = "task"
	SeesCall    SightKind = "call"
	SeesMessage SightKind = "message"
	SeesEnd     SightKind = "end"
)

// Sight is something that is to be seen in a run, or is not to be seen. Empty fields match anything.
type Sight struct {
	Kind     SightKind
	Gate     string // event of a gate, or merge
	Task     string // id
	Status   string // of a task at the end
	Owner    string // of the task at the end
	Call     rules.Rule
	Decision Decision
	Member   string // who made the call, or whose gate it is
	To, From string // of a message
	Text     *regexp.Regexp
	End      int // exit code

	at     *yaml.Node
	gate   yaml.Value[string]
	task   yaml.Value[string]
	member []yaml.Value[string]
	call   yaml.Value[string]
}

// Parse reads a file of cases. name is its path. A file with mistakes yields yaml.Errors.
func Parse(name string, data []byte) (*File, error) {
	d := &yaml.Decoder{Document: yaml.ParseAs(form(), name, data)}
	f := &File{Path: name, doc: d.Document}
	if d.Root != nil {
		f.decode(d)
	}
	if len(d.Problems) > 0 {
		return nil, yaml.Errors(yaml.SortProblems(d.Problems))
	}
	return f, nil
}

// form is the form of case files.
func form() yaml.Form {
	return yaml.Form{
		Name: "case file", MaxSize: MaxSize, MaxKeys: 20_000, MaxDepth: 32,
		IfEmpty: "`covey test --init` writes one", IfLarge: "make several files of it",
		InsteadOfMerge: "write the keys out",
	}
}

// decode reads the tree of the file.
func (f *File) decode(d *yaml.Decoder) {
	var version yaml.Value[int64]
	var limit yaml.Value[time.Duration]
	var list yaml.List[caseSpec]
	d.Object(&yaml.Node{Kind: yaml.TextKind, Text: "the case file", At: d.Root.At}, d.Root, []yaml.Field{
		{Key: "covey-test", Need: true, Part: yaml.WholeFrom[int64](Format, Format)(&version)},
		{Key: "spec", Part: yaml.Text(&f.spec)},
		{Key: "team", Part: raw{&f.team, yaml.MappingKind, "a spec, or parts of one"}},
		{Key: "timeout", Part: yaml.SomeTime(&limit)},
		{Key: "cases", Need: true, Part: yaml.ListOf(&list, "a list of cases", func(c *caseSpec) yaml.Part { return c.part() })},
	})
	f.Spec = f.spec.V
	if f.team != nil && f.spec.Given() {
		d.Fail(f.spec.At.At, "a case file has one of spec and team; remove one of them")
	}
	if list.Given() && list.At.Kind == yaml.ListKind && len(list.Items) == 0 {
		d.Fail(list.At.At, "cases is empty; write at least one case")
	}
	named := map[string]*yaml.Node{}
	for i := range list.Items {
		c := list.Items[i].resolve(d)
		c.Timeout = orTime(c.Timeout, limit.V, defaultTimeout)
		if first := named[c.Name]; first != nil && c.Name != "" {
			d.Fail(list.Items[i].name.At.At, "there are two cases %s, the first in %s; give each a name of its own",
				yaml.Quote(c.Name), d.LineOf(first.At, list.Items[i].name.At.At))
		}
		named[c.Name] = list.Items[i].name.At
		f.names = append(f.names, c.memberNodes()...)
		f.Cases = append(f.Cases, c)
	}
}

// defaultTimeout is how long a case may take that sets no time.
const defaultTimeout = time.Minute

// orTime returns the first time that is not 0.
func orTime(times ...time.Duration) time.Duration {
	for _, t := range times {
		if t > 0 {
			return t
		}
	}
	return 0
}

// memberNodes returns the nodes of a case that name members.
func (c *Case) memberNodes() []*yaml.Node {
	values := []yaml.Value[string]{c.member}
	for _, call := range c.Calls {
		values = append(values, call.member)
	}
	for _, s := range slices.Concat(c.Expect, c.Never) {
		values = append(values, s.member...)
	}
	var nodes []*yaml.Node
	for _, v := range values {
		if v.V != "" {
			nodes = append(nodes, v.At)
		}
	}
	for _, p := range c.Members {
		nodes = append(nodes, p.name)
	}
	return nodes
}

// caseSpec is a case as the file has it.
type caseSpec struct {
	at      *yaml.Node
	name    yaml.Value[string]
	member  yaml.Value[string]
	goal    yaml.Value[string]
	timeout yaml.Value[time.Duration]
	git     yaml.Value[bool]
	calls   yaml.List[callSpec]
	files   *yaml.Node
	copies  yaml.List[yaml.Value[string]]
	members *yaml.Node
	expect  yaml.List[sightSpec]
	never   yaml.List[sightSpec]
}

// part decodes a case.
func (c *caseSpec) part() yaml.Part {
	sight := func(s *sightSpec) yaml.Part { return s.part() }
	const sights = "a list such as [{gate: TaskCompleted, decision: block}]"
	return yaml.Object(&c.at, []yaml.Field{
		{Key: "name", Need: true, Part: yaml.Text(&c.name)},
		{Key: "member", Part: yaml.Ident(&c.member)},
		{Key: "goal", Part: yaml.Text(&c.goal)},
		{Key: "timeout", Part: yaml.SomeTime(&c.timeout)},
		{Key: "git", Part: yaml.Truth(&c.git)},
		{Key: "calls", Part: yaml.ListOf(&c.calls, "a list such as [{tool: Bash, input: {command: git push}, expect: deny}]",
			func(c *callSpec) yaml.Part { return c.part() })},
		{Key: "files", Part: raw{&c.files, yaml.MappingKind, "a mapping from paths to texts"}},
		{Key: "copy", Part: yaml.Globs(&c.copies)},
		{Key: "members", Part: raw{&c.members, yaml.MappingKind, "a mapping from members to scripts or recordings"}},
		{Key: "expect", Part: yaml.ListOf(&c.expect, sights, sight)},
		{Key: "never", Part: yaml.ListOf(&c.never, sights, sight)},
	})
}

// resolve makes a Case, and reports what a table of keys cannot.
func (c *caseSpec) resolve(d *yaml.Decoder) Case {
	out := Case{
		Name: c.name.V, Member: c.member.V, Goal: c.goal.V, Timeout: c.timeout.V, Git: c.git.V, Copy: yaml.Words(c.copies),
		at: c.at, member: c.member,
	}
	for i := range c.calls.Items {
		out.Calls = append(out.Calls, c.calls.Items[i].resolve(d))
	}
	out.Files, out.Members = c.workspaceFiles(d), c.played(d)
	for i := range c.expect.Items {
		out.Expect = append(out.Expect, c.expect.Items[i].resolve(d, "expect"))
	}
	for i := range c.never.Items {
		out.Never = append(out.Never, c.never.Items[i].resolve(d, "never"))
	}
	switch {
	case c.at == nil || c.at.Broken:
	case len(out.Calls)+len(out.Expect)+len(out.Never) == 0:
		d.Fail(c.at.At, "the case %s expects nothing; add calls, expect or never", yaml.Quote(out.Name))
	case !out.HasTeam() && len(out.Members) > 0:
		d.Fail(c.members.At, "members has no effect without expect or never; add one, or remove it")
	}
	return out
}

// HasTeam reports whether the team runs in the case.
func (c *Case) HasTeam() bool { return len(c.Expect)+len(c.Never) > 0 }

// workspaceFiles reads the files of the workspace.
func (c *caseSpec) workspaceFiles(d *yaml.Decoder) (files []WorkspaceFile) {
	if c.files == nil {
		return nil
	}
	for _, p := range d.Unique(c.files) {
		switch path := filepath.FromSlash(p.Key.Text); {
		case !filepath.IsLocal(path) || strings.ContainsRune(path, 0):
			d.Fail(p.Key.At, "%s is not a path below the workspace; write one such as src/a.txt", yaml.Quote(p.Key.Text))
		case p.Value.Kind == yaml.NullKind:
			files = append(files, WorkspaceFile{path, ""})
		case !yaml.IsScalar(p.Value):
			d.Fail(p.Value.At, "the file %s must be a text, not %s", yaml.Quote(p.Key.Text), p.Value.Describe())
		default:
			files = append(files, WorkspaceFile{path, p.Value.Text})
		}
	}
	return files
}

// played reads what the members do.
func (c *caseSpec) played(d *yaml.Decoder) (list []Played) {
	if c.members == nil {
		return nil
	}
	for _, p := range d.Unique(c.members) {
		switch {
		case yaml.NameFault(p.Key.Text) != "":
			d.Fail(p.Key.At, "%s cannot be a member: %s", yaml.Quote(p.Key.Text), yaml.NameFault(p.Key.Text))
		case p.Value.Kind != yaml.TextKind || strings.TrimSpace(p.Value.Text) == "":
			d.Fail(p.Value.At, "what %s does must be the path of a script, or of a recording, not %s", p.Key.Text, p.Value.Describe())
		default:
			list = append(list, Played{Member: p.Key.Text, Script: p.Value.Text, name: p.Key, at: p.Value})
		}
	}
	return list
}

// callSpec is a row of a table as the file has it.
type callSpec struct {
	at     *yaml.Node
	tool   yaml.Value[string]
	input  *yaml.Node
	member yaml.Value[string]
	expect yaml.Value[Decision]
	reason yaml.Value[string]
}

// part decodes a row.
func (c *callSpec) part() yaml.Part {
	return yaml.Object(&c.at, []yaml.Field{
		{Key: "tool", Need: true, Part: yaml.Text(&c.tool)},
		{Key: "input", Part: raw{&c.input, yaml.MappingKind, "the input of the tool, such as {command: git push}"}},
		{Key: "member", Part: yaml.Ident(&c.member)},
		{Key: "expect", Need: true, Part: yaml.OneOf(&c.expect, Allow, Deny, Ask)},
		{Key: "reason", Part: yaml.Text(&c.reason)},
	})
}

// resolve makes a Call.
func (c *callSpec) resolve(d *yaml.Decoder) Call {
	out := Call{Tool: c.tool.V, Member: c.member.V, Expect: c.expect.V, Input: json.RawMessage("{}"), at: c.at, member: c.member, tool: c.tool}
	out.Reason = pattern(d, c.reason)
	if c.input != nil {
		input, err := texts.Marshal(c.input.Plain())
		if err != nil {
			d.Fail(c.input.At, "the input cannot be written as JSON (%v); write it as text, in quotes", err)
			return out
		}
		out.Input = input
	}
	return out
}

// pattern reads a regular expression; nil: there is none, or it is wrong.
func pattern(d *yaml.Decoder, v yaml.Value[string]) *regexp.Regexp {
	if v.V == "" {
		return nil
	}
	re, err := regexp.Compile(v.V)
	if err != nil {
		d.Fail(v.At.At, "%s is no regular expression (%s); write \\ before characters that mean themselves",
			yaml.Quote(v.V), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re
}

// sightSpec is a Sight as the file has it.
type sightSpec struct {
	at       *yaml.Node
	gate     yaml.Value[string]
	task     *yaml.Node
	status   yaml.Value[string]
	owner    yaml.Value[string]
	call     yaml.Value[string]
	command  yaml.Value[string]
	path     yaml.Value[string]
	decision yaml.Value[Decision]
	member   yaml.Value[string]
	message  yaml.Value[string]
	from     yaml.Value[string]
	text     yaml.Value[string]
	end      yaml.Value[int]
}

// fields returns the keys of a sight.
func (s *sightSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "gate", Part: yaml.OneOf(&s.gate, gateEvents()...)},
		{Key: "task", Part: raw{&s.task, anyKind, "the id of a task"}},
		{Key: "status", Part: yaml.OneOf(&s.status, "pending", "in_progress", "completed", "deleted")},
		{Key: "owner", Part: yaml.Ident(&s.owner)},
		{Key: "call", Part: yaml.Text(&s.call)},
		{Key: "command", Part: yaml.Text(&s.command)},
		{Key: "file_path", Part: yaml.Text(&s.path)},
		{Key: "decision", Part: yaml.OneOf(&s.decision, Pass, Block, Await, Stop, Allow, Deny, Ask)},
		{Key: "member", Part: yaml.Ident(&s.member)},
		{Key: "message", Part: yaml.Ident(&s.message)},
		{Key: "from", Part: yaml.Ident(&s.from)},
		{Key: "text", Part: yaml.Text(&s.text)},
		{Key: "reason", Part: yaml.Text(&s.text)},
		{Key: "end", Part: yaml.WholeFrom(0, 255)(&s.end)},
	}
}

// part decodes a sight.
func (s *sightSpec) part() yaml.Part { return yaml.Object(&s.at, s.fields()) }

// atMerge is the gate of merges, which has no event of its own.
const atMerge = "merge"

// gateEvents are the gates that may be seen.
func gateEvents() []string { return []string{"Stop", "TaskCompleted", "TeammateIdle", atMerge} }

// keysOf returns the keys that a sight of each kind may have besides the one that names it.
func keysOf(kind SightKind) []string {
	return map[SightKind][]string{
		SeesGate:    {"task", "decision", "member", "text"},
		SeesTask:    {"status", "owner"},
		SeesCall:    {"command", "file_path", "decision", "member", "reason"},
		SeesMessage: {"from", "text"},
		SeesEnd:     {"text"},
	}[kind]
}

// resolve makes a Sight. in is the list that it stands in.
func (s *sightSpec) resolve(d *yaml.Decoder, in string) Sight {
	out := Sight{
		Gate: s.gate.V, Status: s.status.V, Owner: s.owner.V, Decision: s.decision.V, Member: s.member.V,
		To: s.message.V, From: s.from.V, End: s.end.V, Text: pattern(d, s.text),
		at: s.at, gate: s.gate, call: s.call, member: []yaml.Value[string]{s.member, s.message, s.owner},
	}
	if s.from.V != "" && s.from.V != "covey" && s.from.V != "operator" {
		out.member = append(out.member, s.from)
	}
	if s.task != nil {
		out.task = yaml.Value[string]{V: s.task.Text, At: s.task}
		if out.Task = s.task.Text; s.task.Kind != yaml.TextKind && s.task.Kind != yaml.WholeKind {
			d.Fail(s.task.At, "task must be the id of a task, such as \"1\", not %s", s.task.Describe())
		}
	}
	if s.at == nil || s.at.Broken {
		return out
	}
	kinds := slices.DeleteFunc([]SightKind{SeesGate, SeesCall, SeesMessage, SeesEnd, SeesTask}, func(k SightKind) bool {
		return s.at.Lookup(string(k)) == nil
	})
	switch {
	case len(kinds) == 0:
		d.Fail(s.at.At, "an entry of %s names what is seen; add gate, task, call, message or end", in)
		return out
	case len(kinds) > 1 && !(kinds[0] == SeesGate && kinds[1] == SeesTask && len(kinds) == 2):
		d.Fail(s.at.At, "an entry of %s names one of %s; make several entries of it", in, joined(kinds))
		return out
	}
	out.Kind = kinds[0]
	s.checkKeys(d, out.Kind)
	switch gates := []Decision{Pass, Block, Await, Stop}; {
	case out.Kind == SeesGate && s.decision.Given() && !slices.Contains(gates, s.decision.V):
		d.Fail(s.decision.At.At, "a gate decides pass, block, await or stop, not %s", s.decision.V)
	case out.Kind == SeesCall && slices.Contains(gates, s.decision.V):
		d.Fail(s.decision.At.At, "a call is decided by allow, deny or ask, not %s", s.decision.V)
	case out.Kind == SeesTask && !s.status.Given() && !s.owner.Given():
		d.Fail(s.at.At, "task %s needs a status or an owner that it has at the end; add one", out.Task)
	case out.Kind == SeesEnd && !slices.Contains([]int{0, 1, 3}, out.End):
		d.Fail(s.end.At.At, "a run ends with 0, 1 or 3, not %d; write one of them", out.End)
	}
	out.Call = s.rule(d)
	return out
}

// joined joins kinds for a message.
func joined(kinds []SightKind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, " and ")
}

// checkKeys reports keys that have no effect in a sight of a kind.
func (s *sightSpec) checkKeys(d *yaml.Decoder, kind SightKind) {
	for _, p := range s.at.Pairs {
		if key := p.Key.Text; key != string(kind) && !slices.Contains(keysOf(kind), key) {
			d.Fail(p.Key.At, "%s has no effect beside %s; the keys there are %s", key, kind, strings.Join(keysOf(kind), ", "))
		}
	}
}

// rule returns the rule that a call has to match.
func (s *sightSpec) rule(d *yaml.Decoder) rules.Rule {
	if s.call.V == "" {
		return rules.Rule{}
	}
	text, specifier := s.call.V, s.command
	if s.path.Given() {
		specifier = s.path
	}
	switch {
	case s.command.Given() && s.path.Given():
		d.Fail(s.path.At.At, "a call has one of command and file_path; remove one of them")
	case specifier.Given() && strings.Contains(text, "("):
		d.Fail(specifier.At.At, "%s has brackets already; remove them, or this", yaml.Quote(text))
	case specifier.V != "":
		text += "(" + strings.NewReplacer("(", `\(`, ")", `\)`).Replace(specifier.V) + ")"
	}
	rule, err := rules.Parse(text)
	if err != nil {
		d.Fail(s.call.At.At, "call must be a tool, or a rule such as Bash(git push*): %v", err)
	}
	return rule
}

// anyKind stands for a value of any kind.
const anyKind yaml.Kind = 255

// raw takes a value as it is.
type raw struct {
	to   **yaml.Node
	kind yaml.Kind
	want string
}

// Want returns what it must be.
func (p raw) Want() string { return p.want }

// Decode keeps the node.
func (p raw) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	if p.kind != anyKind && n.Kind != p.kind {
		d.Wrong(key, n, p.want)
		return
	}
	*p.to = n
}

// Schema describes any mapping.
func (p raw) Schema() *yaml.JSON { return yaml.OpenMapping() }

// given is the agent of members that do nothing.
const given = "covey-test"

// partsOf completes parts of a spec: `covey`, a lead, an agent for all, and the members that cases name. Rules
// at the top are those of all members.
func (f *File) partsOf(workspace string) *yaml.Node {
	root := *f.team
	root.Pairs = slices.Clone(root.Pairs)
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.TextKind, Text: s, At: root.At} }
	set := func(n *yaml.Node, key string, value *yaml.Node) {
		if n.Lookup(key) == nil {
			n.Pairs = append(n.Pairs, yaml.Pair{Key: text(key), Value: value})
		}
	}
	whole := root.Lookup("lead") != nil
	set(&root, "covey", &yaml.Node{Kind: yaml.WholeKind, Whole: configs.Format, Text: "1", At: root.At})
	root.Pairs = slices.DeleteFunc(root.Pairs, func(p yaml.Pair) bool { return p.Key.Text == "workspace" })
	set(&root, "workspace", text(workspace))
	if whole {
		return &root
	}
	sections := map[string]*yaml.Node{}
	for _, key := range []string{"defaults", "teammates"} {
		section := &yaml.Node{Kind: yaml.MappingKind, At: root.At}
		if old := root.Lookup(key); old != nil && old.Kind == yaml.MappingKind {
			*section = *old
			section.Pairs = slices.Clone(old.Pairs)
		} else if old != nil {
			return &root // the spec reports it
		}
		sections[key] = section
		root.Pairs = slices.DeleteFunc(root.Pairs, func(p yaml.Pair) bool { return p.Key.Text == key })
	}
	for _, key := range []string{"permissions", "permission_mode"} {
		if p := root.Entry(key); p.Key != nil && sections["defaults"].Lookup(key) == nil {
			sections["defaults"].Pairs = append(sections["defaults"].Pairs, p)
			root.Pairs = slices.DeleteFunc(root.Pairs, func(p yaml.Pair) bool { return p.Key.Text == key })
		}
	}
	if sections["defaults"].Lookup("model") == nil {
		set(sections["defaults"], "agent", text(given))
	}
	set(&root, "lead", text(given))
	named := map[string]*yaml.Node{}
	for _, n := range f.names {
		if n.Text != "lead" && yaml.NameFault(n.Text) == "" {
			named[n.Text] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		set(sections["teammates"], name, text(given))
	}
	set(&root, "defaults", sections["defaults"])
	if len(sections["teammates"].Pairs) > 0 {
		set(&root, "teammates", sections["teammates"])
	}
	return &root
}

// problem returns a mistake at a place of the file.
func (f *File) problem(at *yaml.Node, format string, args ...any) error {
	return yaml.Errors{f.doc.Problem(at.At, fmt.Sprintf(format, args...))}
}
