package cart_test

import (
	"testing"

	"example.com/till/cart"
	"example.com/till/money"
)

func TestTotal(t *testing.T) {
	for _, tc := range []struct {
		what string
		cart cart.Cart
		want money.Cents
	}{
		{"empty", cart.Cart{}, 0},
		{"one piece", cart.Cart{Items: []cart.Item{{Name: "tea", Price: 250, Count: 1}}}, 250},
		{"three pieces", cart.Cart{Items: []cart.Item{{Name: "tea", Price: 250, Count: 3}}}, 750},
		{"nine pieces", cart.Cart{Items: []cart.Item{{Name: "tea", Price: 250, Count: 9}}, Discount: 10}, 2250},
		{"ten pieces", cart.Cart{Items: []cart.Item{{Name: "tea", Price: 250, Count: 10}}, Discount: 10}, 2250},
	} {
		if got := tc.cart.Total(); got != tc.want {
			t.Errorf("%s: the total is %s, want %s", tc.what, got, tc.want)
		}
	}
}
