// Package money counts in cents.
package money

import "fmt"

// Cents is an amount of money. A refund is negative.
type Cents int64

// String writes the amount as a till shows it: 12.30, or -0.05.
func (c Cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

// Percent returns p percent of c, rounded to the nearest cent; half a cent is
// rounded away from zero.
func Percent(c Cents, p int) Cents {
	return c * Cents(p) / 100
}
