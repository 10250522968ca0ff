package shop

import (
	"encoding/json/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	if len(items) != 24 || !slices.IsSorted(items) || len(slices.Compact(slices.Clone(items))) != 24 {
		t.Fatalf("%d items; want 24 different ones in order", len(items))
	}
	if len(trainPairs) != 221 || len(heldOutPairs) != 55 {
		t.Fatalf("%d pairs to train and %d held out; want 221 and 55", len(trainPairs), len(heldOutPairs))
	}
	seen := map[[2]string]bool{}
	inTraining := map[string]bool{}
	for _, p := range slices.Concat(trainPairs, heldOutPairs) {
		if p[0] >= p[1] || seen[p] {
			t.Errorf("pair %v", p)
		}
		seen[p] = true
	}
	for _, p := range trainPairs {
		inTraining[p[0]], inTraining[p[1]] = true, true
	}
	if len(inTraining) != 24 {
		t.Errorf("training knows only %d items", len(inTraining))
	}
	// The rule is fixed: results of different versions compare.
	if want := [][2]string{{"clock", "plate"}, {"boot", "cup"}, {"cup", "pen"}}; !slices.Equal(heldOutPairs[:3], want) {
		t.Errorf("the first held-out pairs are %q; want %q", heldOutPairs[:3], want)
	}
}

func TestTasks(t *testing.T) {
	for split, pairs := range map[Split][][2]string{Train: trainPairs, HeldOut: heldOutPairs} {
		rows := Tasks(split, 7, 5000)
		asked := map[[2]string]int{} // 1: in this order, 2: in the other one
		ids := map[string]bool{}
		for _, r := range rows {
			a, b := r.Label.Buy[0], r.Label.Buy[1]
			switch {
			case slices.Contains(pairs, [2]string{a.Item, b.Item}):
				asked[[2]string{a.Item, b.Item}] |= 1
			case slices.Contains(pairs, [2]string{b.Item, a.Item}):
				asked[[2]string{b.Item, a.Item}] |= 2
			default:
				t.Errorf("%s asks for %s and %s, which are not of its split", r.ID, a.Item, b.Item)
			}
			task := r.Task()
			if list, err := parseLabel(task.Label); err != nil || !cmp.Equal(list, r.Label) {
				t.Errorf("%s: label %s: %v", r.ID, task.Label, err)
			}
			if r.Label.Total != a.Quantity*a.Price+b.Quantity*b.Price || r.Label.Total > 90 || ids[r.ID] {
				t.Errorf("row %+v", r)
			}
			ids[r.ID] = true
		}
		for _, p := range pairs {
			if asked[p] != 3 {
				t.Errorf("%s: %v is asked in only one order, or not at all", split, p)
			}
		}
	}
	if !cmp.Equal(Tasks(Train, 7, 5), Tasks(Train, 7, 9)[:5]) {
		t.Error("the first rows depend on how many there are")
	}
	if cmp.Equal(Tasks(Train, 7, 5), Tasks(Train, 8, 5)) {
		t.Error("two seeds give the same rows")
	}
}

func TestRow(t *testing.T) {
	list := List{Buy: []Entry{{3, "pen", 4}, {1, "cup", 7}}, Total: 19}
	row := Row{ID: "x", Input: list.question(), Label: list}
	got, err := json.Marshal(row)
	want := `{"id":"x","input":"What do 3 pens and 1 cup cost?",` +
		`"label":{"buy":[{"quantity":3,"item":"pen","price":4},{"quantity":1,"item":"cup","price":7}],"total":19}}`
	if string(got) != want || err != nil {
		t.Errorf("row %s, %v; want %s", got, err, want)
	}
	task := row.Task()
	if task.ID != "x" || task.Messages[0].Content != row.Input || !strings.Contains(want, task.Label) {
		t.Errorf("task %+v", task)
	}
}

func TestLabelsFromOutside(t *testing.T) {
	tests := []struct{ label, want string }{
		{``, "EOF"},
		{`26`, "number"},
		{`{"buy":[],"total":0}`, `"buy" is empty`},
		{`{"buy":[{"quantity":3,"item":"pen","price":4}],"total":12,"tax":1}`, "tax"},
		{`{"buy":[{"quantity":3,"item":"pens","price":4}],"total":12}`, `buy[0].item is "pens"; the shop sells bag, ball`},
		{`{"buy":[{"quantity":0,"item":"pen","price":4}],"total":0}`, "buy[0].quantity is 0; want 1 to 5"},
		{`{"buy":[{"quantity":6,"item":"pen","price":4}],"total":24}`, "buy[0].quantity is 6; want 1 to 5"},
		{`{"buy":[{"quantity":1,"item":"pen","price":10}],"total":10}`, "buy[0].price is 10; want 2 to 9"},
		{`{"buy":[{"quantity":1,"item":"pen","price":1}],"total":1}`, "buy[0].price is 1; want 2 to 9"},
		{`{"buy":[{"quantity":1,"item":"pen","price":4},{"quantity":1,"item":"pen","price":5}],"total":9}`, "pen is on the list twice"},
		{`{"buy":[{"quantity":3,"item":"pen","price":4}],"total":13}`, "total is 13; the items cost 12"},
	}
	for _, test := range tests {
		if _, err := parseLabel(test.label); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("label %s: %v; want %q", test.label, err, test.want)
		}
	}
}
