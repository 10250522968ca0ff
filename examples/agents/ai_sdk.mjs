// An agent made with the Vercel AI SDK. It finds the policy in its environment and prints its answer; a grader judges that.
// The argument is the provider: openai, openai-compatible or anthropic.

import { readFileSync } from 'node:fs'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { calculate, description, parameters } from './calculate.mjs'

const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_MODEL, MOLT_PROMPT_FILE } = process.env
const models = {
  'openai': () => createOpenAI({ baseURL: OPENAI_BASE_URL })(OPENAI_MODEL), // speaks Responses
  'openai-compatible': () => createOpenAICompatible({ name: 'molt', baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY })(OPENAI_MODEL),
  'anthropic': () => createAnthropic({ baseURL: ANTHROPIC_BASE_URL + '/v1', apiKey: ANTHROPIC_API_KEY })(ANTHROPIC_MODEL),
}

const { text } = await generateText({
  model: models[process.argv[2] ?? 'openai-compatible'](),
  system: 'Use the tool, then end with the number.',
  prompt: readFileSync(MOLT_PROMPT_FILE, 'utf8'),
  tools: { calculate: tool({ description, inputSchema: jsonSchema(parameters), execute: async (x) => calculate(x) }) },
  stopWhen: stepCountIs(8),
})
console.log(text)
