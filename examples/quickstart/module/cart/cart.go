// Package cart adds up what a customer buys.
package cart

import "example.com/till/money"

// Item is one line of a cart.
type Item struct {
	Name  string
	Price money.Cents // of one piece
	Count int
}

// Cart is what a customer buys. Discount is in percent of the sum and is
// given from ten pieces on.
type Cart struct {
	Items    []Item
	Discount int
}

// Total is what the customer pays.
func (c Cart) Total() money.Cents {
	var sum money.Cents
	for _, it := range c.Items {
		sum += it.Price
	}
	if len(c.Items) >= 10 {
		sum -= money.Percent(sum, c.Discount)
	}
	return sum
}
