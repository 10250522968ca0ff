package tasks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
)

// usualLabel is the key that rows have their label under when nobody says otherwise.
const usualLabel = "label"

// LabelKey is the key of the label: the one that is configured, or else "label" where every row of the files has it.
func LabelKey(configured string, files ...string) string {
	if configured != "" || len(files) == 0 {
		return configured
	}
	for _, file := range files {
		if !labelled(file) {
			return ""
		}
	}
	return usualLabel
}

// labelled reports whether the rows of a file have labels. Rows that cannot be read are refused later.
func labelled(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close() // read only: nothing can be lost
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	rows := 0
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if !bytes.Contains(line, []byte(`"`+usualLabel+`"`)) {
			return false
		}
		var row map[string]json.RawMessage
		if json.Unmarshal(line, &row) != nil || row[usualLabel] == nil {
			return false
		}
		rows++
	}
	return rows > 0 && lines.Err() == nil
}
