// Fields for any JSON Schema. Each field has its node and gives its value; `undefined` leaves a member out. What a schema does
// not tell, or tells too deep, is a field for JSON, so that every value can be entered.

import { element } from './console.js';
import { Schemas, kindOf, nameOf, same } from './schema.js';

/** How deep members are fields of their own. */
const DEEPEST = 8;
/** How many choices are listed before one types instead. */
const MOST_CHOICES = 2000;
const INPUTS = { date: 'date', email: 'email', password: 'password' };

let ids = 0;

/** The fields of a schema filled with a value. `changed` is called when anybody changes one. */
export function form(document, value, changed) {
  const context = { schemas: new Schemas(document), changed };
  return field(context, document, { path: '', depth: 0, required: true, value, bare: true });
}

/** A field: what is around it, and inside what its kind needs. */
function field(context, schema, at) {
  const whole = context.schemas.whole(schema);
  const inner = control(context, whole, at);
  if (at.bare) return inner;
  const words = [kindWords(context, whole), at.required ? 'required' : ''].filter(Boolean).join(', ');
  const title = [at.name ?? at.path, ' ', element('span', { class: 'kind' }, words)];
  const hint = whole.description ? element('p', { class: 'hint', id: `hint${++ids}` }, cut(whole.description)) : null;
  if (hint && inner.labelled) inner.labelled.setAttribute('aria-describedby', hint.id);
  const head = inner.labelled
    ? element('label', { for: inner.labelled.id }, title)
    : element('div', { class: 'title', id: `title${++ids}` }, title);
  const group = inner.labelled ? {} : { role: 'group', 'aria-labelledby': head.id };
  const node = element('div', { class: 'field', 'data-path': at.path, ...group }, head, hint, inner.node);
  return { ...inner, node };
}

function kindWords(context, whole) {
  if ('const' in whole) return 'constant';
  if (whole.enum) return 'one of';
  if (context.schemas.alternatives(whole).length) return 'a choice';
  const rules = [whole.format, whole.minimum !== undefined ? `≥ ${whole.minimum}` : '', whole.maximum !== undefined ? `≤ ${whole.maximum}` : ''];
  return [kindOf(whole) ?? 'any value', ...rules].filter(Boolean).join(' ');
}

function cut(text) {
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

function control(context, whole, at) {
  if ('const' in whole) return constant(whole, at);
  if (Array.isArray(whole.enum) && whole.enum.length <= MOST_CHOICES) return chosen(context, whole, at);
  const choices = context.schemas.alternatives(whole);
  if (at.depth > DEEPEST) return json(context, whole, at);
  if (choices.length) return alternatives(context, whole, choices, at);
  switch (kindOf(whole)) {
    case 'string': return text(context, whole, at);
    case 'integer': case 'number': return numeric(context, whole, at);
    case 'boolean': return yesNo(context, at);
    case 'null': return { node: element('span', { class: 'small' }, 'null'), get: () => null };
    case 'array': return optional(context, at, () => list(context, whole, at));
    case 'object': return optional(context, at, () => members(context, whole, at));
    default: return json(context, whole, at);
  }
}

/** A member that may be left out and has fields of its own is made when somebody wants it: so one that refers to itself ends. */
function optional(context, at, make) {
  if (at.required && at.depth < 5) return make();
  const node = element('div');
  let inner = null;
  const add = () => {
    inner = make();
    const remove = element('button', { type: 'button', class: 'quiet', onclick: () => { drop(); context.changed(); } }, 'Leave out');
    node.replaceChildren(element('div', { class: 'field-tools' }, remove), inner.node);
  };
  const drop = () => {
    inner = null;
    const button = element('button', { type: 'button', class: 'quiet', onclick: () => { add(); context.changed(); node.querySelector('input, select, textarea')?.focus(); } }, 'Add');
    node.replaceChildren(button);
  };
  if (at.value === undefined) drop(); else add();
  return { node, get: () => inner?.get() };
}

function constant(whole, at) {
  const input = element('input', { id: `field${++ids}`, type: 'checkbox', checked: at.required || same(at.value, whole.const), disabled: at.required });
  const node = element('label', { class: 'check' }, input, ` ${JSON.stringify(whole.const)}`);
  return { node, get: () => (input.checked ? whole.const : undefined) };
}

function chosen(context, whole, at) {
  const none = element('option', { value: '' }, at.required ? 'choose…' : 'leave out');
  const options = whole.enum.map((value, place) => element('option', { value: String(place), selected: same(value, at.value) }, typeof value === 'string' ? value : JSON.stringify(value)));
  const select = element('select', { id: `field${++ids}`, onchange: context.changed }, none, options);
  return { node: select, labelled: select, get: () => (select.value === '' ? undefined : whole.enum[Number(select.value)]) };
}

function alternatives(context, whole, choices, at) {
  const found = at.value === undefined ? -1 : choices.findIndex((choice) => context.schemas.fits(choice, at.value));
  const first = found >= 0 ? found : at.required ? 0 : -1;
  const options = choices.map((choice, place) => element('option', { value: String(place), selected: place === first }, nameOf(context.schemas, choice, place)));
  const none = at.required ? null : element('option', { value: '', selected: first < 0 }, 'leave out');
  const holder = element('div', { class: 'row' });
  let inner = null;
  const show = (value) => {
    const place = select.value;
    inner = place === '' ? null : field(context, choices[Number(place)], { ...at, value, required: true, depth: at.depth + 1, bare: true });
    if (inner?.labelled) inner.labelled.setAttribute('aria-label', `${at.name ?? at.path} value`);
    holder.replaceChildren(...(inner ? [element('div', { class: 'grow' }, inner.node)] : []));
  };
  const select = element('select', { id: `field${++ids}`, onchange: () => { show(undefined); context.changed(); } }, none, options);
  show(at.value);
  return { node: element('div', {}, element('div', { class: 'row' }, select), holder), labelled: select, get: () => inner?.get() };
}

function text(context, whole, at) {
  const isFile = whole.contentEncoding === 'base64' || ['byte', 'binary', 'base64'].includes(whole.format);
  const long = isFile || whole.maxLength > 200 || (typeof at.value === 'string' && (at.value.includes('\n') || at.value.length > 80));
  const attributes = {
    id: `field${++ids}`, oninput: context.changed, spellcheck: 'false', autocomplete: 'off',
    placeholder: placeholder(whole), maxlength: whole.maxLength <= 524288 ? whole.maxLength : undefined,
  };
  const input = long ? element('textarea', { ...attributes, rows: '3' })
    : element('input', { ...attributes, type: INPUTS[whole.format] ?? 'text' });
  input.value = typeof at.value === 'string' ? at.value : '';
  // An empty text is a value once somebody has touched the field of a required member.
  let touched = at.value === '';
  input.addEventListener('input', () => { touched = true; });
  const get = () => (input.value !== '' || (touched && at.required) ? input.value : undefined);
  if (!isFile) return { node: input, labelled: input, get };
  const pick = element('input', { type: 'file', 'aria-label': `File for ${at.name ?? at.path}`, onchange: async () => {
    const [file] = pick.files;
    if (!file) return;
    input.value = await base64(file);
    context.changed();
  } });
  return { node: element('div', {}, pick, input), labelled: input, get };
}

function placeholder(whole) {
  const given = whole.default ?? whole.examples?.[0];
  return given === undefined ? undefined : typeof given === 'string' ? given : JSON.stringify(given);
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function numeric(context, whole, at) {
  const input = element('input', { id: `field${++ids}`, inputmode: 'decimal', autocomplete: 'off', oninput: context.changed, placeholder: placeholder(whole) });
  input.value = at.value === undefined || at.value === null ? '' : String(at.value);
  const get = () => {
    const written = input.value.trim();
    if (written === '') return undefined;
    const value = Number(written);
    // What is no number is sent as it was written: the server says what is wrong with it.
    return Number.isFinite(value) ? value : written;
  };
  return { node: input, labelled: input, get };
}

function yesNo(context, at) {
  const options = [['', at.required ? 'choose…' : 'leave out'], ['true', 'true'], ['false', 'false']];
  const select = element('select', { id: `field${++ids}`, onchange: context.changed },
    options.map(([value, words]) => element('option', { value, selected: String(at.value ?? '') === value }, words)));
  return { node: select, labelled: select, get: () => (select.value === '' ? undefined : select.value === 'true') };
}

function json(context, whole, at) {
  const area = element('textarea', { id: `field${++ids}`, rows: '2', spellcheck: 'false', oninput: context.changed, placeholder: 'JSON, or a text' });
  area.value = at.value === undefined ? '' : JSON.stringify(at.value, null, 2);
  const get = () => {
    if (area.value.trim() === '') return undefined;
    try { return JSON.parse(area.value); } catch { return area.value; }
  };
  return { node: area, labelled: area, get };
}

function list(context, whole, at) {
  const tuple = Array.isArray(whole.prefixItems) ? whole.prefixItems : Array.isArray(whole.items) ? whole.items : [];
  const rest = Array.isArray(whole.items) ? whole.additionalItems : whole.items;
  const rows = element('div');
  let items = [];
  const add = (schema, value, fixed) => {
    const path = `${at.path}[${items.length}]`;
    const item = { schema, fixed };
    const make = (given) => field(context, schema, { path, depth: at.depth + 1, required: true, value: given, name: path });
    item.field = make(value);
    const remove = fixed ? null : element('button', { type: 'button', class: 'quiet', 'aria-label': `Remove ${path}`, onclick: () => {
      fill(items.filter((one) => one !== item).map((one) => one.field.get()));
      context.changed();
    } }, 'Remove');
    items.push(item);
    rows.append(element('div', { class: 'row' }, element('div', { class: 'grow' }, item.field.node), remove));
  };
  const fill = (values) => {
    rows.replaceChildren();
    items = [];
    tuple.forEach((schema, place) => add(schema, values[place], true));
    values.slice(tuple.length).forEach((value) => add(rest ?? {}, value, false));
  };
  const given = Array.isArray(at.value) ? at.value : [];
  fill(given.length ? given : Array.from({ length: Math.min(whole.minItems ?? 0, 20) }));
  const more = rest === false ? null : element('button', { type: 'button', class: 'quiet', onclick: () => { add(rest ?? {}, undefined, false); context.changed(); rows.lastElementChild.querySelector('input, select, textarea')?.focus(); } }, 'Add item');
  return { node: element('fieldset', {}, rows, element('div', { class: 'field-tools' }, more)), get: () => items.map((item) => item.field.get() ?? null) };
}

function members(context, whole, at) {
  const value = typeof at.value === 'object' && at.value !== null && !Array.isArray(at.value) ? at.value : {};
  const required = whole.required ?? [];
  const properties = Object.entries(whole.properties ?? {});
  const path = (name) => (at.path ? `${at.path}.${name}` : name);
  const fields = properties.map(([name, schema]) => [name, field(context, schema, {
    path: path(name), name, depth: at.depth + 1, required: required.includes(name), value: value[name] ?? given(context, schema, required.includes(name)) })]);
  const known = new Set(properties.map(([name]) => name));
  const others = Object.keys(value).filter((name) => !known.has(name));
  const map = others.length || whole.additionalProperties || whole.patternProperties || !properties.length
    ? entries(context, whole, { ...at, path: at.path }, Object.fromEntries(others.map((name) => [name, value[name]]))) : null;
  const parts = [fields.map(([, one]) => one.node), map && whole.additionalProperties !== false ? map.node : null];
  const node = at.bare && at.depth === 0 ? element('div', {}, ...parts) : element('fieldset', {}, ...parts);
  const get = () => {
    const made = {};
    for (const [name, one] of fields) {
      const member = one.get();
      if (member !== undefined) made[name] = member;
    }
    return { ...made, ...(map?.get() ?? {}) };
  };
  return { node, get };
}

/** A required member begins with its default. */
function given(context, schema, required) {
  const whole = context.schemas.whole(schema);
  return required ? whole.default : undefined;
}

/** Members of any name. */
function entries(context, whole, at, value) {
  const patterns = Object.values(whole.patternProperties ?? {});
  const schema = typeof whole.additionalProperties === 'object' ? whole.additionalProperties : patterns[0] ?? {};
  const rows = element('div');
  const list = [];
  const add = (name, given) => {
    const entry = { name: element('input', { value: name, placeholder: 'name', 'aria-label': 'Name of the member', oninput: context.changed, autocomplete: 'off' }) };
    entry.name.value = name;
    entry.field = field(context, schema, { path: `${at.path ? `${at.path}.` : ''}${name || '*'}`, depth: at.depth + 1, required: true, value: given, bare: true });
    if (entry.field.labelled) entry.field.labelled.setAttribute('aria-label', 'Value of the member');
    const row = element('div', { class: 'row' }, element('div', { class: 'name' }, entry.name), element('div', { class: 'grow' }, entry.field.node),
      element('button', { type: 'button', class: 'quiet', 'aria-label': 'Remove the member', onclick: () => { list.splice(list.indexOf(entry), 1); row.remove(); context.changed(); } }, 'Remove'));
    list.push(entry);
    rows.append(row);
  };
  Object.entries(value).forEach(([name, given]) => add(name, given));
  const more = element('button', { type: 'button', class: 'quiet', onclick: () => { add('', undefined); rows.lastElementChild.querySelector('input').focus(); } }, 'Add member');
  const get = () => Object.fromEntries(list.filter((entry) => entry.name.value !== '').map((entry) => [entry.name.value, entry.field.get() ?? null]));
  return { node: element('div', {}, rows, element('div', { class: 'field-tools' }, more)), get };
}

/** Shows faults at their fields; gives those that have none. */
export function showFaults(within, faults) {
  for (const shown of within.querySelectorAll('.fault')) shown.remove();
  for (const wrong of within.querySelectorAll('.wrong')) { wrong.classList.remove('wrong'); wrong.querySelector('[aria-invalid]')?.removeAttribute('aria-invalid'); }
  let first = null;
  const rest = faults.filter(({ parameter, message }) => {
    const place = [...within.querySelectorAll('[data-path]')].find((one) => one.dataset.path === parameter);
    if (!place || parameter === '') return true;
    place.classList.add('wrong');
    const input = place.querySelector('input, select, textarea');
    input?.setAttribute('aria-invalid', 'true');
    place.append(element('p', { class: 'fault', role: 'alert' }, message));
    first ??= input;
    return false;
  });
  first?.focus();
  return rest;
}
