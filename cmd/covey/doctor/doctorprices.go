package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
)

// prices checks how old the prices are by which dollars are counted. A spec with
// mistakes has a finding of its own; then only covey's own prices are looked at.
func (x *examination) prices() finding {
	team, err := configs.Load(x.spec)
	if err != nil {
		team = &configs.Team{}
	}
	files, err := budget.LoadPrices(team.Budget.Prices)
	if err != nil {
		return fail("prices", err.Error(), "mend the file that budget.prices names, or leave the key out")
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
		return warn("prices", text, "name a file with prices of today in budget.prices, if the team has a budget in dollars")
	}
	return ok("prices", "%s", text)
}

// PriceAge tells whose prices a file has, and of which day they are.
func PriceAge(f budget.PriceFile, now time.Time) string {
	whose := "covey's prices"
	if f.File != "" {
		whose = "the prices in " + f.File
	}
	return fmt.Sprintf("%s of %d kinds of models are of %s, %d days old", whose, f.Models, f.Date.Format(time.DateOnly),
		max(int(now.Sub(f.Date)/(24*time.Hour)), 0))
}
