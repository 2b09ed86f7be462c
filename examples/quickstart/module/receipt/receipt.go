// Package receipt prints what a customer takes home.
package receipt

import (
	"fmt"
	"io"

	"example.com/till/cart"
	"example.com/till/money"
)

// Print writes one line for each item of c to w.
func Print(w io.Writer, c cart.Cart) error {
	for _, it := range c.Items {
		if _, err := fmt.Fprintf(w, "%2d x %-12s %8s\n", it.Count, it.Name, it.Price*money.Cents(it.Count)); err != nil {
			return err
		}
	}
	// TODO: end with a rule of dashes and the total.
	return nil
}
