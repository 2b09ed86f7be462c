package money_test

import (
	"testing"

	"example.com/till/money"
)

func TestString(t *testing.T) {
	for c, want := range map[money.Cents]string{1230: "12.30", 5: "0.05", -5: "-0.05", 0: "0.00"} {
		if got := c.String(); got != want {
			t.Errorf("Cents(%d) shows as %s, want %s", int64(c), got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, tc := range []struct {
		what string
		c    money.Cents
		p    int
		want money.Cents
	}{
		{"even", 2500, 10, 250},
		{"rounded up", 999, 10, 100},
		{"rounded down", 994, 10, 99},
		{"half a cent", 25, 10, 3},
		{"refund", -999, 10, -100},
	} {
		if got := money.Percent(tc.c, tc.p); got != tc.want {
			t.Errorf("%s: %d%% of %s is %s, want %s", tc.what, tc.p, tc.c, got, tc.want)
		}
	}
}
