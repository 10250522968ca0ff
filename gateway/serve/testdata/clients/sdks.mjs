// The client libraries for JavaScript against the script of clients_test.go. Usage: node sdks.mjs SERVER. Each case is a line
// "library TAB feature TAB ok", or what it got instead of ok.

import OpenAI from 'openai'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, streamText, tool, jsonSchema, stepCountIs, Output } from 'ai'
import { createOpenAI } from '@ai-sdk/openai'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent, run, tool as agentTool, OpenAIResponsesModel, OpenAIChatCompletionsModel, setTracingDisabled } from '@openai/agents'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { ChatAnthropic } from '@langchain/anthropic'

const server = process.argv[2]
const s = await (await fetch(server + '/sessions', { method: 'POST' })).json()
const retries = 1 // one refusal is forgiven: it must be of the kind that libraries repeat

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
const wrong = { ...city, properties: { city: { type: 'sting' } } } // libraries leave out what they know to be too much; this they pass on
const says = (content) => [{ role: 'user', content }]
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=='
const url = 'data:image/png;base64,' + pixel

// Each library asks {prompt, tools, schema, stream, image}: with an image it shows one pixel behind the prompt. It runs the calls it is answered with, and gives back {text, calls, usage}: the
// last text, the city of each call, and the tokens in and out of the last turn.

const openai = new OpenAI({ baseURL: s.openai_base_url, apiKey: s.api_key, maxRetries: retries })

async function chat({ prompt, tools, schema, stream, image }) {
  const calls = []
  const q = { model: 'm', messages: says(image ? [{ type: 'text', text: prompt }, { type: 'image_url', image_url: { url } }] : prompt) }
  if (tools) q.tools = [{ type: 'function', function: { name: 'get_weather', description: 'w', parameters: city, strict: true } }]
  if (schema) q.response_format = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } }
  if (stream) q.stream_options = { include_usage: true }
  for (;;) {
    const r = await (stream ? openai.chat.completions.stream(q).finalChatCompletion() : openai.chat.completions.create(q))
    const m = r.choices[0].message
    if (!m.tool_calls?.length) return { text: m.content, calls, usage: [r.usage.prompt_tokens, r.usage.completion_tokens] }
    q.messages.push(m)
    for (const c of m.tool_calls) {
      calls.push(JSON.parse(c.function.arguments).city)
      q.messages.push({ role: 'tool', tool_call_id: c.id, content: 'sunny' })
    }
  }
}

async function responses({ prompt, tools, schema, stream, image }) {
  const calls = []
  const q = { model: 'm', input: says(image ? [{ type: 'input_text', text: prompt }, { type: 'input_image', image_url: url, detail: 'auto' }] : prompt) }
  if (tools) q.tools = [{ type: 'function', name: 'get_weather', description: 'w', parameters: city, strict: true }]
  if (schema) q.text = { format: { type: 'json_schema', name: 'place', strict: true, schema } }
  for (;;) {
    const r = await (stream ? openai.responses.stream(q).finalResponse() : openai.responses.create(q))
    const made = r.output.filter((x) => x.type === 'function_call')
    if (!made.length) return { text: r.output_text, calls, usage: [r.usage.input_tokens, r.usage.output_tokens] }
    q.input.push(...r.output)
    for (const c of made) {
      calls.push(JSON.parse(c.arguments).city)
      q.input.push({ type: 'function_call_output', call_id: c.call_id, output: 'sunny' })
    }
  }
}

const anthropic = new Anthropic({ baseURL: s.base_url, apiKey: s.api_key, maxRetries: retries })

const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }

async function messages({ prompt, tools, schema, stream, image }) {
  const calls = []
  const q = { model: 'm', max_tokens: 100, messages: says(image ? [{ type: 'text', text: prompt }, block] : prompt) }
  if (tools) q.tools = [{ name: 'get_weather', description: 'w', input_schema: city }]
  if (schema) q.output_config = { format: { type: 'json_schema', schema } }
  for (;;) {
    const r = await (stream ? anthropic.messages.stream(q).finalMessage() : anthropic.messages.create(q))
    const made = r.content.filter((x) => x.type === 'tool_use')
    if (!made.length) return { text: r.content.find((x) => x.type === 'text').text, calls, usage: [r.usage.input_tokens, r.usage.output_tokens] }
    if (r.stop_reason !== 'tool_use') throw Error('it stopped for ' + r.stop_reason)
    calls.push(...made.map((c) => c.input.city))
    q.messages.push({ role: 'assistant', content: r.content }, { role: 'user', content: made.map((c) => ({ type: 'tool_result', tool_use_id: c.id, content: 'sunny' })) })
  }
}

const vercel = (model) => async ({ prompt, tools, schema, stream, image }) => {
  const calls = []
  const shown = image ? says([{ type: 'text', text: prompt }, { type: 'image', image: Buffer.from(pixel, 'base64') }]) : prompt
  const q = { model, prompt: shown, maxRetries: retries, stopWhen: stepCountIs(3) }
  if (tools) q.tools = { get_weather: tool({ description: 'w', inputSchema: jsonSchema(city), execute: async (x) => (calls.push(x.city), 'sunny') }) }
  if (schema) q.output = Output.object({ schema: jsonSchema(schema) })
  if (!stream) {
    const r = await generateText(q)
    return { text: r.text, calls, usage: [r.usage.inputTokens, r.usage.outputTokens] }
  }
  const r = streamText({ ...q, onError: () => {} })
  for await (const part of r.fullStream) if (part.type === 'error') throw part.error
  const usage = await r.usage
  return { text: await r.text, calls, usage: [usage.inputTokens, usage.outputTokens] }
}

setTracingDisabled(true)
const agents = (Model) => async ({ prompt, tools, schema, stream, image }) => {
  const calls = []
  const agent = new Agent({
    name: 'a',
    instructions: 'Be kind.',
    model: new Model(openai, 'm'),
    tools: tools ? [agentTool({ name: 'get_weather', description: 'w', parameters: city, strict: true, execute: async (x) => (calls.push(x.city), 'sunny') })] : [],
    ...(schema && { outputType: { type: 'json_schema', name: 'place', strict: true, schema } }),
  })
  const shown = image ? says([{ type: 'input_text', text: prompt }, { type: 'input_image', image: url }]) : prompt
  const r = await run(agent, shown, { maxTurns: 3, stream })
  if (stream) await r.completed
  const usage = r.rawResponses.at(-1).usage
  return { text: schema ? JSON.stringify(r.finalOutput) : r.finalOutput, calls, usage: [usage.inputTokens, usage.outputTokens] }
}

const langchain = (model) => async ({ prompt, tools, schema, stream, image }) => {
  const calls = []
  if (schema) {
    const r = await model.withStructuredOutput(schema, { name: 'place', method: 'jsonSchema', includeRaw: true }).invoke(prompt)
    return { text: JSON.stringify(r.parsed), calls, usage: [r.raw.usage_metadata.input_tokens, r.raw.usage_metadata.output_tokens] }
  }
  const bound = tools ? model.bindTools([{ type: 'function', function: { name: 'get_weather', description: 'w', parameters: city } }]) : model
  const said = [new HumanMessage(image ? { content: [{ type: 'text', text: prompt }, { type: 'image_url', image_url: { url } }] } : prompt)]
  for (;;) {
    let r
    if (!stream) r = await bound.invoke(said)
    else for await (const piece of await bound.stream(said)) r = r ? r.concat(piece) : piece
    if (!r.tool_calls?.length) return { text: r.text, calls, usage: [r.usage_metadata.input_tokens, r.usage_metadata.output_tokens] }
    said.push(r)
    for (const c of r.tool_calls) {
      calls.push(c.args.city)
      said.push(new ToolMessage({ tool_call_id: c.id, content: 'sunny' }))
    }
  }
}

const plain = { apiKey: s.api_key, model: 'm', maxRetries: retries, configuration: { baseURL: s.openai_base_url } }
const vercelOpenAI = createOpenAI({ baseURL: s.openai_base_url, apiKey: s.api_key })
const libraries = {
  'openai chat': chat,
  'openai responses': responses,
  'anthropic': messages,
  'ai openai chat': vercel(vercelOpenAI.chat('m')),
  'ai openai responses': vercel(vercelOpenAI.responses('m')),
  'ai openai-compatible': vercel(createOpenAICompatible({ name: 'x', baseURL: s.openai_base_url, apiKey: s.api_key, includeUsage: true, supportsStructuredOutputs: true })('m')),
  'ai anthropic': vercel(createAnthropic({ baseURL: s.base_url + '/v1', apiKey: s.api_key })('claude-sonnet-4-5')), // it sends schemas only to names that it knows
  'agents chat': agents(OpenAIChatCompletionsModel),
  'agents responses': agents(OpenAIResponsesModel),
  'langchain chat': langchain(new ChatOpenAI({ ...plain, streamUsage: true })),
  'langchain responses': langchain(new ChatOpenAI({ ...plain, useResponsesApi: true })),
  'langchain anthropic': langchain(new ChatAnthropic({ apiKey: s.api_key, model: 'm', maxRetries: retries, anthropicApiUrl: s.base_url })),
}

// refused runs what must fail with a status and words.
async function refused(f, status, words) {
  let got
  try {
    got = await f()
  } catch (e) {
    for (let x = e; x; x = x.cause ?? x.lastError) if ((x.status ?? x.statusCode) === status && words.test(x.message)) return true
    return String(e.stack || e)
  }
  return got
}

const counted = (r) => r.usage.every((n) => Number.isInteger(n) && n > 0)
const greets = (r) => (r.text === 'Hello there.' && r.calls.length === 0 && counted(r)) || r
const looks = (r, ...cities) => (r.text === 'It is sunny.' && String(r.calls) === String(cities) && counted(r)) || r

const features = {
  'chat': async (ask) => greets(await ask({ prompt: 'hi' })),
  'streaming': async (ask) => greets(await ask({ prompt: 'hi', stream: true })),
  'tools': async (ask) => looks(await ask({ prompt: 'ONE', tools: true }), 'Oslo'),
  'parallel tools': async (ask) => looks(await ask({ prompt: 'PARALLEL', tools: true }), 'Oslo', 'Rome'),
  'streamed tools': async (ask) => looks(await ask({ prompt: 'PARALLEL', tools: true, stream: true }), 'Oslo', 'Rome'),
  'schema': async (ask) => {
    const r = await ask({ prompt: 'SCHEMA', schema: city })
    return (JSON.parse(r.text).city === 'Oslo' && counted(r)) || r
  },
  'bad schema': (ask) => refused(() => ask({ prompt: 'SCHEMA', schema: wrong }), 400, /sting/),
  'overflow': (ask) => refused(() => ask({ prompt: 'long '.repeat(40000) }), 400, /maximum context length|prompt is too long/),
  'image': async (ask) => {
    const r = await ask({ prompt: 'look', image: true })
    return (r.text === 'One pixel.' && counted(r)) || r
  },
  'overload': async (ask) => greets(await ask({ prompt: 'AWAY' })),
}

// What only some libraries have.
const also = {
  'n, logprobs': async () => {
    const r = await openai.chat.completions.create({ model: 'm', messages: says('hi'), n: 2, logprobs: true })
    return (r.choices.length === 2 && r.choices[1].logprobs.content.length > 0) || r
  },
  'completions': async () => {
    const r = await openai.completions.create({ model: 'm', prompt: 'hi', max_tokens: 50 })
    return (r.choices[0].text === 'Hello there.' && r.usage.total_tokens > 0) || r
  },
  'completions, streamed': async () => {
    let text = ''
    for await (const c of await openai.completions.create({ model: 'm', prompt: 'hi', max_tokens: 50, stream: true })) text += c.choices[0]?.text ?? ''
    return text === 'Hello there.' || text
  },
  'models': async () => (await openai.models.list()).data.length === 1 && (await anthropic.models.list()).data.length === 1,
  'previous_response_id': async () => {
    const first = await openai.responses.create({ model: 'm', input: 'hi' })
    const r = await openai.responses.create({ model: 'm', input: 'more', previous_response_id: first.id })
    return r.previous_response_id === first.id || r
  },
  'reasoning': async () => {
    const r = await openai.responses.stream({ model: 'm', input: 'THINK' }).finalResponse()
    return (r.output[0].type === 'reasoning' && r.output[1].content[0].text === 'Forty-two.') || r
  },
  'thinking': async () => {
    const r = await anthropic.messages.stream({ model: 'm', max_tokens: 100, messages: says('THINK') }).finalMessage()
    return (r.content[0].type === 'thinking' && r.content[0].signature.length > 0 && r.content[1].text === 'Forty-two.') || r
  },
  'count_tokens': async () => (await anthropic.messages.countTokens({ model: 'm', messages: says('hi') })).input_tokens > 3,
  'image of a tool, anthropic': async () => {
    const history = [...says('look'), { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }, ...says([{ type: 'tool_result', tool_use_id: 'a', content: [block] }])]
    const r = await anthropic.messages.create({ model: 'm', max_tokens: 100, messages: history })
    return r.content[0].text === 'One pixel.' || r
  },
  'image of a tool, openai': async () => {
    const output = [{ type: 'input_image', image_url: url, detail: 'auto' }]
    const history = [...says('look'), { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }, { type: 'function_call_output', call_id: 'a', output }]
    const r = await openai.responses.create({ model: 'm', input: history })
    return r.output_text === 'One pixel.' || r
  },
  'no image, anthropic': () => {
    const wrong = { ...block, source: { ...block.source, media_type: 'image/jpeg' } }
    return refused(() => anthropic.messages.create({ model: 'm', max_tokens: 9, messages: says([wrong]) }), 400, /image\/png, although/)
  },
  'image elsewhere, anthropic': () => {
    const elsewhere = { type: 'image', source: { type: 'url', url: 'http://169.254.169.254/a.png' } }
    return refused(() => anthropic.messages.create({ model: 'm', max_tokens: 9, messages: says([elsewhere]) }), 400, /not fetched/)
  },
  'image elsewhere, openai': () => {
    const elsewhere = [{ type: 'image_url', image_url: { url: 'http://169.254.169.254/a.png' } }]
    return refused(() => openai.chat.completions.create({ model: 'm', messages: says(elsewhere) }), 400, /not fetched/)
  },
  'a call that must come': async () => {
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters: city } }, { type: 'function', function: { name: 'other', parameters: city } }]
    const named = { type: 'function', function: { name: 'get_weather' } }
    for (const tool_choice of ['required', named, { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } }]) {
      const r = await openai.chat.completions.create({ model: 'm', messages: says('ONE'), tools, tool_choice, parallel_tool_calls: false })
      if (r.choices[0].finish_reason !== 'tool_calls' || r.choices[0].message.tool_calls[0].function.name !== 'get_weather') return r
    }
    const flat = [{ type: 'function', name: 'get_weather', parameters: city, strict: true }]
    for (const tool_choice of ['required', flat[0], { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'get_weather' }] }]) {
      const r = await openai.responses.create({ model: 'm', input: 'ONE', tools: flat, tool_choice })
      if (r.output[0].type !== 'function_call') return r
    }
    for (const tool_choice of [{ type: 'any' }, { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true }]) {
      const r = await anthropic.messages.create({ model: 'm', max_tokens: 100, messages: says('ONE'), tools: [{ name: 'get_weather', input_schema: city }], tool_choice })
      if (r.stop_reason !== 'tool_use') return r
    }
    return true
  },
  'no text in its place': () => refused(() => openai.chat.completions.create({ model: 'm', messages: says('hi'), tools: [{ type: 'function', function: { name: 'get_weather' } }], tool_choice: 'required' }), 400, /does not allow/),
  'a call that is not strict': () => refused(() => openai.chat.completions.create({ model: 'm', messages: says('STRAY'), tools: [{ type: 'function', function: { name: 'get_weather', parameters: city, strict: true } }] }), 400, /does not allow/),
  'top_logprobs': async () => {
    const r = await openai.chat.completions.create({ model: 'm', messages: says('hi'), logprobs: true, top_logprobs: 5 })
    const q = await openai.responses.create({ model: 'm', input: 'hi', include: ['message.output_text.logprobs'], top_logprobs: 5 })
    const c = await openai.completions.create({ model: 'm', prompt: 'hi', max_tokens: 5, logprobs: 5 })
    const top = [r.choices[0].logprobs.content[0], q.output[0].content[0].logprobs[0]].map((t) => t.top_logprobs.length)
    return (String(top) === '5,5' && Object.keys(c.choices[0].logprobs.top_logprobs[0]).length >= 2) || [top, c.choices[0].logprobs]
  },
  'penalties': async () => {
    const r = await openai.chat.completions.create({ model: 'm', messages: says('hi'), frequency_penalty: 1, presence_penalty: -1, logit_bias: { 50: -100 }, seed: 1 })
    return r.choices[0].message.content === 'Hello there.' || r
  },
  'wrong key': () => refused(() => new OpenAI({ baseURL: server + '/v1', apiKey: 'x', maxRetries: 0 }).models.list(), 401, /./),
}

// report runs a case, which returns true or what it got instead.
async function report(library, feature, f) {
  let got
  try {
    got = await f()
  } catch (e) {
    got = String(e.stack || e)
  }
  const says = got === true ? 'ok' : (typeof got === 'string' ? got : JSON.stringify(got) ?? 'nothing').replace(/\s+/g, ' ').slice(0, 600)
  console.log([library, feature, says].join('\t'))
}

for (const [library, ask] of Object.entries(libraries)) {
  for (const [feature, f] of Object.entries(features)) await report(library, feature, () => f(ask))
}
for (const [name, f] of Object.entries(also)) await report('also', name, f)
process.exit(0)
