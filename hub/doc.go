// Package hub finds models by name: in a folder, in the local Hugging Face cache, or on the hub, from where it downloads them.
//
//	does            shares the cache and its locks with Python's huggingface_hub; checks length and checksum of every byte
//	takes           a folder, "org/name" or "org/name@revision"; a Config, usually FromEnvironment
//	gives           the folder that holds the model's files; one sentence when it cannot
//	must not know   what is in the files, beyond which ones a model needs
//	start reading   resolve.go
package hub
