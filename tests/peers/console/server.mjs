// A toolmux server for the console's tests, and a browser that notes every request and every fault of a page.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const { NODE_PATH, TOOLMUX_BIN, TOOLMUX_SCRATCH } = process.env;
const require = createRequire(join(NODE_PATH, 'x.js'));
export const { chromium } = require('playwright-core');
export const axe = () => require.resolve('axe-core/axe.min.js');
export const KEYS = { ops: 'ops-ops-ops-ops-ops-ops-ops-ops-', alice: 'alice-alice-alice-alice-alice-al' };
export const PICTURES = process.env.TOOLMUX_PICTURES ?? join(TOOLMUX_SCRATCH, 'pictures');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const here = dirname(fileURLToPath(import.meta.url));

/** The servers of others whose schemas forms are made for. */
const REAL = {
  Everything: ['@modelcontextprotocol/server-everything/dist/index.js'],
  Files: ['@modelcontextprotocol/server-filesystem/dist/index.js', '/tmp'],
  Memory: ['@modelcontextprotocol/server-memory/dist/index.js'],
  Thinking: ['@modelcontextprotocol/server-sequential-thinking/dist/index.js'],
  GitHub: ['@modelcontextprotocol/server-github/dist/index.js'],
  Browser: ['@playwright/mcp/cli.js'],
};

const source = (name, command) => `[sources.${name}]\nkind = "mcp"\ncommand = ${JSON.stringify(['node', ...command])}\n`;

export const KIT = source('Kit', [join(here, 'kit.mjs'), 'serve']);
export const real = () => Object.entries(REAL).map(([name, [script, ...rest]]) => source(name, [join(NODE_PATH, script), ...rest])).join('');

export const CALLERS = `
[keys.ops]
key = "${KEYS.ops}"
operator = true
[keys.alice]
key = "${KEYS.alice}"
toolset = "few"
[toolsets.few]
tools = ["Kit.typed", "Kit.rows"]
[receipts]
arguments = true
`;

/** Starts a server with a configuration; gives its address and a way to end it. */
export async function start(name, config) {
  const folder = join(TOOLMUX_SCRATCH, name);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'toolmux.toml');
  writeFileSync(file, config);
  const child = spawn(TOOLMUX_BIN, ['serve', file, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const log = [];
  const base = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      log.push(line);
      const found = line.match(/serves \d+ tools? on (http:\/\/\S+)/);
      if (found) resolve(found[1]);
    });
    child.once('exit', () => reject(new Error(`toolmux ended:\n${log.join('\n')}`)));
  });
  return { base, file, log, stop: () => child.kill() };
}

export async function browse() {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
}

/** A page that notes requests to others, faults of scripts and refusals of the policy. */
export async function open(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  page.noted = { elsewhere: [], faults: [] };
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith('data:') && !url.startsWith('blob:')) page.noted.elsewhere.push(url);
  });
  page.on('pageerror', (error) => page.noted.faults.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) page.noted.faults.push(message.text()); });
  return page;
}

export async function signIn(page, base, key = KEYS.ops) {
  await page.goto(`${base}/console`);
  await page.fill('#key', key);
  await Promise.all([page.waitForNavigation(), page.click('text=Sign in >> nth=-1')]);
}

/** An operator's request from outside the browser. */
export async function api(base, path, options = {}) {
  const answer = await fetch(`${base}/console/api/${path}`, { ...options, headers: { authorization: `Bearer ${KEYS.ops}`, ...options.headers } });
  return answer.json();
}
