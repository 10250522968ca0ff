// Package tokenizer turns text into token ids and back, exactly as the Hugging Face Rust library does.
//
//	does            loads tokenizer.json (BPE), encodes, decodes, streams, trains a byte-level BPE
//	takes           the bytes of tokenizer.json; text; ids
//	gives           Tokenizer: EncodeSpecial, EncodeOrdinary, EncodeParts, Decode, NewStream; Train
//	must not know   files, chat templates, engines, models
//	start reading   tokenizer.go, then encode.go; load.go lists what is understood, everything else is refused by name
package tokenizer
