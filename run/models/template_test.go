package models

import "testing"

func TestTemplateOptions(t *testing.T) {
	o, err := templateOptions(nil, "<s>", "</s>")
	if err != nil || o.BOS != "<s>" || o.EOS != "</s>" || !o.Now.Equal(PromptDate) {
		t.Errorf("without tokenizer_config.json: %+v, %v", o, err)
	}
	o, err = templateOptions([]byte(`{"bos_token": null, "eos_token": {"content": "<|im_end|>"}, "pad_token": "<pad>"}`), "<s>", "</s>")
	if err != nil || o.BOS != "" || o.EOS != "<|im_end|>" || len(o.Kwargs) != 1 || o.Kwargs[0].Name != "pad_token" {
		t.Errorf("with it: %+v, %v", o, err)
	}
	if _, err := templateOptions([]byte("{"), "", ""); err == nil {
		t.Error("a broken tokenizer_config.json is taken")
	}
}
