package web

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Times and bounds of the server.
const (
	headerTime = 10 * time.Second // to read the head of a request
	writeTime  = 30 * time.Second // for one answer, or for one event of a stream
	endTime    = 2 * time.Second  // for running requests when the server ends
	maxBody    = 256 << 10        // bytes of a form
	maxStreams = 200              // open streams; a browser has a few
)

//go:embed static
var static embed.FS

//go:embed templates/*.html
var templates embed.FS

// Options configure a page.
type Options struct {
	Addr string    // where it listens; empty: a free port of the loopback interface
	Team *api.Page // of the team that runs in this process; nil: it runs elsewhere, or not at all
}

// Page is the web page of one team, which may run or not. Create it with Listen.
type Page struct {
	env      *cli.Env
	place    state.Place
	listener net.Listener
	guard    *guard
	feed     *termview.Feed
	board    *board
	works    workBook
	reviews  reviewBook
	masker   *cli.Masker
	streams  chan struct{} // one element for each open stream
	tmpl     *template.Template
	desk     *desk
	merging  sync.Mutex     // held while work of a team is merged that does not run
	over     chan struct{}  // closed when Serve ends
	busy     sync.WaitGroup // what Serve waits for
}

// Listen makes the page of a team. It answers once Serve runs.
func Listen(env *cli.Env, place state.Place, o Options) (*Page, error) {
	addr := o.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, cli.Usagef("the page cannot listen at %q: %v; write an address such as 127.0.0.1:8080", addr, err)
	}
	p := &Page{
		env: env, place: place, listener: newPlaces(l), feed: termview.NewFeed(place), streams: make(chan struct{}, maxStreams),
		desk: newDesk(env, place, o.Team), over: make(chan struct{}),
	}
	host, _, _ := net.SplitHostPort(addr) // it was listened to
	p.guard = newGuard(l.Addr(), []string{host}, ports{p.desk.outside, p.desk.public, p.desk.redeem})
	p.guard.succeed(place, l.Addr().String())
	p.masker = &cli.Masker{Env: env, Place: place}
	p.tmpl = p.guard.templates.Funcs(masked(p.masker))
	p.board = newBoard(p.feed, p.tmpl, p.guard.formToken())
	return p, nil
}

// newTemplates returns the templates of a page below a root: those that the report has too, and its own.
func newTemplates(root string) *template.Template {
	own := template.FuncMap{
		"keep":   func() int { return keptLines },
		"masked": func(text string) string { return text },
	}
	return template.Must(pages.Templates(root).Funcs(own).ParseFS(templates, "templates/*.html"))
}

// URL returns the address of the page with its token.
func (p *Page) URL() string {
	host, port, _ := net.SplitHostPort(p.listener.Addr().String())
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/?token=" + p.guard.token
}

// Serve answers requests until ctx ends.
func (p *Page) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{
		Handler: p.guard.wrap(p.routes()), ReadHeaderTimeout: headerTime, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ConnContext: p.guard.connect, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan struct{})
	p.busy.Go(func() { p.feed.Run(ctx) })
	go func() {
		defer close(ended)
		<-ctx.Done()
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer stop()
		if server.Shutdown(late) != nil {
			_ = server.Close() // the rest is cut off
		}
	}()
	err := server.Serve(p.listener)
	cancel()
	<-ended
	close(p.over)
	p.busy.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("the web page: %w", err)
}

// Announce tells the running team the address, for `covey web --url`.
func (p *Page) Announce(ctx context.Context) error {
	_, err := p.desk.ask(ctx, api.WebPage{URL: p.URL()})
	return err
}

// routes returns the pages by their paths.
func (p *Page) routes() http.Handler {
	mux := http.NewServeMux()
	files, err := fs.Sub(static, "static")
	if err != nil { // the folder is part of the program
		panic(err)
	}
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	mux.HandleFunc("GET /static/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, pages.Style()) // the connection may be lost
	})
	mux.HandleFunc("GET /{$}", p.showBoard)
	mux.HandleFunc("GET /events", p.streamBoard)
	mux.HandleFunc("GET /member/{name}", p.showMember)
	mux.HandleFunc("GET /member/{name}/events", p.streamMember)
	mux.HandleFunc("GET /task/{id}", p.showTask)
	mux.HandleFunc("GET /task/{id}/events", p.streamTask)
	mux.HandleFunc("GET /task/{id}/file", p.showFile)
	mux.HandleFunc("GET /request/{id}", p.showRequest)
	mux.HandleFunc("POST /answer", p.act(p.answer))
	mux.HandleFunc("POST /fill", p.fill)
	mux.HandleFunc("POST /send", p.act(p.send))
	mux.HandleFunc("POST /merge", p.act(p.merge))
	mux.HandleFunc("POST /return", p.act(p.sendBack))
	mux.HandleFunc("POST /comment", p.act(p.comment))
	mux.HandleFunc("POST /viewed", p.act(p.view))
	mux.HandleFunc("POST /hold", p.act(p.hold))
	mux.HandleFunc("GET /a/{token}", p.showLink)
	mux.HandleFunc("POST /a/{token}", p.useLink)
	return mux
}

// fail answers with an error: for people as a page, for htmx as a text that the page shows.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	http.Error(w, "covey: "+term.PlainLine(err.Error()), statusOf(err))
}
