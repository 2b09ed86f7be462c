package web

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// desk answers what a page has to know of its team to decide who may open it.
type desk struct {
	env    *cli.Env
	place  state.Place
	team   *api.Page // in memory: what the team of this process, or this page alone, knows of the page
	within bool      // the team runs in this process

	mu   sync.Mutex
	url  *url.URL  // of public, as it was read last; nil: not yet
	read time.Time // when
}

// newDesk returns the desk of a page of the team in a place. team is that of this process, or nil.
func newDesk(env *cli.Env, place state.Place, team *api.Page) *desk {
	if team == nil {
		return &desk{env: env, place: place, team: &api.Page{}}
	}
	return &desk{env: env, place: place, team: team, within: true}
}

// outside returns nil if the operator has made a connection. It finds the team's process by what
// members cannot change.
func (d *desk) outside(here, there netip.AddrPort) error {
	team := os.Getpid()
	if !d.within {
		var err error
		if team, err = state.Holder(d.place); err != nil {
			return err
		}
	}
	return process.Outside(here, there, team, func(pid int) bool { return proc.Carries(pid, d.place.Mark()) })
}

// ask tells the team of the place something about the page, or asks it.
func (d *desk) ask(ctx context.Context, r api.WebPage) (api.WebPage, error) {
	if d.within {
		return d.team.Web(ctx, r)
	}
	return askRunning(ctx, d.place, r)
}

// redeem uses up a code, which this page or a running team has made.
func (d *desk) redeem(ctx context.Context, code string) bool {
	if code == "" {
		return false
	}
	used, err := d.team.Web(ctx, api.WebPage{Code: code})
	if err == nil && used.Code == "" && !d.within {
		used, err = d.ask(ctx, api.WebPage{Code: code})
	}
	return err == nil && used.Code != ""
}

// public returns the address that the spec names for the page; its Host is empty if there is none. A
// running team says it, and the spec if there is no team: the links of its notices go on to lead here.
func (d *desk) public(ctx context.Context) *url.URL {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.url != nil && time.Since(d.read) < termview.LookEvery {
		return d.url
	}
	page, err := d.ask(ctx, api.WebPage{})
	if errors.Is(err, api.ErrNotRunning) {
		var team *configs.Team
		if team, err = d.env.TeamOf(d.place); err == nil {
			page.Public = team.Web.PublicURL
		}
	}
	if address, bad := url.Parse(page.Public); err == nil && bad == nil {
		d.url = address
	}
	if d.url == nil {
		d.url = &url.URL{}
	}
	d.read = time.Now()
	return d.url
}
