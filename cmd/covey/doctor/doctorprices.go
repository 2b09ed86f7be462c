package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
)

// prices checks the age of the prices for costs in dollars. A spec with mistakes has
// a finding of its own; then only covey's own prices are checked.
func (x *examination) prices() finding {
	team, err := configs.Load(x.spec)
	if err != nil {
		team = &configs.Team{}
	}
	files, err := budget.LoadPrices(team.Budget.Prices)
	if err != nil {
		return fail("prices", err.Error(), "correct the file that budget.prices names, or leave the key out")
	}
	now := time.Now()
	var texts []string
	old := false
	for _, f := range files {
		texts = append(texts, PriceAge(f, now))
		old = old || f.Old(now)
	}
	text := strings.Join(texts, "; ")
	if old {
		return warn("prices", text, "name a file with current prices in budget.prices, if the team has a budget in dollars")
	}
	return ok("prices", "%s", text)
}

// PriceAge describes whose prices a file has, and from which day.
func PriceAge(f budget.PriceFile, now time.Time) string {
	whose := "covey's prices"
	if f.File != "" {
		whose = "the prices in " + f.File
	}
	return fmt.Sprintf("%s of %d kinds of models are of %s, %d days old", whose, f.Models, f.Date.Format(time.DateOnly),
		max(int(now.Sub(f.Date)/(24*time.Hour)), 0))
}
