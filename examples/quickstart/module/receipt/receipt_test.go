package receipt_test

import (
	"strings"
	"testing"

	"example.com/till/cart"
	"example.com/till/receipt"
)

func TestItems(t *testing.T) {
	var out strings.Builder
	c := cart.Cart{Items: []cart.Item{
		{Name: "tea", Price: 250, Count: 2},
		{Name: "shortbread", Price: 399, Count: 1},
	}}
	if err := receipt.Print(&out, c); err != nil {
		t.Fatal(err)
	}
	want := " 2 x tea              5.00\n" +
		" 1 x shortbread       3.99\n"
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("the receipt begins with\n%swant\n%s", got, want)
	}
}
