// A user allows a token in a real browser at a real OpenID provider; afterwards the same call succeeds.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const { NODE_PATH, TOOLMUX_BIN, TOOLMUX_SCRATCH } = process.env;
const require = createRequire(join(NODE_PATH, 'x.js'));
const { chromium } = require('playwright-core');
const { Provider } = await import(pathToFileURL(join(NODE_PATH, 'oidc-provider/lib/index.js')));

const CLIENT = { client_id: 'toolmux', client_secret: 'client secret of toolmux' };
const TOKEN_LIFE = 4;

async function startProvider() {
  const server = createServer((request, response) => server.answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, issuer: `http://127.0.0.1:${server.address().port}` };
}

function know(server, issuer, callback) {
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, redirect_uris: [callback], grant_types: ['authorization_code', 'refresh_token'], scope: 'openid offline_access' }],
    cookies: { keys: ['a key for tests'] },
    features: { revocation: { enabled: true } },
    ttl: { AccessToken: TOKEN_LIFE, Grant: 600, IdToken: 600, Interaction: 600, RefreshToken: 600, Session: 600 },
  });
  server.answer = provider.callback();
}

async function startToolmux(issuer) {
  const config = join(TOOLMUX_SCRATCH, 'toolmux.toml');
  writeFileSync(config, `
store = "sqlite:${join(TOOLMUX_SCRATCH, 'tokens.db')}"
[keys.alice]
key = "alice-alice-alice-alice-alice-al"
[keys.bob]
key = "bob-bob-bob-bob-bob-bob-bob-bob-"
[auth.providers.idp]
issuer = "${issuer}"
client_id = "${CLIENT.client_id}"
client_secret = { env = "CLIENT_SECRET" }
scopes = ["offline_access"]
parameters = { prompt = "consent" }
[sources.Shop]
kind = "command"
[sources.Shop.tools.whoami]
description = "Shows the token it got"
command = ["sh", "-c", "printf %s $TOKEN"]
[tools."Shop.whoami"]
requires = { authorization = [{ id = "idp", scopes = ["openid"] }] }
deliver = [{ token = "idp", env = "TOKEN" }]
`);
  const child = spawn(TOOLMUX_BIN, ['serve', config, '--listen', '127.0.0.1:0'], {
    env: { ...process.env, CLIENT_SECRET: CLIENT.client_secret, RUST_LOG: 'trace' }, stdio: ['ignore', 'inherit', 'pipe'],
  });
  const log = [];
  const base = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      log.push(line);
      const found = line.match(/serves \d+ tools on (http:\/\/\S+)/);
      if (found) resolve(found[1]);
    });
    child.once('exit', () => reject(new Error(`toolmux ended:\n${log.join('\n')}`)));
  });
  return { child, base, log, config };
}

function caller(base, key) {
  return async (context) => {
    const answer = await fetch(`${base}/tools/call`, {
      method: 'POST', headers: { 'OXP-API-Key': key }, body: JSON.stringify({ tool_id: 'Shop.whoami', context }),
    });
    return { status: answer.status, body: await answer.json() };
  };
}

/** Opens the link, logs in, consents; gives what the last page says. */
async function consent(browser, url) {
  const page = await browser.newPage();
  await page.goto(url);
  await page.fill('input[name=login]', 'ann');
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.waitForSelector('button[autofocus], button[type=submit]');
  await Promise.all([page.waitForURL(/\/auth\/callback/), page.click('button[type=submit]')]);
  await page.screenshot({ path: join(TOOLMUX_SCRATCH, 'completed.png') });
  const said = await page.innerText('body');
  await page.close();
  return said;
}

/** Runs the command line beside the server; gives what it prints. */
async function toolmux(...command) {
  const env = { ...process.env, CLIENT_SECRET: CLIENT.client_secret };
  return (await promisify(execFile)(TOOLMUX_BIN, command, { env })).stdout;
}

async function flow(browser, issuer, { base, log, config }) {
  const [alice, bob] = [caller(base, 'alice-alice-alice-alice-alice-al'), caller(base, 'bob-bob-bob-bob-bob-bob-bob-bob-')];
  const first = await alice();
  assert.equal(first.status, 400);
  const [challenge] = first.body.missing_requirements.authorization;
  assert.equal(challenge.id, 'idp');
  const check = async () => (await (await fetch(challenge.check_url)).json()).status;
  assert.equal(await check(), 'pending');
  assert.match(await consent(browser, challenge.url), /Authorization completed/);
  assert.equal(await check(), 'completed');

  const token = async () => {
    const { status, body } = await alice();
    assert.equal(status, 200, JSON.stringify(body));
    const me = await fetch(`${issuer}/me`, { headers: { authorization: `Bearer ${body.value}` } });
    assert.equal(me.status, 200, 'the provider knows the token');
    assert.equal((await me.json()).sub, 'ann');
    return body.value;
  };
  const before = await token();
  assert.equal((await bob()).status, 400, 'a token of alice is none of bob');
  assert.equal((await alice({ user_id: 'eve' })).status, 400, 'nor of another user');

  const deadline = Date.now() + TOKEN_LIFE * 5000;
  let after = before;
  while (after === before) {
    assert.ok(Date.now() < deadline, 'the token is renewed before it ends');
    after = await token();
  }
  assert.ok(log.some((line) => line.includes('TRACE')), 'the log tells everything');
  const leaked = log.filter((line) => [before, after, CLIENT.client_secret].some((secret) => line.includes(secret)));
  assert.deepEqual(leaked, [], 'no secret is in the log');
  for (const name of readdirSync(TOOLMUX_SCRATCH).filter((name) => name.startsWith('tokens.db'))) {
    const kept = readFileSync(join(TOOLMUX_SCRATCH, name)).toString('latin1');
    assert.ok(!kept.includes(after) && !kept.includes(before), `no token is readable in ${name}`);
  }
  assert.equal(statSync(join(TOOLMUX_SCRATCH, 'toolmux.key')).mode & 0o777, 0o600);

  assert.match(await toolmux('auth', 'list', config), /^idp +alice$/m);
  assert.equal(await toolmux('auth', 'revoke', 'idp', '--caller', 'alice', '--config', config), '1 revoked\n');
  assert.equal((await alice()).status, 400, 'a revoked token is asked for again');
}

const { server, issuer } = await startProvider();
const running = await startToolmux(issuer);
const { child, log } = running;
know(server, issuer, `${running.base}/auth/callback`);
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  await flow(browser, issuer, running);
  console.log('consent, use, renewal, revocation: good');
} catch (error) {
  console.error(log.filter((line) => /WARN|ERROR|authorization/.test(line)).join('\n'));
  throw error;
} finally {
  await browser.close();
  child.kill();
  server.close();
  server.closeAllConnections();
}
