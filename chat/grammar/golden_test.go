package grammar

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
)

// TestAgreesWithJSONSchema: of texts in the grammar's own spelling, those that the Python package jsonschema accepts.
func TestAgreesWithJSONSchema(t *testing.T) {
	file, err := os.Open("testdata/golden.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Schema  json.RawMessage
		Conform []string
		Not     []string
	}
	if err := json.NewDecoder(unzipped).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	conform, not := 0, 0
	for _, c := range cases {
		g := compile(t, string(c.Schema))
		for _, text := range c.Conform {
			if _, ok := g.Match(text); !ok {
				t.Errorf("%s: refuses %s", c.Schema, text)
			}
		}
		for _, text := range c.Not {
			if _, ok := g.Match(text); ok {
				t.Errorf("%s: accepts %s", c.Schema, text)
			}
		}
		conform, not = conform+len(c.Conform), not+len(c.Not)
	}
	if len(cases) != 400 || conform < 1000 || not < 1000 {
		t.Errorf("%d schemas, %d texts that conform, %d that do not", len(cases), conform, not)
	}
}
