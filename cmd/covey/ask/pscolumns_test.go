package ask

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestPsTokensAndCost: the columns of tokens and cost are there if a member has some that can be
// shown, and a member without any has a dash there.
func TestPsTokensAndCost(t *testing.T) {
	used := func(tokens int64, usd float64, limits ...events.BudgetUse) api.MemberStatus {
		return api.MemberStatus{Name: "m", Counts: accounts.Counts{Tokens: tokens}, CostUSD: usd, Limits: limits}
	}
	full := func(tokens, window int64) api.MemberStatus {
		return api.MemberStatus{Counts: accounts.Counts{Context: agent.ContextUse{Tokens: tokens, Window: window}}, Name: "m"}
	}
	for name, test := range map[string]struct {
		members []api.MemberStatus
		heads   string // of the columns after REFUSALS
		cells   string // of each member there
	}{
		"nobody has used anything": {[]api.MemberStatus{used(0, 0), used(0, 0)}, "", "|"},
		"tokens without a price": {[]api.MemberStatus{used(1234567, 0), used(0, 0)}, "TOKENS",
			"1234567|-"},
		"a cost of earlier runs": {[]api.MemberStatus{used(0, 1.005), used(0, 12)}, "COST",
			"$1.00|$12.00"},
		"both": {[]api.MemberStatus{used(7, 0), used(9, 0.25)}, "TOKENS COST",
			"7 -|9 $0.25"},
		"a context": {[]api.MemberStatus{full(900, 1000), full(0, 0), full(0, 7)},
			"CONTEXT", "90%|?|0%"},
		"no known context": {[]api.MemberStatus{full(900, 0)}, "", ""},
		"less than a cent": {[]api.MemberStatus{used(7, 0.004), used(0, 0)}, "TOKENS", "7|-"},
		"less than a cent beside more": {[]api.MemberStatus{used(7, 0.004), used(8, 3)}, "TOKENS COST",
			"7 -|8 $3.00"},
	} {
		c, out, _ := program()
		memberTable(test.members, time.Now()).Print(c.Out)
		rows := strings.Split(strings.TrimSpace(out.String()), "\n")
		_, heads, _ := strings.Cut(rows[0], "REFUSALS")
		from := len(rows[0]) - len(heads) // columns are as wide in each row
		var cells []string
		for _, row := range rows[1:] {
			cells = append(cells, strings.Join(strings.Fields(row[min(from, len(row)):]), " "))
		}
		if got := strings.Join(strings.Fields(heads), " "); got != test.heads ||
			strings.Join(cells, "|") != test.cells {
			t.Errorf("%s: columns %q with %q\n%s", name, got, cells, out)
		}
	}
}
