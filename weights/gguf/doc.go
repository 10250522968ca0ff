// Package gguf reads GGUF, the file format of llama.cpp, and turns a model in it into a Hugging Face folder.
//
//	does            checks every byte of a header, widens quantized tensors exactly as ggml does, names what it cannot import
//	takes           the path of a .gguf file; a folder to write
//	gives           File for its metadata and tensors; Import for config.json, tokenizer and safetensors
//	must not know   how a model computes, how text becomes ids
//	start reading   import.go for the way from file to folder, file.go for the format
package gguf
