package tokenizer

// Pieces returns what BPE sees of text that holds no added token.
func (t *Tokenizer) Pieces(text string) []string {
	text, _ = t.normalized(text, nil)
	out := []string{}
	var next func(p piece, i int)
	next = func(p piece, i int) {
		if p.text == "" {
			return
		}
		if i == len(t.split) {
			if t.model != nil && t.model.raw {
				p.text = toByteLevel(p.text)
			}
			out = append(out, p.text)
			return
		}
		t.split[i](p, func(p piece) { next(p, i+1) })
	}
	next(piece{text, true}, 0)
	return out
}
