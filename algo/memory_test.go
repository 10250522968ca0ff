package algo

import "testing"

func TestPassRates(t *testing.T) {
	p := PassRates{}
	bounds := FilterConfig{Low: 0, High: 1}
	equal(t, "never seen", p.Judge("a", bounds, 0), Kept)

	p.Observe("a", []float64{1, 1}, .5)
	equal(t, "seen once", p["a"], PassRate{1, 1})
	equal(t, "once is not enough", p.Judge("a", bounds, 2), Kept)
	equal(t, "solved", p.Judge("a", bounds, 1), TooEasy)

	p.Observe("a", []float64{0, 1}, .5)
	equal(t, "half of the old, half of the new", p["a"], PassRate{2, .75})
	equal(t, "worth another look", p.Judge("a", bounds, 2), Kept)

	p.Observe("b", []float64{0}, .9)
	equal(t, "hopeless", p.Judge("b", bounds, 1), TooHard)
	p.Observe("b", nil, .9)
	equal(t, "no graded rollout says nothing", p["b"], PassRate{1, 0})
}
