package spell

// Nearest returns the known name closest to name, or "" when none is within three edits or a third of its length.
func Nearest(name string, known []string) string {
	best, distance := "", min(3, max(1, len(name)/3))+1
	for _, k := range known {
		if apart := len(name) - len(k); max(apart, -apart) >= distance {
			continue
		}
		if d := Distance(name, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// DidYouMean ends a sentence about a name that is not known: with a question, or with nothing where no known one is near.
func DidYouMean(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Distance counts the bytes to insert, delete, replace or swap with a neighbour on the way from a to b (Levenshtein 1966,
// Damerau 1964).
func Distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, last, row := rows[(i-1)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
