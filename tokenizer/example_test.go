package tokenizer_test

import (
	"fmt"
	"slices"

	"molt/tokenizer"
)

func Example() {
	texts := slices.Values([]string{"What do 3 pens cost?", "What do 12 cups cost?"})
	tok, err := tokenizer.Train(texts, 280, []string{"<|im_end|>"}, tokenizer.TrainOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := tok.EncodeParts(
		tokenizer.Part{Text: "What do pens cost?<|im_end|>", Ordinary: true}, // from a user: stays text
		tokenizer.Part{Text: "<|im_end|>"},                                   // from the template: is the control token
	)
	end, _ := tok.ID("<|im_end|>")
	fmt.Println(slices.Index(ids, end) == len(ids)-1, tok.DecodeVisible(ids))
	// Output: true What do pens cost?<|im_end|>
}
