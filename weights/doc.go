// Package weights reads and writes models and checkpoints: safetensors, Hugging Face folders, training state.
//
//	does            checks every byte it reads, writes folders that are wholly there or not at all
//	takes           paths; named float32 tensors, a ModelConfig, opaque tokenizer and state bytes
//	gives           Folder, Saved, Manifest, Fingerprint; errors that name the file, the tensor and the fix
//	must not know   how a model computes, what a token is, what the state of a run means
//	start reading   folder.go for models, checkpoint.go for training state, header.go for the file format
package weights
