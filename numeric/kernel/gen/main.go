// Gen writes the assembly of package kernel: one description of each kernel, printed for AVX-512 and for AVX2.
package main

import (
	"fmt"
	"os"
)

func main() {
	for name, text := range files() {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// files maps the names of the generated files to their text.
func files() map[string]string {
	return map[string]string{
		"gemm_avx512_amd64.s": gemmText(avx512),
		"gemm_avx2_amd64.s":   gemmText(avx2),

		"pack_amd64.s": packText(),

		"vector_avx512_amd64.s": vectorText(avx512),
		"vector_avx2_amd64.s":   vectorText(avx2),
		"vector_amd64.go":       vectorGo(),
		"vector_other.go":       plainGo(),
	}
}
