package configs

import (
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// What holds where the spec says nothing.
const (
	defaultAskLimit      = 10 * time.Minute
	defaultRestarts      = 3
	defaultRestartWithin = time.Hour
	defaultMaxInProgress = 1 // a member that takes two tasks at once finishes neither (issue T 2)
)

// Person is whoever sits at the inbox, where a member's name could stand; no
// member can have it.
const Person = "person"

// teamwork resolves the keys that are about how members work together; the members
// must be known.
//
// It runs last, as it looks up owners and receivers among the members. A mistake is noted
// and the rest goes on, so that one look at a spec shows all that is wrong with it.
func (r *resolver) teamwork(t *Team, s *teamSpec) {
	w := &s.work
	t.Worktree = Worktree{
		Setup: commandLines(w.worktree.setup), Include: words(w.worktree.include),
		Base: w.worktree.base.v, MaxDisk: w.worktree.maxDisk.v,
	}
	for _, command := range w.worktree.setup.items {
		if command.at.Kind == yaml.Text && strings.TrimSpace(command.v) == "" {
			r.fail(command.at.At, "the command is empty; write one, or remove it")
		}
	}
	r.ref(w.worktree.base, "base")
	r.ref(w.merge.into, "into")
	t.Merge = Merge{
		Into: w.merge.into.v, Via: MergeVia(w.merge.via.or(string(ViaBranch))),
		Per: MergePer(w.merge.per.or(string(PerTask))), Given: w.merge.at != nil,
	}
	t.Merge.Gates = (&gateRules{r.decoder, r.workspace}).mergeGates(s.gates.merge)
	t.Git = Git{Filters: words(w.git.filters)}
	t.Protect = words(w.protect)
	t.Budget = r.budget(t, &w.budget)
	t.Schedules = (&taskRules{r.decoder}).schedules(t, w.schedules)
	t.OnAsk = OnAsk(w.onAsk.or(string(DenyAsk)))
	t.AskLimit = w.askLimit.or(defaultAskLimit)
	if w.askLimit.given() && w.askLimit.v == 0 && w.askLimit.at.Kind != yaml.Mapping && !r.said(w.askLimit.at.At) {
		r.fail(w.askLimit.at.At, "ask_limit must be more than 0; write how long a question may wait, such as 10m, "+
			"or on_ask: deny")
	}
	t.CompleteOnPass = w.completeOnPass.v
}

// commandLines are the texts of a list, repeated ones too; nil if there are none.
func commandLines(l list[value[string]]) []string {
	var out []string
	for _, c := range l.items {
		if c.v != "" {
			out = append(out, c.v)
		}
	}
	return out
}

// ref refuses what git could take for an option, or for more than one word.
//
// What git would make of the word only git knows, and the team's start asks it. This is
// about words that would mean something else on git's command line.
func (r *resolver) ref(v value[string], what string) {
	if v.v != "" && (strings.HasPrefix(v.v, "-") || strings.ContainsAny(v.v, " \t\n~^:?*[\\") && !isCommit(v.v)) {
		r.fail(v.at.At, "%s cannot be %s; write a branch such as main, or a commit", what, yaml.Quote(v.v))
	}
}

// isCommit reports whether a text says a commit by what it is from another, as in
// main~2; git tells whether there is one.
func isCommit(text string) bool {
	return !strings.ContainsAny(text, " \t\n:?*[\\") && !strings.HasPrefix(text, "~") && !strings.HasPrefix(text, "^")
}

// budget resolves the team's budget.
func (r *resolver) budget(t *Team, s *budgetSpec) Budget {
	b := Budget{
		Tokens: s.tokens.v, USD: s.usd.v, Time: s.time.v,
		OnLimit: OnLimit(s.onLimit.or(string(WaitForLimit))), Prices: r.path(s.prices, "price file"),
	}
	falls := slices.ContainsFunc(t.Members(), func(m Member) bool { return m.Agent.Fallback != "" })
	if b.OnLimit == FallBack && !falls && !r.anyFallback(t) {
		r.warn(s.onLimit.at.At, "no member's agent has a fallback, so on_limit: fallback waits; "+
			"write agents: {NAME: {fallback: OTHER}}")
	}
	return b
}

// anyFallback reports whether some agent was to have a fallback: one that was
// refused is no reason for a second message.
func (r *resolver) anyFallback(t *Team) bool {
	for _, a := range t.Agents {
		if a.Fallback != "" {
			return true
		}
	}
	return false
}

// fallbacks checks what agents fall back to, and gives presets and given agents
// that stand nowhere else an entry of their own.
//
// It works on r.agents. An agent that could not be resolved has no Kind and was told of
// already.
func (r *resolver) fallbacks(specs []entry[agentSpec]) {
	for i := range specs {
		to := specs[i].v.fallback
		if to.v == "" {
			continue
		}
		if to.v == specs[i].name.Text {
			r.fail(to.at.At, "%s cannot fall back to itself; name another agent", yaml.Quote(to.v))
			continue
		}
		other := r.namedAgent(to)
		if _, known := r.agents[to.v]; !known && other.Kind != "" {
			r.agents[to.v] = other
		}
		if a := r.agents[specs[i].name.Text]; a.Kind != "" {
			a.Fallback = to.v
			r.agents[a.Name] = a
		}
	}
}

// restart resolves how often a member is started again.
//
// A max of 0 is given on purpose and means never; only a max that is not there at all is
// the default. within is put right after a message, so that no second one follows from it.
func (r *resolver) restart(s *restartSpec) Restart {
	out := Restart{Max: defaultRestarts, Within: s.within.or(defaultRestartWithin), Given: s.at != nil}
	if s.max.given() {
		out.Max = int(s.max.v)
	}
	if s.within.given() && s.within.v == 0 && !r.said(s.within.at.At) {
		r.fail(s.within.at.At, "within must be more than 0; write a time such as 1h")
		out.Within = defaultRestartWithin
	}
	return out
}

// dependencies checks which members wait for which. What defaults say is for
// teammates, and none waits for itself by it.
//
// own has the lead first and then the teammates, as Members does. A member may be missing
// from t where its own part of the spec was refused; hence the bounds are looked at.
func (r *resolver) dependencies(t *Team, s *teamSpec) {
	members := t.Members()
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	known := newDirectory("member", names)
	own := []*list[value[string]]{&s.lead.dependsOn}
	for i := range s.teammates {
		own = append(own, &s.teammates[i].v.dependsOn)
	}
	for _, name := range s.defaults.dependsOn.items {
		known.check(r.decoder, name)
	}
	for i, l := range own {
		for _, name := range l.items {
			known.check(r.decoder, name)
			if name.v != "" && i < len(names) && name.v == names[i] {
				r.fail(name.at.At, "%s cannot wait for itself; remove it here", yaml.Quote(name.v))
			}
		}
		if i == 0 || i > len(t.Teammates) {
			continue
		}
		m := &t.Teammates[i-1]
		if !l.given() {
			m.DependsOn = slices.DeleteFunc(words(s.defaults.dependsOn), func(n string) bool { return n == m.Name })
		}
	}
	r.memberCycles(t.Members(), own)
}

// memberCycles reports members that wait for each other, each ring once.
//
// The message stands where the first member of the ring has its depends_on, or at the
// top where it comes from the defaults.
func (r *resolver) memberCycles(members []Member, own []*list[value[string]]) {
	byName := map[string]int{}
	for i, m := range members {
		byName[m.Name] = i
	}
	walk := ringWalk{next: func(name string) []string { return members[byName[name]].DependsOn }, has: byName}
	for i, m := range members {
		back := walk.from(m.Name)
		if back == nil || i >= len(own) {
			continue
		}
		at := r.Root.At
		if own[i].at != nil {
			at = own[i].at.At
		}
		r.fail(at, "these members wait for each other: %s; remove one depends_on of them", strings.Join(back, " -> "))
	}
}

// ringWalk finds rings in what names lead to, each once.
type ringWalk struct {
	next func(name string) []string
	has  map[string]int // names that there are
	done map[string]bool
}

// from returns the ring that a name leads into, with its first name again at the
// end; nil if there is none that was not found before.
//
// Each name is visited once over all calls, so the whole is linear in names and edges. A
// name that leads to itself is no ring here.
func (w *ringWalk) from(name string) []string {
	if w.done == nil {
		w.done = map[string]bool{}
	}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		if i := slices.Index(path, name); i >= 0 {
			return append(slices.Clone(path[i:]), name)
		}
		if _, ok := w.has[name]; !ok || w.done[name] {
			return nil
		}
		path = append(path, name)
		var found []string
		for _, other := range w.next(name) {
			if other == name {
				continue // which has been said where it stands
			}
			if ring := visit(other); found == nil {
				found = ring
			}
		}
		path = path[:len(path)-1]
		w.done[name] = true
		return found
	}
	return visit(name)
}
