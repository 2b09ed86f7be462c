package configs

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/schema"
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
		Setup: schema.Words(w.worktree.setup), Include: schema.Words(w.worktree.include),
		Base: w.worktree.base.V, MaxDisk: w.worktree.maxDisk.V,
	}
	for _, command := range w.worktree.setup.Items {
		if command.At.Kind == yaml.Text && strings.TrimSpace(command.V) == "" {
			r.Fail(command.At.At, "the command is empty; write one, or remove it")
		}
	}
	r.ref(w.worktree.base, "base")
	r.ref(w.merge.into, "into")
	t.Merge = Merge{
		Into: w.merge.into.V, Via: MergeVia(w.merge.via.Or(string(ViaBranch))),
		Per: MergePer(w.merge.per.Or(string(PerTask))), Given: w.merge.at != nil,
	}
	t.Merge.Gates = (&gateRules{r.Decoder, r.workspace}).mergeGates(s.gates.merge)
	t.Git = Git{Filters: schema.Words(w.git.filters)}
	t.Protect = schema.Words(w.protect)
	t.Budget = r.budget(t, &w.budget)
	t.Schedules = (&taskRules{r.Decoder}).schedules(t, w.schedules)
	t.OnAsk = OnAsk(w.onAsk.Or(string(DenyAsk)))
	t.AskLimit = w.askLimit.Or(defaultAskLimit)
	if w.askLimit.Given() && w.askLimit.V == 0 && w.askLimit.At.Kind != yaml.Mapping && !r.Said(w.askLimit.At.At) {
		r.Fail(w.askLimit.At.At, "ask_limit must be more than 0; write how long a question may wait, such as 10m, "+
			"or on_ask: deny")
	}
	t.CompleteOnPass = w.completeOnPass.V
}

// ref refuses what git could take for an option, or for more than one word.
//
// What git would make of the word only git knows, and the team's start asks it. This is
// about words that would mean something else on git's command line.
func (r *resolver) ref(v schema.Value[string], what string) {
	if v.V != "" && (strings.HasPrefix(v.V, "-") || strings.ContainsAny(v.V, " \t\n~^:?*[\\") && !isCommit(v.V)) {
		r.Fail(v.At.At, "%s cannot be %s; write a branch such as main, or a commit", what, yaml.Quote(v.V))
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
		Tokens: s.tokens.V, USD: s.usd.V, Time: s.time.V,
		OnLimit: OnLimit(s.onLimit.Or(string(WaitForLimit))), Prices: r.path(s.prices, "price file"),
	}
	// A fallback that was refused is in t.Agents too, and no reason for a second message.
	falls := slices.ContainsFunc(slices.Collect(maps.Values(t.Agents)), func(a Agent) bool { return a.Fallback != "" })
	if b.OnLimit == FallBack && !falls {
		r.Warn(s.onLimit.At.At, "no member's agent has a fallback, so on_limit: fallback waits; "+
			"write agents: {NAME: {fallback: OTHER}}")
	}
	return b
}

// fallbacks checks what agents fall back to, and gives presets and given agents
// that stand nowhere else an entry of their own.
//
// It works on r.agents. An agent that could not be resolved has no Kind and was told of
// already.
func (r *resolver) fallbacks(specs []schema.Entry[agentSpec]) {
	for i := range specs {
		to := specs[i].V.fallback
		if to.V == "" {
			continue
		}
		if to.V == specs[i].Name.Text {
			r.Fail(to.At.At, "%s cannot fall back to itself; name another agent", yaml.Quote(to.V))
			continue
		}
		other := r.namedAgent(to)
		if _, known := r.agents[to.V]; !known && other.Kind != "" {
			r.agents[to.V] = other
		}
		if a := r.agents[specs[i].Name.Text]; a.Kind != "" {
			a.Fallback = to.V
			r.agents[a.Name] = a
		}
	}
}

// restart resolves how often a member is started again.
//
// A max of 0 is given on purpose and means never; only a max that is not there at all is
// the default. within is put right after a message, so that no second one follows from it.
func (r *resolver) restart(s *restartSpec) Restart {
	out := Restart{Max: defaultRestarts, Within: s.within.Or(defaultRestartWithin), Given: s.at != nil}
	if s.max.Given() {
		out.Max = int(s.max.V)
	}
	if s.within.Given() && s.within.V == 0 && !r.Said(s.within.At.At) {
		r.Fail(s.within.At.At, "within must be more than 0; write a time such as 1h")
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
	own := []*schema.List[schema.Value[string]]{&s.lead.dependsOn}
	for i := range s.teammates {
		own = append(own, &s.teammates[i].V.dependsOn)
	}
	for _, name := range s.defaults.dependsOn.Items {
		known.check(r.Decoder, name)
	}
	for i, l := range own {
		for _, name := range l.Items {
			known.check(r.Decoder, name)
			if name.V != "" && i < len(names) && name.V == names[i] {
				r.Fail(name.At.At, "%s cannot wait for itself; remove it here", yaml.Quote(name.V))
			}
		}
		if i == 0 || i > len(t.Teammates) {
			continue
		}
		m := &t.Teammates[i-1]
		if !l.Given() {
			m.DependsOn = slices.DeleteFunc(schema.Words(s.defaults.dependsOn), func(n string) bool { return n == m.Name })
		}
	}
	r.memberCycles(t.Members(), own)
}

// memberCycles reports members that wait for each other, each ring once.
//
// The message stands where the first member of the ring has its depends_on, or at the
// top where it comes from the defaults.
func (r *resolver) memberCycles(members []Member, own []*schema.List[schema.Value[string]]) {
	index, names := make(map[string]int, len(members)), make([]string, len(members))
	for i, m := range members {
		index[m.Name], names[i] = i, m.Name
	}
	dependencies := func(name string) []string {
		if i, ok := index[name]; ok {
			return members[i].DependsOn
		}
		return nil
	}
	rings(names, dependencies, func(path []string) {
		i := index[path[0]]
		if len(path) == 1 || i >= len(own) { // of itself it was said where it stands
			return
		}
		at := r.Root.At
		if own[i].At != nil {
			at = own[i].At.At
		}
		r.Fail(at, "these members wait for each other: %s -> %s; remove one depends_on of them",
			strings.Join(path, " -> "), path[0])
	})
}
