package notices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/tasks"
)

// storeKey is the key of the rules' records in the store.
const storeKey = "notices"

// maxSleep bounds a wait, because timers stop while a machine sleeps.
const maxSleep = time.Minute

// endWithin bounds how long the end of a run waits for its last notices.
const endWithin = 5 * time.Second

// Deps are what Notices depend on. All are required, except Terminal.
type Deps struct {
	Team      func() *configs.Team // the current spec
	Store     *tasks.Store
	Journal   Journal
	Clock     members.Clock
	Log       *slog.Logger
	Processes *process.Processes
	Environ   []string      // of commands
	Page      func() string // the address of the web page, without its token; empty: none is open
	// Terminal shows a notice on the terminal of this process; nil: it has none.
	Terminal func(title, text string)
}

// Journal receives what Notices report. *state.Journal is one.
type Journal interface {
	Tell(data events.Data)
	Last() uint64 // the number of the last line
}

// Notices sends the notices of a team. Create it with New.
type Notices struct {
	Links *Links

	deps       Deps
	postWithin time.Duration // only tests change it
	wake       chan struct{}
	sending    sync.WaitGroup

	mu    sync.Mutex // guards the next two
	heard []Notice   // what has happened and is in no record yet
	ends  []outcome  // deliveries that have ended

	// The goroutine of Run, and then End, owns the rest.
	records map[string]*record // by keyOf; nil until they are read
	busy    map[string]bool    // rules with a notice on its way, by keyOf
	links   map[string]string  // tokens of this run, by rule and request
	checked map[string]bool    // rules of which people were told if they cannot work, by keyOf
	silent  map[string]bool    // rules for a desktop of which people were warned in this run
}

// outcome is how a delivery ended.
type outcome struct {
	rule    configs.Notify
	batch   []Notice
	dropped int
	err     error
}

// New returns the notices of a team. Line may be called at once.
func New(p Deps) *Notices {
	return &Notices{
		deps: p, postWithin: postWithin, Links: NewLinks(p.Store, p.Clock), wake: make(chan struct{}, 1),
		busy: map[string]bool{}, links: map[string]string{},
		checked: map[string]bool{}, silent: map[string]bool{},
	}
}

// See takes an event of this run. It never blocks.
func (n *Notices) See(e events.Event) {
	if !isNews(e) {
		return
	}
	if len(n.deps.Team().Notify) > 0 {
		if what, ok := happened(e); ok {
			n.hear(what)
		}
	}
	members.Signal(n.wake)
}

// hear takes what has happened.
func (n *Notices) hear(what Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heard = append(n.heard, what)
}

// Run sends notices until ctx ends, and returns its error. No delivery goes on after that.
func (n *Notices) Run(ctx context.Context) error {
	for {
		next := n.round(ctx, false)
		var again <-chan time.Time
		if !next.IsZero() {
			wait := next.Round(0).Sub(n.deps.Clock.Now().Round(0))
			again = n.deps.Clock.After(min(max(wait, 0), maxSleep))
		}
		select {
		case <-n.wake:
		case <-again:
		case <-ctx.Done():
			n.sending.Wait()
			return ctx.Err()
		}
	}
}

// End tells that the run ends, and sends what waits, except outside of a rule's hours. Run must
// have returned. What cannot be sent within seconds waits for the next run.
func (n *Notices) End(ctx context.Context, reason string) {
	if len(n.deps.Team().Notify) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	now := n.deps.Clock.Now()
	n.hear(Notice{
		Kind: configs.NotableEnded, Seq: n.deps.Journal.Last() + 1, Since: now,
		Text: oneLine("the team ends: " + reason),
	})
	n.round(ctx, true)
	n.sending.Wait()
	n.takeUp(context.WithoutCancel(ctx))
}

// round starts what is to be sent now. It returns when the next round is due at the latest; zero:
// when something has changed.
func (n *Notices) round(ctx context.Context, last bool) (next time.Time) {
	rules := n.deps.Team().Notify
	if len(rules) == 0 {
		return time.Time{}
	}
	open, err := n.read(ctx)
	if err != nil {
		return n.trouble(ctx, err)
	}
	if err := n.takeUp(ctx); err != nil {
		next = n.trouble(ctx, err)
	}
	n.warn(rules)
	now := n.deps.Clock.Now().Round(0)
	forgot := false
	for _, rule := range rules {
		r := n.record(rule)
		forgot = r.forget(open) || forgot
		if n.busy[keyOf(rule)] {
			continue
		}
		batch, again := r.due(rule, open, now, last)
		if len(batch) > 0 {
			n.send(ctx, rule, batch, r.Dropped)
		}
		next = earlier(next, again)
	}
	if forgot {
		if err := n.save(ctx); err != nil {
			next = n.trouble(ctx, err)
		}
	}
	return next
}

// trouble logs an error of the store, and returns when to try again.
func (n *Notices) trouble(ctx context.Context, err error) time.Time {
	if ctx.Err() == nil {
		n.deps.Log.Error("notices", "err", err)
	}
	return n.deps.Clock.Now().Add(maxSleep)
}

// read reads what is open, and first the records.
func (n *Notices) read(ctx context.Context) ([]Notice, error) {
	if n.records == nil {
		known := map[string]*record{}
		if err := tasks.ReadValue(ctx, n.deps.Store, storeKey, &known); err != nil {
			return nil, fmt.Errorf("read what was sent: %w", err)
		}
		n.records = known
	}
	return openIn(ctx, n.deps.Store)
}

// record returns the record of a rule.
func (n *Notices) record(rule configs.Notify) *record {
	r := n.records[keyOf(rule)]
	if r == nil {
		r = &record{}
		n.records[keyOf(rule)] = r
	}
	return r
}

// save stores the records of the rules that the spec has.
func (n *Notices) save(ctx context.Context) error {
	kept := map[string]*record{}
	for _, rule := range n.deps.Team().Notify {
		kept[keyOf(rule)] = n.record(rule)
	}
	if err := n.deps.Store.Put(ctx, storeKey, texts.Encode(kept)); err != nil {
		return fmt.Errorf("store what was sent: %w", err)
	}
	return nil
}

// takeUp puts what has happened, and how deliveries have ended, into the records.
func (n *Notices) takeUp(ctx context.Context) error {
	n.mu.Lock()
	heard, ends := n.heard, n.ends
	n.heard, n.ends = nil, nil
	n.mu.Unlock()
	if len(heard)+len(ends) == 0 || n.records == nil {
		return nil
	}
	for _, rule := range n.deps.Team().Notify {
		for _, what := range heard {
			if concerns(rule, what) {
				n.record(rule).take(what)
			}
		}
	}
	for _, end := range ends {
		n.ended(end)
	}
	return n.save(ctx)
}

// send delivers what is due for a rule, in a goroutine that Run and End wait for.
func (n *Notices) send(ctx context.Context, rule configs.Notify, batch []Notice, dropped int) {
	n.busy[keyOf(rule)] = true
	notice, err := n.compose(ctx, rule, batch, dropped)
	n.sending.Go(func() {
		if err == nil {
			err = n.deliver(ctx, rule, notice)
		}
		n.mu.Lock()
		n.ends = append(n.ends, outcome{rule, batch, dropped, err})
		n.mu.Unlock()
		members.Signal(n.wake)
	})
}

// compose makes the notice for a rule.
func (n *Notices) compose(
	ctx context.Context, rule configs.Notify, batch []Notice, dropped int,
) (Notice, error) {
	team := n.deps.Team()
	linked := slices.Clone(batch)
	for i := range linked {
		var err error
		if linked[i].Answer, err = n.answer(ctx, rule, linked[i]); err != nil {
			return Notice{}, fmt.Errorf("make the links of %s: %w", linked[i].ID, err)
		}
	}
	out := oneNotice(linked, dropped)
	out.Version, out.Team, out.URL = Version, team.Name, team.Web.PublicURL
	if out.URL == "" {
		out.URL = n.deps.Page()
	}
	return out, nil
}

// answer returns the links that answer an open request, for a webhook. A request has one link
// for each rule and run, however often its notice is tried.
func (n *Notices) answer(ctx context.Context, rule configs.Notify, what Notice) (*Answer, error) {
	public := n.deps.Team().Web.PublicURL
	if rule.Webhook == "" || public == "" || what.ID == "" {
		return nil, nil
	}
	r, err := n.deps.Store.Requests().Get(ctx, what.ID)
	if errors.Is(err, tasks.ErrNotFound) || err == nil && !r.Open() {
		return nil, nil // a held merge has no request
	} else if err != nil {
		return nil, fmt.Errorf("read request %s: %w", what.ID, err)
	}
	key := keyOf(rule) + " " + what.ID
	if n.links[key] == "" {
		if n.links[key], err = n.Links.Make(ctx, r); err != nil {
			return nil, err
		}
	}
	link := public + "/a/" + n.links[key]
	return &Answer{Approve: link + "?say=approve", Deny: link + "?say=deny"}, nil
}

// ended takes up how a delivery has ended.
func (n *Notices) ended(e outcome) {
	delete(n.busy, keyOf(e.rule))
	if errors.Is(e.err, context.Canceled) {
		return // the run ends, which says nothing about the target
	}
	r, now := n.record(e.rule), n.deps.Clock.Now().Round(0)
	told := events.Notified{To: TargetName(e.rule), Count: len(e.batch) + e.dropped, Tries: r.Failures + 1}
	one := oneNotice(e.batch, e.dropped)
	told.Kind, told.Member = string(one.Kind), one.Member
	for _, what := range e.batch {
		if what.ID != "" {
			told.IDs = append(told.IDs, what.ID)
		}
	}
	if e.err != nil {
		var final *finalError
		over := r.failed(now, patience(e.rule))
		if !over && !errors.As(e.err, &final) {
			if r.Failures == 1 {
				n.deps.Log.Info("a notice is tried again", "to", told.To, "err", e.err)
			}
			return
		}
		told.GivenUp = e.err.Error()
		n.complain(e.rule,
			fmt.Sprintf("a notice was given up after %d tries: %s: %v", told.Tries, told.To, e.err))
	}
	r.settle(e.batch, e.dropped, now)
	n.deps.Journal.Tell(told)
}

// warn tells people once of each rule that cannot work.
func (n *Notices) warn(rules []configs.Notify) {
	for _, rule := range rules {
		key := keyOf(rule)
		if n.checked[key] {
			continue
		}
		n.checked[key] = true
		if rule.Desktop && n.deps.Terminal != nil {
			continue
		}
		if err := Check(rule, n.deps.Team().Workspace); err != nil {
			n.complain(rule, fmt.Sprintf("notices cannot reach you (%s): %v", TargetName(rule), err))
		}
	}
}

// complain warns people about a rule. For a desktop it does so once, because each notice would
// fail in the same way.
func (n *Notices) complain(rule configs.Notify, text string) {
	if key := keyOf(rule); rule.Desktop {
		if n.silent[key] {
			return
		}
		n.silent[key] = true
	}
	n.deps.Journal.Tell(events.Warning{Text: text})
}
