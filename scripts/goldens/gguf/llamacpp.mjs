// Asks llama.cpp: for each GGUF file of the request, the ids of each text and the likeliest next tokens after each prompt.
//
// usage: node llamacpp.mjs REQUEST.json ANSWER.json     request: [{file, texts: [text], prompts: [[id]], top: n}]
import {readFileSync, writeFileSync} from "node:fs";
import {getLlama} from "node-llama-cpp";

const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: "error"});
const answers = [];
for (const {file, texts, prompts, top} of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
    const model = await llama.loadModel({modelPath: file});
    const ids = texts.map((text) => [...model.tokenize(text, true)]);
    const next = [];
    for (const prompt of prompts) {
        const context = await model.createContext({contextSize: 128, batchSize: 128, threads: 1});
        const sequence = context.getSequence();
        const steps = prompt.map((id, i) => (i === prompt.length - 1 ? [id, {generateNext: {probabilities: true}}] : id));
        const evaluated = await sequence.controlledEvaluate(steps);
        const likeliest = [...evaluated.at(-1).next.probabilities.entries()].sort((a, b) => b[1] - a[1]).slice(0, top);
        next.push({ids: likeliest.map(([id]) => id), probabilities: likeliest.map(([, p]) => p)});
        await context.dispose();
    }
    answers.push({ids, next});
    await model.dispose();
}
writeFileSync(process.argv[3], JSON.stringify(answers));
process.exit(0);
