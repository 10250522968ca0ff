// The tool that the agents here share: one operation on two numbers.

export const description = 'Applies +, -, * or / to two numbers.'

export const parameters = {
  type: 'object',
  properties: { a: { type: 'number' }, operator: { type: 'string' }, b: { type: 'number' } },
  required: ['a', 'operator', 'b'],
  additionalProperties: false,
}

export function calculate({ a, operator, b }) {
  const results = { '+': a + b, '-': a - b, '*': a * b, '/': a / b }
  return operator in results ? String(results[operator]) : 'error: unknown operator'
}
