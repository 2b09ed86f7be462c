package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/coveyteam/covey/cmd/covey/ask"
	"github.com/coveyteam/covey/cmd/covey/board"
	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/cmd/covey/web"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	facts "github.com/coveyteam/covey/orchestrator/view"
)

// teamRun displays a run of a team. It reads the journal, as all views do; the
// orchestrator only signals new lines, so that a slow terminal or reader delays
// nothing and loses nothing.
type teamRun struct {
	env      *cli.Env
	team     *configs.Team
	flags    upFlags
	place    state.Place
	log      *slog.Logger
	logFile  *lazyFile
	stopper  *stopper
	parent   *parent     // nil unless in the background
	board    *board.Live // nil unless on a terminal
	seen     facts.State // what the journal says about this run
	page     *web.Page   // nil without --web
	hidePage func()      // ends the page, and waits for it

	first   chan uint64   // receives the number of the run's first line, once
	once    sync.Once     // guards first
	wake    chan struct{} // capacity 1: the journal grew; closed when the run is over
	reading sync.WaitGroup
}

// newTeamRun prepares the display of a run. It does not take the terminal yet, so
// that an error before the start is printed on a normal screen.
func newTeamRun(c *cli.Env, team *configs.Team, f upFlags) *teamRun {
	r := &teamRun{
		env: c, team: team, flags: f, stopper: newStopper(), parent: findParent(),
		first: make(chan uint64, 1), wake: make(chan struct{}, 1), logFile: &lazyFile{},
	}
	r.log = slog.New(slog.NewMultiHandler(
		slog.NewJSONHandler(r.logFile, nil),
		&warningHandler{tell: r.warn},
	))
	return r
}

// run runs the team until it ends, and displays it meanwhile.
//
// The page listens before the display begins, because an address that is taken must be an
// error on a normal screen. hide waits for all goroutines that display something.
func (r *teamRun) run(ctx context.Context, goal string) (orchestrator.Ending, error) {
	f := r.flags
	page := &api.Page{}
	o, err := orchestrator.New(r.team, orchestrator.Options{
		Goal: goal, Fresh: f.fresh, Keep: f.keep, Standby: f.standby, Version: r.env.Version,
		Log: r.log, OnLine: r.onLine, OnUp: r.onUp, OnWait: r.onWait, OwnProcess: true,
		ManagedFolders: r.env.Managed, Setup: f.setup(), Terminal: r.desktop(), Page: page, Unattended: f.job,
		Record: f.record, Replay: f.replay,
	})
	if err != nil {
		return orchestrator.Ending{}, cli.SpecTrouble(r.team.File, err)
	}
	if f.web != "" {
		if r.page, err = web.Listen(r.env, o.Place(), web.Options{Addr: f.web, Team: page}); err != nil {
			return orchestrator.Ending{}, err
		}
	}
	r.show(o.Place())
	r.showPage(ctx)
	defer r.hide()
	if f.initOnly {
		return o.Setup(ctx)
	}
	return o.Run(ctx)
}

// report prints how the run ended. It comes after hide, which restores the terminal, so that it
// stays visible. The error carries the exit code of a run that is not done.
func (r *teamRun) report(e orchestrator.Ending) error {
	if !r.flags.json {
		printReport(r.env.Out, r.team.Name, e, &r.seen)
		if hint := endHint(e, r.flags.job); hint != "" {
			r.env.Out.Printf("\n")
			r.env.Out.Line(term.Faint, hint)
		}
	}
	if e.Code != orchestrator.CodeDone {
		return &cli.EndError{Code: e.Code, Err: r.finalError(e)}
	}
	return nil
}

// onLine is called for every line of this run by the goroutine that writes the
// journal. It must not block, so it only leaves a token; one token is enough.
func (r *teamRun) onLine(l events.Line) {
	r.once.Do(func() { r.first <- l.Seq })
	select {
	case r.wake <- struct{}{}:
	default: // the token is still there
	}
}

// onUp is called once, when the team can be reached. It wakes the parent of covey up
// --detach, which then asks for the address of the page.
func (r *teamRun) onUp(state.Place) {
	if r.board != nil {
		r.board.Up()
	}
	if r.page == nil {
		r.parent.ready(isUp)
		return
	}
	r.reading.Go(func() {
		if err := r.page.Announce(context.Background()); err != nil {
			r.warn("covey web --url will not know the page of this team: " + err.Error())
		}
		r.parent.ready(isUp)
	})
}

// onWait is called when the team cannot be reached yet, because another host runs it.
func (r *teamRun) onWait(why string) {
	r.warn(why)
	r.parent.ready(standsBy)
}

// showPage serves the page of the team, if there is one, until hide. Its address has a token,
// which must not get into the log of a team in the background.
func (r *teamRun) showPage(ctx context.Context) {
	r.hidePage = func() {}
	if r.page == nil {
		return
	}
	if r.parent == nil {
		r.env.Err.Printf("the page of team %s: %s\n", r.team.Name, r.page.URL())
		if r.board != nil {
			r.board.News("the page of this team: " + r.page.URL())
		}
	}
	// The page outlives a Ctrl-C: it shows how the team ends. hide ends it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.page.Serve(ctx); err != nil {
			r.warn(err.Error())
		}
	}()
	r.hidePage = func() {
		cancel()
		<-ended
	}
}

// show starts the display of the run: the board on a terminal, otherwise lines.
// With a pipe or JSON, notices go to stderr: stdout is for the output of the run.
func (r *teamRun) show(place state.Place) {
	r.place = place
	r.logFile.path = place.Log()
	mask := (&cli.Masker{Env: r.env, Place: place}).Mask
	r.env.Out.Mask, r.env.Err.Mask = mask, mask
	switch {
	case r.flags.json:
		r.stopper.show(func(text string) { r.env.Err.Printf("%s\n", text) }, nil)
		r.read(view.LinePrinter(r.env.Out, true))
	case r.env.Out.Draws():
		// If the team runs already, there will be only an error to show.
		if _, up := state.Running(place); !up {
			r.board = ask.BoardOf(r.env, place).Start(r.env.In, r.env.Out, r.stopper.press)
			r.stopper.show(r.board.Tell, r.board.Force)
			r.read(func(events.Line) error { return nil })
		}
	default:
		r.stopper.show(func(text string) { r.env.Err.Printf("%s\n", text) }, nil)
		r.read(view.BriefPrinter(r.env.Out))
	}
}

// read starts to follow the journal from the run's first line on, and keeps what the report at the
// end needs. It waits for that line, because the journal exists only then. hide waits for the reader.
func (r *teamRun) read(show func(events.Line) error) {
	r.reading.Go(func() {
		first, ok := <-r.first
		if !ok {
			return // it failed before it began
		}
		// Not the run's context: the last lines come after it has ended. The loop ends when
		// hide closes wake.
		for l, err := range state.FollowJournal(context.Background(), r.place.Journal(), first-1, r.wake) {
			if err != nil {
				r.log.Error("the journal cannot be read", "err", err)
				continue
			}
			r.seen.Apply(l.Event())
			if err := show(l); err != nil {
				r.stopper.outputLost(err)
				return
			}
		}
	})
}

// hide shows the rest of a run that is over, and restores the terminal. The reader
// finishes first: what happened last is often why the run ended.
func (r *teamRun) hide() {
	// The orchestrator has returned, so onLine is not called any more and both channels can
	// be closed.
	r.once.Do(func() { close(r.first) })
	close(r.wake)
	r.reading.Wait()
	r.hidePage()
	if r.board != nil {
		r.board.End()
	}
	r.stopper.show(nil, nil)
	if err := r.logFile.close(); err != nil {
		r.env.Err.Printf("covey: %s\n", term.PlainLine(err.Error()))
	}
}

// warn shows a warning or error of covey itself, which the log has in full. The
// board must neither hide it nor be disturbed by it.
func (r *teamRun) warn(text string) {
	if r.board != nil {
		r.board.News(text)
		return
	}
	r.env.Err.Printf("covey: %s\n", term.PlainLine(cli.Reword(text)))
}

// desktop returns the function that shows a notice on the desktop of the terminal that the run
// is displayed on; nil: it has none.
func (r *teamRun) desktop() func(title, text string) {
	switch {
	case !r.flags.json && r.env.Out.Draws():
		return func(title, text string) {
			if r.board != nil { // else the team runs already, and this run ends at once
				r.board.Send(view.DesktopNotice(os.Getenv, title, text))
			}
		}
	case r.env.Err.Draws():
		return func(title, text string) {
			_, _ = r.env.Err.File.WriteString(view.DesktopNotice(os.Getenv, title, text))
		}
	}
	return nil
}

// finalError returns what stderr says about a run that did not finish. It is nil if
// the report has said it already, except for a full disk, which makes the rest of the
// report unreliable.
func (r *teamRun) finalError(e orchestrator.Ending) error {
	switch {
	case !r.flags.json:
		return e.Full
	case e.Full != nil:
		return fmt.Errorf("team %s: %s; %w%s", r.team.Name, e.Reason, e.Full, faultMark(e.Fault()))
	}
	return fmt.Errorf("team %s: %s%s", r.team.Name, e.Reason, faultMark(e.Fault()))
}
