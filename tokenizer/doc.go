// Package tokenizer turns text into token ids and back, exactly as the Hugging Face Rust library does.
//
//	does            loads tokenizer.json (BPE) or vocab.json and merges.txt, encodes, decodes, streams, trains a byte-level BPE
//	takes           the bytes of those files; text; ids
//	gives           Tokenizer: EncodeSpecial, EncodeOrdinary, EncodeParts, Decode, NewStream, NewGuard; Train
//	must not know   files, chat templates, engines, models
//	start reading   tokenizer.go, then encode.go, bpe.go; guard.go says what text from outside cannot spell; load.go and its
//	                siblings list what is understood, everything else is refused by name (docs/tokenizers.md)
package tokenizer
