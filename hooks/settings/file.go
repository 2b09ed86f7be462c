// Package settings reads the files that add hooks to a team in addition to its spec: settings
// files of Claude Code and of similar programs, managed settings, plugins, and the heads of
// agent files. It finds mistakes in configured hooks, combines the restrictions of all layers, and translates
// between the hooks of Claude Code and those of other agent programs: names of events and
// tools, what a hook reads, and what it answers. It runs nothing. It makes no promise of
// compatibility to programs outside covey.
//
// A mistake in one entry does not make it refuse a whole file: what cannot be used is left
// out with a Flaw. A file that is broken as a whole, or that forbids something which covey
// cannot translate, must not be used: see Refused. Permission rules that cannot be parsed are
// reported separately, because they were meant to forbid something.
package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// File is what covey reads of a Claude Code settings file or a plugin's hooks/hooks.json.
type File struct {
	Hooks        hooks.Settings
	Permissions  Permissions
	Restrictions Restrictions
	// PluginOptions are the values of plugins' options, by plugin and option.
	PluginOptions map[string]map[string]string
	// Broken means that the file is not one JSON object, so that all of it is ignored.
	Broken bool
}

// Permissions holds the permission rules of a settings file or a member.
type Permissions struct {
	Allow       []string `json:"allow,omitempty" yaml:"allow,omitempty"`
	Ask         []string `json:"ask,omitempty" yaml:"ask,omitempty"`
	Deny        []string `json:"deny,omitempty" yaml:"deny,omitempty"`
	DefaultMode string   `json:"defaultMode,omitempty" yaml:"defaultMode,omitempty"` // empty if not set
	// Unreadable describes entries of Ask and Deny that cannot be parsed at all, so that
	// it is unknown what they were to forbid. A caller must not start with such entries.
	Unreadable []string `json:"-" yaml:"-"`
}

// Flaw is a mistake in a settings file, with its position. The warnings of Parse are of this
// type.
type Flaw struct {
	File string // as given to Parse
	Line int    // in the file; 0 if not known
	Col  int    // in the line, from 1; 0 if not known
	Path string // in the file, such as hooks.Stop[0].hooks[1].timeout; empty for the file itself
	Text string // what is wrong, and what happens because of it
	// Refused means that the file must not be used: it cannot be read, or a hook of another
	// program cannot be translated. What it was to forbid would silently be allowed.
	Refused bool
}

// Refused returns the flaws because of which a file must not be used.
func Refused(warnings []error) []error {
	var refused []error
	for _, w := range warnings {
		if f := (*Flaw)(nil); errors.As(w, &f) && f.Refused {
			refused = append(refused, w)
		}
	}
	return refused
}

// Error returns the position and the text.
func (f *Flaw) Error() string {
	place := f.File
	if f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
	}
	if f.Col > 0 {
		place += ":" + strconv.Itoa(f.Col)
	}
	if f.Path != "" {
		place += ": " + f.Path
	}
	return place + ": " + f.Text
}

// Parse reads a settings file. It never fails: it leaves out what it cannot use, with a
// warning that begins with name and says where and why, and uses the rest. It silently
// skips keys that belong to other programs.
func Parse(name string, data []byte) (File, []error) { return parse(name, data, !IsTOML(name)) }

// parse is Parse for data whose lines are those of the file only if placed is set.
func parse(name string, data []byte, placed bool) (File, []error) {
	r := settingsReader{name: name}
	file := File{Hooks: hooks.Settings{}}
	data = withoutMark(data)
	if IsTOML(name) {
		raw, err := tomlHooks(data)
		if err != nil {
			file.Broken = true
			r.refuse("", "the file cannot be used: %v", err)
			return file, r.warnings
		}
		data = raw
	}
	top, err := texts.Fields(data)
	if err != nil {
		file.Broken = true
		r.warnings = append(r.warnings, notJSON(name, data, err))
		return file, r.warnings
	}
	lines, repeats := linesOf(data)
	if placed {
		r.lines = lines
	}
	r.warnRepeats(repeats)
	for _, f := range top {
		switch f.Name {
		case "hooks":
			r.hooks(file.Hooks, f.Value)
		case "permissions":
			r.permissions(&file.Permissions, f.Value)
		case "pluginConfigs":
			file.PluginOptions = r.pluginConfigs(f.Value)
		default:
			if texts.Kind(f.Value) == "array" && isEvent(f.Name) {
				r.warn(f.Name, `the event does not stand under "hooks", so its hooks do not run: `+
					`write {"hooks": {%q: ...}}`, f.Name)
			}
			r.restriction(&file.Restrictions, f)
		}
	}
	return file, r.warnings
}

// settingsReader collects the warnings of one file.
type settingsReader struct {
	name     string
	program  hooks.Program  // for which the whole file is written; empty if each hook shows it
	strict   bool           // what is read now is not for Claude Code, so it must not be left out
	lines    map[string]int // of the values, by path; nil if they are not known
	warnings []error
}

// warn records what is wrong at a path of the file.
func (r *settingsReader) warn(path, format string, args ...any) {
	r.warnings = append(r.warnings, &Flaw{File: r.name, Line: r.line(path), Path: path, Text: fmt.Sprintf(format, args...)})
}

// refuse records why the file must not be used.
func (r *settingsReader) refuse(path, format string, args ...any) {
	r.warn(path, format, args...)
	r.warnings[len(r.warnings)-1].(*Flaw).Refused = true
}

// leaveOut records why something cannot be used. In a file of Claude Code, which leaves it
// out, too, that is a warning; other programs would run the hook, so what it guards would be
// lost.
func (r *settingsReader) leaveOut(path, what, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if r.strict {
		r.refuse(path, "%s: correct or delete %s", text, what)
	} else {
		r.warn(path, "%s: %s is left out", text, what)
	}
}

// into decodes one value. It reports whether that succeeded.
func (r *settingsReader) into(path string, raw json.RawMessage, target any) bool {
	if texts.Kind(raw) != "null" && json.Unmarshal(raw, target) == nil {
		return true
	}
	r.warn(path, "want %s, got %s", texts.Wanted(target), texts.Preview(string(raw), 40))
	r.warnings[len(r.warnings)-1].(*Flaw).Refused = r.strict
	return false
}

// hooks reads the hooks section.
func (r *settingsReader) hooks(into hooks.Settings, raw json.RawMessage) {
	events, err := texts.Fields(raw)
	if err != nil {
		r.refuse("hooks", "want an object of events, got %s", texts.Preview(string(raw), 40))
		return
	}
	r.program = programOf(r.name, events)
	defer func() { r.strict = false }()
	for _, f := range events {
		path := "hooks." + f.Name
		strict := cmp.Or(r.program, Of(r.name, f.Name, false, nil)) != ""
		r.strict = strict
		names, tools := eventsNamed(r.program, f.Name)
		if len(names) == 0 {
			r.noEvent(path, f.Name)
			continue
		}
		var groups []json.RawMessage
		if !r.into(path, f.Value, &groups) {
			continue
		}
		for n, event := range names {
			before := len(r.warnings)
			for i, raw := range groups {
				r.strict = strict
				if group, ok := r.group(event, f.Name, tools, fmt.Sprintf("%s[%d]", path, i), raw); ok {
					into[event] = append(into[event], group)
				}
			}
			if n > 0 {
				r.warnings = r.warnings[:before] // they are those of the first event
			}
		}
	}
}

// noEvent reports an event that covey does not have.
func (r *settingsReader) noEvent(path, name string) {
	program := cmp.Or(r.program, Of(r.name, name, false, nil))
	if program == hooks.Copilot || isWhole(program) {
		r.refuse(path, "covey has no event for %s of %s: delete its hooks", name, program)
		return
	}
	r.warn(path, "%s; its hooks are left out", hooks.CheckEvent(hooks.Event(name))[0].Text)
}

// group reads one group of an event, whose name in the file is written and implies a matcher
// for tools. ok is false if nothing of it can run.
func (r *settingsReader) group(
	event hooks.Event, written, tools, path string, raw json.RawMessage,
) (group hooks.Group, ok bool) {
	fields, err := texts.Fields(raw)
	if err != nil {
		r.leaveOut(path, "it", "want an object with hooks, got %s", texts.Preview(string(raw), 40))
		return group, false
	}
	bare := bareHandler(fields)
	program := cmp.Or(r.program, Of(r.name, written, bare, fields))
	r.strict = program != ""
	at := func(i int) string { return fmt.Sprintf("%s.hooks[%d]", path, i) }
	var handlers []json.RawMessage
	for _, f := range fields {
		switch {
		case f.Name == "matcher" && !(bare && program == hooks.VSCode): // VS Code ignores it
			if !r.into(path+".matcher", f.Value, &group.Matcher) {
				return group, false // without it the hooks would run on everything
			}
		case f.Name == "hooks" && !bare:
			r.into(path+".hooks", f.Value, &handlers)
		}
	}
	if !bare && texts.Get(fields, "hooks") == nil {
		r.leaveOut(path, "it", "the group has no hooks")
	}
	if bare {
		handlers, at = []json.RawMessage{WithoutMatcher(raw, program)}, func(int) string { return path }
	}
	if tools != "" {
		if strings.Trim(group.Matcher, " *") != "" {
			r.refuse(path+".matcher", "covey cannot apply a matcher of %s: delete it, and let the command decide", written)
		}
		group.Matcher = tools
	}
	m, err := hooks.InfoOf(event).NewMatcher(group.Matcher, nil)
	if err != nil {
		r.leaveOut(path+".matcher", "the group", "%v", err)
		return group, false
	}
	d := hooks.Dialect{Program: program, Words: m.List()}
	switch {
	case isWhole(program):
		d.Event, d.Words = written, strings.FieldsFunc(group.Matcher, func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_'
		})
	case program == "" && hooks.InfoOf(event).AboutTool() && NamesVSCode(m.List()):
		d.Program, r.strict = hooks.VSCode, true
	}
	for i, raw := range handlers {
		if h, ok := r.handler(event, at(i), raw, d); ok {
			group.Hooks = append(group.Hooks, h)
		}
	}
	if _, err := Matcher(&group, hooks.InfoOf(event)); err != nil {
		r.refuse(path+".matcher", "%v", err)
		return group, false
	}
	return group, len(group.Hooks) > 0
}

// handler reads one handler. ok is false if it cannot run as written.
func (r *settingsReader) handler(event hooks.Event, path string, raw json.RawMessage, d hooks.Dialect) (h hooks.Handler, ok bool) {
	fields, err := texts.Fields(raw)
	if err != nil {
		r.leaveOut(path, "it", "want an object with a type, got %s", texts.Preview(string(raw), 40))
		return h, false
	}
	ok = true
	var other forms
	for _, f := range fields {
		target := handlerField(&h, f.Name)
		if target == nil {
			target = other.field(d.Program, f.Name)
		}
		if target == nil {
			r.warn(path+"."+texts.Preview(f.Name, 40), "unknown field, which has no effect")
			continue
		}
		ok = r.into(path+"."+f.Name, f.Value, target) && ok
	}
	if !ok {
		r.leaveOut(path, "the hook", "a field has a value of the wrong type")
		return h, false
	}
	if !other.apply(r, path, &h, d.Program) {
		return h, false
	}
	if err := Translate(&h, d); err != nil {
		r.refuse(path, "%v", err)
		return h, false
	}
	for _, problem := range checkHandler(hooks.InfoOf(event), h, hooks.Problem{Event: event}) {
		if problem.Odd {
			r.warn(path+"."+problem.Field, "%s", problem.Text)
			continue
		}
		r.leaveOut(path+"."+problem.Field, "the hook", "%s", problem.Text)
		ok = false
	}
	return h, ok
}

// handlerField returns the address of a handler's field of that JSON name, or nil.
func handlerField(h *hooks.Handler, name string) any {
	v := reflect.ValueOf(h).Elem()
	for i := range v.NumField() {
		if jsonName(v.Type().Field(i)) == name {
			return v.Field(i).Addr().Interface()
		}
	}
	return nil
}

// Fields returns the names of a hook's fields in files, sorted.
func Fields() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[hooks.Handler]()) {
		if name := jsonName(f); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// jsonName returns the name of a field in JSON; empty if it is never read from a file.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}
