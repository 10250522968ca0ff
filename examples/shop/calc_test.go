package shop

import (
	"math/big"
	"strings"
	"testing"
)

func TestCalc(t *testing.T) {
	tests := []struct {
		expression string
		want       int64
		err        error
	}{
		{"3*4+2*7", 26, nil},
		{"3+4+2*7", 21, nil},
		{"3+4*2+7", 18, nil},
		{"3*4*2*7", 168, nil},
		{"5", 5, nil},
		{"007", 7, nil},
		{"1-2-3", -4, nil},
		{"1-2*3+4", -1, nil},
		{"999999999", 999999999, nil},
		{"0-999999999", -999999999, nil},
		{"", 0, errSyntax},
		{"3*", 0, errSyntax},
		{"*3", 0, errSyntax},
		{"-3", 0, errSyntax},
		{"3--2", 0, errSyntax},
		{"2**3", 0, errSyntax},
		{"3 * 4", 0, errSyntax},
		{"(3)", 0, errSyntax},
		{"3/1", 0, errSyntax},
		{"1e3", 0, errSyntax},
		{"٣", 0, errSyntax},
		{"1000000000", 0, errLarge},
		{"99999*99999", 0, errLarge},
		{"999999999+1", 0, errLarge},
		{"0-999999999-1", 0, errLarge},
		{"999999999999999999999999", 0, errLarge},
		{"1+1+1+1+1+1+1+1+1+1+1+11", 22, nil},
		{"1+1+1+1+1+1+1+1+1+1+1+111", 0, errLong},
	}
	for _, test := range tests {
		if got, err := calc(test.expression); got != test.want || err != test.err {
			t.Errorf("calc(%q) = %d, %v; want %d, %v", test.expression, got, err, test.want, test.err)
		}
	}
}

// FuzzCalc compares with the same arithmetic on numbers without bound.
func FuzzCalc(f *testing.F) {
	for _, s := range []string{"3*4+2*7", "1-2-3", "99999*99999", "3--2", "", "007", "9*9*9*9*9*9*9*9*9*9*9*9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := calc(s)
		want, ok := bigCalc(s)
		switch {
		case err == nil && (!ok || want.Cmp(big.NewInt(got)) != 0):
			t.Errorf("calc(%q) = %d; want %v", s, got, want)
		case err == errSyntax && ok:
			t.Errorf("calc(%q) finds no sense in it; it is %v", s, want)
		case err == errLong && len(s) <= 24:
			t.Errorf("calc(%q) is not too long", s)
		}
	})
}

func bigCalc(s string) (*big.Int, bool) {
	sum := new(big.Int)
	for _, term := range strings.Split(strings.ReplaceAll(s, "-", "+-"), "+") {
		negative := strings.HasPrefix(term, "-")
		product := big.NewInt(1)
		for _, factor := range strings.Split(strings.TrimPrefix(term, "-"), "*") {
			if factor == "" || strings.Trim(factor, "0123456789") != "" {
				return nil, false
			}
			n, _ := new(big.Int).SetString(factor, 10)
			product.Mul(product, n)
		}
		if negative {
			product.Neg(product)
		}
		sum.Add(sum, product)
	}
	return sum, true
}
