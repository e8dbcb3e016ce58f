// An MCP server on standard streams for the console's tests: schemas of every kind, texts that attack whoever shows them, and
// results of every kind of content.
import { createInterface } from 'node:readline';

const HOSTILE = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>"\'></textarea></pre>';
const BIDI = 'user\u202egnp.exe\u202c \u2066hidden\u2069 zero\u200bwidth';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const object = (properties, required = Object.keys(properties), more = {}) => ({ type: 'object', properties, required, ...more });
const string = { type: 'string' };
const integer = { type: 'integer' };

/** Each with arguments that its form must be able to hold. */
export const SCHEMAS = {
  one_of: [object({ shape: { oneOf: [object({ kind: { const: 'circle' }, radius: { type: 'number' } }), object({ kind: { const: 'square' }, side: { type: 'number' } })] } }), { shape: { kind: 'square', side: 2 } }],
  any_of: [object({ value: { anyOf: [string, { type: 'number' }, { type: 'array', items: integer }] } }), { value: [1, 2] }],
  union_on_top: [{ type: 'object', oneOf: [object({ url: string }), object({ path: string, line: integer })] }, { path: 'a', line: 3 }],
  nullable: [object({ a: { type: ['string', 'null'] }, b: { type: 'integer', nullable: true } }), { a: null, b: 4 }],
  recursive: [{ $ref: '#/$defs/node', $defs: { node: object({ name: string, children: { type: 'array', items: { $ref: '#/$defs/node' } } }, ['name']) }, type: 'object' }, { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] }],
  recursive_required: [{ type: 'object', properties: { next: { $ref: '#/$defs/link' } }, required: ['next'], $defs: { link: { anyOf: [{ type: 'null' }, object({ next: { $ref: '#/$defs/link' } })] } } }, { next: { next: null } }],
  map: [object({ labels: { type: 'object', additionalProperties: integer } }), { labels: { a: 1, 'b c': 2 } }],
  free_map: [{ type: 'object', additionalProperties: true }, { anything: [1, { x: null }] }],
  pattern_map: [object({ env: { type: 'object', patternProperties: { '^X': string } } }), { env: { XA: '1' } }],
  tuple: [object({ at: { type: 'array', prefixItems: [string, { type: 'number' }], items: false } }), { at: ['x', 1.5] }],
  tuple_and_more: [object({ at: { type: 'array', prefixItems: [string], items: integer } }), { at: ['x', 1, 2] }],
  list_of_lists: [object({ grid: { type: 'array', items: { type: 'array', items: integer } } }), { grid: [[1, 2], [3]] }],
  list_of_objects: [object({ rows: { type: 'array', items: object({ a: string, b: { type: 'boolean' } }, ['a']) } }), { rows: [{ a: 'x', b: false }, { a: 'y' }] }],
  mixed_enum: [object({ e: { enum: ['a', 1, null, false, { x: 1 }] } }), { e: { x: 1 } }],
  constant: [object({ c: { const: 'fixed' } }), { c: 'fixed' }],
  all_of: [{ type: 'object', allOf: [object({ a: string }), object({ b: integer })] }, { a: 'x', b: 1 }],
  no_type: [object({ a: {}, b: { description: 'anything' } }, ['a']), { a: { deep: [1] }, b: 'text' }],
  nothing: [{ type: 'object' }, {}],
  file: [object({ file: { type: 'string', contentEncoding: 'base64' } }), { file: 'aGk=' }],
  formats: [object({ day: { type: 'string', format: 'date' }, at: { type: 'string', format: 'date-time' }, mail: { type: 'string', format: 'email' }, secret: { type: 'string', format: 'password' } }), { day: '2026-01-02', at: '2026-01-02T03:04:05Z', mail: 'a@b.c', secret: 's' }],
  empty_text: [object({ a: string }), { a: '' }],
  multi_line: [object({ a: string }), { a: 'one\ntwo' }],
  odd_names: [object({ 'a b': string, 'c"d': integer, 'e.f': string, __proto: string }), { 'a b': 'x', 'c"d': 1, 'e.f': 'y', __proto: 'z' }],
  deep: [Array.from({ length: 12 }).reduce((inner) => object({ in: inner }), object({ x: integer })), Array.from({ length: 12 }).reduce((inner) => ({ in: inner }), { x: 1 })],
  wide: [object(Object.fromEntries(Array.from({ length: 120 }, (_, place) => [`p${place}`, string])), []), { p7: 'x', p119: 'y' }],
};

function text(content) {
  return { content: [{ type: 'text', text: content }] };
}

const ACTIONS = {
  echo: (given) => text(JSON.stringify(given)),
  rows: () => ({ content: [], structuredContent: { rows: [{ id: 1, name: HOSTILE }, { id: 2, name: BIDI }] } }),
  media: () => ({ content: [
    { type: 'image', data: PIXEL, mimeType: 'image/png' }, { type: 'image', data: PIXEL, mimeType: 'image/svg+xml' }, { type: 'audio', data: SOUND, mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'https://example.com/x', name: 'a link' }, { type: 'resource_link', uri: 'javascript:window.attacked=1', name: 'an attack' },
    { type: 'text', text: HOSTILE }, { type: 'resource', resource: { uri: 'file:///a', text: BIDI } }] }),
  fail: () => ({ ...text('it went wrong'), isError: true }),
  long: () => text('x'.repeat(1 << 20)),
};

const tools = [
  ...Object.entries(SCHEMAS).map(([name, [inputSchema]]) => ({ name: `schema_${name}`, description: `Gives back its arguments (${name})`, inputSchema, annotations: { readOnlyHint: true } })),
  { name: 'typed', description: 'Takes a number of at least 5', inputSchema: object({ n: { type: 'integer', minimum: 5 }, list: { type: 'array', items: object({ price: { type: 'number', minimum: 0 } }) } }, ['n']), annotations: { readOnlyHint: true } },
  { name: 'hostile', description: `${HOSTILE} ${BIDI}`, inputSchema: object({ [`${HOSTILE}`]: { type: 'string', description: HOSTILE, default: HOSTILE } }, []) },
  { name: 'long_description', description: 'word '.repeat(209_716), inputSchema: object({}) },
  ...['rows', 'media', 'fail', 'long'].map((name) => ({ name, description: `Answers with ${name}`, inputSchema: object({}), annotations: { readOnlyHint: true } })),
  { name: 'steps', description: 'Tells how far it is', inputSchema: object({}), annotations: { readOnlyHint: true } },
  { name: 'wait', description: 'Waits for a minute', inputSchema: object({}), annotations: { readOnlyHint: true } },
  { name: 'ask', description: 'Asks for a colour', inputSchema: object({}), annotations: { readOnlyHint: true } },
  { name: 'drop', description: 'Drops a table', inputSchema: object({ table: string }), annotations: { destructiveHint: true } },
  { name: 'die', description: 'Ends the server', inputSchema: object({}), annotations: { readOnlyHint: true } },
];

const open = new Map();
let asked = 0;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

async function call(name, given, meta) {
  if (name === 'die') { process.stderr.write('the kit was told to die\n'); process.exit(3); }
  if (name === 'steps') {
    for (let done = 1; done <= 3; done += 1) {
      send({ method: 'notifications/progress', params: { progressToken: meta?.progressToken, progress: done, total: 3, message: `step ${done} of 3` } });
      await new Promise((resolve) => { setTimeout(resolve, 60); });
    }
    return text('all steps are done');
  }
  if (name === 'wait') return new Promise((resolve) => { setTimeout(() => resolve(text('waited')), 60_000); });
  if (name === 'ask') {
    const id = `q${asked += 1}`;
    send({ id, method: 'elicitation/create', params: { message: 'Which colour?', requestedSchema: object({ colour: { type: 'string', enum: ['red', 'green'] } }) } });
    const answer = await new Promise((resolve) => { open.set(id, resolve); });
    return text(`the answer is ${JSON.stringify(answer)}`);
  }
  return (ACTIONS[name] ?? ACTIONS.echo)(given);
}

async function answer(message) {
  switch (message.method) {
    case 'initialize':
      return { protocolVersion: message.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'kit', version: '1' } };
    case 'tools/list': return { tools };
    case 'tools/call': return call(message.params.name, message.params.arguments, message.params._meta);
    case 'ping': return {};
    default: return undefined;
  }
}

if (process.argv[2] === 'serve') {
  createInterface(process.stdin).on('line', async (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) { open.get(message.id)?.(message.result); open.delete(message.id); return; }
    const result = await answer(message);
    if (message.id === undefined) return;
    send(result === undefined ? { id: message.id, error: { code: -32601, message: 'unknown method' } } : { id: message.id, result });
  });
}
