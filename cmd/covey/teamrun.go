package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/state"
)

// teamRun shows a run of a team while it happens. What it shows it reads from
// the journal, as all views do; the orchestrator only tells that there is more,
// so that a slow terminal or reader holds nobody up and loses nothing.
type teamRun struct {
	env     *cli.Env
	team    *configs.Team
	flags   upFlags
	place   state.Place
	log     *slog.Logger
	logFile *lazyFile
	stopper *stopper
	parent  *parent        // nil unless in the background
	view    *view.LiveView // nil unless on a terminal
	hooks   view.MemberHooks

	first   chan uint64   // gets the first line's number of this run, once
	once    sync.Once     // guards first
	wake    chan struct{} // capacity 1: the journal grew; closed when the run is over
	reading sync.WaitGroup
}

// newTeamRun prepares to show a run. Nothing happens yet: the terminal is taken
// only when the team is known to be able to run, so that an error is printed on
// a screen in order.
func newTeamRun(c *cli.Env, team *configs.Team, f upFlags) *teamRun {
	r := &teamRun{
		env: c, team: team, flags: f, stopper: newStopper(), parent: findParent(),
		first: make(chan uint64, 1), wake: make(chan struct{}, 1), logFile: &lazyFile{},
	}
	r.log = slog.New(slog.NewMultiHandler(
		slog.NewJSONHandler(r.logFile, nil),
		&troubleHandler{tell: r.trouble},
	))
	return r
}

// onLine is told of every line of this run. The orchestrator calls it from the
// goroutine that writes the journal, so it leaves a word and goes; a word that
// is still there says the same.
func (r *teamRun) onLine(l journal.Line) {
	r.once.Do(func() { r.first <- l.Seq })
	select {
	case r.wake <- struct{}{}:
	default: // the reader has not caught up with the last one yet
	}
}

// onUp is told that the team can be reached. It is called once; covey up
// --detach, which waits for it in another process, comes back then.
func (r *teamRun) onUp(state.Place) { r.parent.tell() }

// show begins to show the run: on a terminal as a live view, else as lines. On
// a pipe and in JSON, notices go to stderr: stdout is for what was asked for.
func (r *teamRun) show(place state.Place) {
	r.place = place
	r.logFile.path = place.Log()
	switch {
	case r.flags.json:
		r.stopper.show(func(text string) { r.env.Err.Printf("%s\n", text) }, nil)
		r.read(view.LinePrinter(r.env.Out, true), r.skipEarlier)
	case r.env.Out.TTY():
		// Of a team that runs already there will be nothing but an error.
		if _, up := state.Running(place); !up {
			r.startView()
		}
	default:
		r.stopper.show(func(text string) { r.env.Err.Printf("%s\n", text) }, nil)
		r.read(view.BriefPrinter(r.env.Out), r.skipEarlier)
	}
}

// startView takes the terminal. The board reads the journal from its beginning,
// since that is where the tasks of earlier runs are.
func (r *teamRun) startView() {
	var names []string
	for _, m := range r.team.Members() {
		names = append(names, m.Name)
	}
	r.view = view.NewLiveView(r.env.Out, r.team.Name, names, r.stopper.press)
	r.stopper.show(r.view.Tell, r.view.Force)
	r.view.Start(r.env.In)
	r.read(func(l journal.Line) error {
		r.view.Apply(l)
		return nil
	}, func(uint64) uint64 { return 0 })
}

// skipEarlier reads only what this run adds.
func (r *teamRun) skipEarlier(first uint64) uint64 { return first - 1 }

// read starts to follow the journal of this run, from where from says, given
// the number of the run's first line. hide waits for it. It starts with the
// first line of this run, which is when the journal is there and its numbers
// are known.
func (r *teamRun) read(show func(journal.Line) error, from func(first uint64) uint64) {
	r.reading.Go(func() {
		first, ok := <-r.first
		if !ok {
			return // it failed before it began
		}
		for l, err := range journal.Follow(context.Background(), r.place.Journal(), from(first), r.wake) {
			if err != nil {
				r.log.Error("the journal cannot be read", "err", err)
				continue
			}
			if l.Seq >= first {
				r.hooks.Note(l)
			}
			if err := show(l); err != nil {
				r.stopper.lost(err)
				return
			}
		}
	})
}

// hide shows what is left of a run that is over, and gives the terminal back.
// The reader comes first: what happened last is often why it ended.
func (r *teamRun) hide() {
	r.once.Do(func() { close(r.first) })
	close(r.wake)
	r.reading.Wait()
	if r.view != nil {
		r.view.Stop()
	}
	r.stopper.show(nil, nil)
	if err := r.logFile.close(); err != nil {
		r.env.Err.Printf("covey: %s\n", term.PlainLine(err.Error()))
	}
}

// trouble shows a trouble of covey's own, which the log has in full. It must
// not be lost behind a live view, nor disturb it.
func (r *teamRun) trouble(text string) {
	if r.view != nil {
		r.view.News(text)
		return
	}
	r.env.Err.Printf("covey: %s\n", term.PlainLine(text))
}

// lastWord is what stderr says of a run that did not finish. The report has
// said it already, unless there was none, and but for a full disk, on which little
// of what else is said can be relied on.
func (r *teamRun) lastWord(e orchestrator.Ending) error {
	switch {
	case !r.flags.json:
		return e.Full
	case e.Full != nil:
		return fmt.Errorf("team %s: %s; %w", r.team.Name, e.Reason, e.Full)
	}
	return fmt.Errorf("team %s: %s", r.team.Name, e.Reason)
}
