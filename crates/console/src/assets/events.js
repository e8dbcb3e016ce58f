// Numbers and states that change while one looks, by one stream of the server.

import { element, number, root, seconds, state, time, plain } from './console.js';

/** Follows the stream; says when it is cut, and begins anew by itself. */
export function follow(watch, handlers, status = () => {}) {
  const stream = new EventSource(`${root}console/api/events?${watch}`);
  stream.onopen = () => status('live');
  stream.onerror = () => {
    status(stream.readyState === EventSource.CLOSED ? 'ended' : 'connecting');
    // Whoever is signed out or whose key was revoked gets no other answer: the page says so when it is loaded again.
    if (stream.readyState === EventSource.CLOSED) location.reload();
  };
  for (const [event, handle] of Object.entries(handlers)) {
    stream.addEventListener(event, (message) => handle(JSON.parse(message.data)));
  }
  return stream;
}

function totals(told) {
  for (const shown of document.querySelectorAll('[data-total]')) {
    const value = told[shown.dataset.total];
    if (value !== undefined) shown.textContent = number(value);
  }
}

function cells(source) {
  return {
    state: [state(source.state), source.breaker_seconds !== null ? element('span', { class: 'tag warn' }, 'breaker open') : ''],
    heard: [source.heard ? time(source.heard) : 'never'],
    tools: [number(source.tools), source.remembered ? element('span', { class: 'small' }, ' remembered') : ''],
    calls: [number(source.returned + source.failed + source.refused)],
    failed: [source.failed ? element('span', { class: 'bad' }, number(source.failed)) : ''],
    mean: [source.mean_seconds !== null ? seconds(source.mean_seconds) : ''],
    error: [plain(source.error ?? '')],
  };
}

function sources({ sources: list }) {
  const rows = [...document.querySelectorAll('#source-table tr[data-source]')];
  // Another set of sources is another page.
  if (rows.length !== list.length && document.querySelector('#source-table')) location.reload();
  for (const source of list) {
    const row = rows.find((row) => row.dataset.source === source.name);
    if (!row) continue;
    for (const [cell, content] of Object.entries(cells(source))) row.querySelector(`[data-cell=${cell}]`)?.replaceChildren(...content);
  }
}

function tasks({ tasks: list }) {
  const task = document.querySelector('#task');
  if (task) {
    const now = list.find((one) => one.id === task.dataset.task);
    if (!now || now.status !== task.dataset.status || String(now.questions) !== task.dataset.questions) location.reload();
    return;
  }
  const wanted = new URLSearchParams(location.search).get('state');
  const body = document.querySelector('#tasks tbody');
  const shown = list.filter((one) => !wanted || one.status === wanted);
  if (!body) { if (shown.length) location.reload(); return; }
  body.replaceChildren(...shown.map((one) => element('tr', {},
    element('th', { scope: 'row' }, element('a', { class: 'mono', href: `${root}console/tasks/${one.id}` }, one.id.slice(0, 8))),
    element('td', { class: 'mono' }, plain(one.tool)), element('td', {}, plain(one.caller)),
    element('td', {}, state(one.status), one.questions ? element('span', { class: 'tag warn' }, 'asks') : ''),
    element('td', {}, time(one.created)), element('td', {}, time(one.updated)))));
}

const watched = document.querySelector('[data-watch]')?.dataset.watch;
if (watched) follow(`watch=${watched}`, { totals, sources, tasks });
