// The form that calls a tool: fields beside the JSON, what the tool tells while it runs, its questions, and what came of it.

import { csrf, element, offerCopies, plain, root, send } from './console.js';
import { form, showFaults } from './form.js';

const sheet = document.querySelector('#try-form');
const fields = document.querySelector('#fields');
const area = document.querySelector('#arguments');
const fault = document.querySelector('#json-error');
const result = document.querySelector('#result');
const call = document.querySelector('#call');
const cancel = document.querySelector('#cancel');
const schema = JSON.parse(sheet.dataset.schema);
let shown = null;

function build(value) {
  shown = form(schema, value, write);
  fields.replaceChildren(shown.node);
  if (!Object.keys(schema.properties ?? {}).length && !fields.querySelector('input, select, textarea')) {
    fields.prepend(element('p', { class: 'empty' }, 'It takes no arguments.'));
  }
}

/** The JSON follows the fields. */
function write() {
  area.value = JSON.stringify(shown.get() ?? {}, null, 2);
  fault.hidden = true;
}

/** The fields follow the JSON, as far as it is JSON. */
function read() {
  try {
    build(JSON.parse(area.value || '{}'));
    fault.hidden = true;
  } catch (error) {
    fault.textContent = `This is not JSON: ${error.message}`;
    fault.hidden = false;
  }
}

const given = sheet.dataset.given;
try {
  build(JSON.parse(given || sheet.dataset.example || '{}'));
  fields.hidden = false;
  if (!given) write();
} catch {
  build({});
  fields.hidden = false;
}
area.addEventListener('input', read);

/** Reads server-sent events from an answer. */
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop();
    for (const part of parts) {
      const told = { event: 'message', data: '' };
      for (const line of part.split(/\r?\n/)) {
        if (line.startsWith('event:')) told.event = line.slice(6).trim();
        if (line.startsWith('data:')) told.data += line.slice(5).trim();
      }
      if (told.data) yield { event: told.event, data: JSON.parse(told.data) };
    }
  }
}

const log = element('div');

function tell(words) {
  if (log.childElementCount < 500) log.append(element('p', { class: 'small' }, plain(words)));
}

function progress({ done, total, message }) {
  let bar = result.querySelector('progress');
  if (!bar) {
    bar = element('progress', { 'aria-label': 'Progress of the tool' });
    result.prepend(bar);
  }
  if (total) { bar.max = total; bar.value = done; }
  if (message) tell(message);
}

/** A question of the tool: fields for what it asks for, when that is said. */
function ask({ id, asked }) {
  const params = asked.params ?? asked;
  const wanted = params.requestedSchema;
  const answer = wanted ? form(wanted, {}, () => {}) : null;
  const free = wanted ? null : element('textarea', { rows: '3', 'aria-label': 'Answer (JSON)' }, '{"action": "accept", "content": {}}');
  const box = element('section', { class: 'question' }, element('h3', {}, 'The tool asks'), element('p', {}, plain(params.message ?? JSON.stringify(asked, null, 2))), answer?.node, free);
  const say = async (value) => {
    await send(`console/api/questions/${id}`, { answer: value });
    box.remove();
  };
  const accept = () => say(answer ? { action: 'accept', content: answer.get() ?? {} } : JSON.parse(free.value));
  box.append(element('div', { class: 'actions' },
    element('button', { type: 'button', class: 'primary', onclick: accept }, 'Answer'),
    element('button', { type: 'button', onclick: () => say({ action: 'decline' }) }, 'Decline')));
  result.append(box);
  box.querySelector('input, select, textarea, button').focus();
}

function ended(told) {
  const rest = showFaults(fields, told.parameters ?? []);
  // The server wrote every text in it as text.
  const made = new DOMParser().parseFromString(told.html, 'text/html');
  for (const item of made.querySelectorAll('[data-parameter]')) {
    if (!rest.some((one) => one.parameter === item.dataset.parameter)) item.classList.add('small');
  }
  for (const link of made.querySelectorAll('[data-receipt]')) link.href = `${root}console/calls/${link.dataset.receipt}`;
  result.querySelector('progress')?.remove();
  result.append(...made.body.children);
  offerCopies(result);
}

async function run(event) {
  event.preventDefault();
  try { JSON.parse(area.value || '{}'); } catch { read(); area.focus(); return; }
  const stop = new AbortController();
  cancel.onclick = () => stop.abort();
  call.disabled = true;
  cancel.hidden = false;
  log.replaceChildren();
  result.replaceChildren(log);
  showFaults(fields, []);
  try {
    const answer = await fetch(sheet.dataset.call, {
      method: 'POST', body: area.value || '{}', signal: stop.signal,
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-csrf-token': csrf },
    });
    if (!answer.ok) throw new Error((await answer.json()).message);
    const handlers = { progress, question: ask, ended, log: ({ level, data }) => tell(`${level}: ${typeof data === 'string' ? data : JSON.stringify(data)}`), data: ({ data }) => tell(JSON.stringify(data)) };
    for await (const { event: name, data } of events(answer)) handlers[name]?.(data);
  } catch (error) {
    const words = stop.signal.aborted ? 'Cancelled: nobody waits for the result any more.' : `The call was not answered: ${error.message}`;
    result.append(element('p', { class: 'notice bad', role: 'alert' }, words));
  } finally {
    call.disabled = false;
    cancel.hidden = true;
  }
}

sheet.addEventListener('submit', run);
