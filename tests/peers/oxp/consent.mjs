// A user allows a token in a real browser at a real OpenID provider; afterwards the same call succeeds. Whoever opens a
// link of somebody else allows nothing by that.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
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
const KEYS = { alice: 'alice-alice-alice-alice-alice-al', bob: 'bob-bob-bob-bob-bob-bob-bob-bob-' };
const JWT_SECRET = 'a secret that callers share with the issuer of tokens';

async function startProvider() {
  const server = createServer((request, response) => server.answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, issuer: `http://127.0.0.1:${server.address().port}` };
}

function know(server, issuer, callbacks) {
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, redirect_uris: callbacks, grant_types: ['authorization_code', 'refresh_token'], scope: 'openid offline_access' }],
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
key = "${KEYS.alice}"
[keys.bob]
key = "${KEYS.bob}"
[jwt]
secret = { env = "JWT_SECRET" }
issuer = "${issuer}"
audience = ["toolmux"]
toolset = "*"
[auth.providers.idp]
issuer = "${issuer}"
client_id = "${CLIENT.client_id}"
client_secret = { env = "CLIENT_SECRET" }
scopes = ["offline_access"]
parameters = { prompt = "consent" }
[auth.providers.quick]
issuer = "${issuer}"
client_id = "${CLIENT.client_id}"
client_secret = { env = "CLIENT_SECRET" }
[sources.Shop]
kind = "command"
[sources.Shop.tools.whoami]
description = "Shows the token it got"
command = ["sh", "-c", "printf %s $TOKEN"]
[tools."Shop.whoami"]
requires = { authorization = [{ id = "idp", scopes = ["openid"] }] }
deliver = [{ token = "idp", env = "TOKEN" }]
[sources.Shop.tools.order]
description = "Shows the token it got"
command = ["sh", "-c", "printf %s $TOKEN"]
[tools."Shop.order"]
requires = { authorization = [{ id = "quick", scopes = ["openid"] }] }
deliver = [{ token = "quick", env = "TOKEN" }]
`);
  const child = spawn(TOOLMUX_BIN, ['serve', config, '--listen', '127.0.0.1:0'], {
    env: { ...process.env, ...secrets(), RUST_LOG: 'trace' }, stdio: ['ignore', 'inherit', 'pipe'],
  });
  const log = [];
  const base = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      log.push(line);
      const found = line.match(/serves \d+ tools? on (http:\/\/\S+)/);
      if (found) resolve(found[1]);
    });
    child.once('exit', () => reject(new Error(`toolmux ended:\n${log.join('\n')}`)));
  });
  return { child, base, log, config };
}

function secrets() {
  return { CLIENT_SECRET: CLIENT.client_secret, JWT_SECRET };
}

/** A token of a caller, as the issuer gives it. */
function jwt(issuer, sub) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: issuer, aud: 'toolmux', sub, exp: Math.floor(Date.now() / 1000) + 600 };
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`;
}

function caller(base, credential, tool = 'Shop.whoami') {
  return async (context) => {
    const answer = await fetch(`${base}/tools/call`, {
      method: 'POST', headers: { authorization: `Bearer ${credential}` }, body: JSON.stringify({ tool_id: tool, context }),
    });
    return { status: answer.status, body: await answer.json() };
  };
}

/** The challenge that a call is refused with. */
async function challenged(call) {
  const { status, body } = await call();
  assert.equal(status, 400, JSON.stringify(body));
  return body.missing_requirements.authorization[0];
}

async function statusOf(challenge) {
  return (await (await fetch(challenge.check_url)).json()).status;
}

/** Opens a link: the page says who asks for what, and nothing has happened yet. */
async function open(context, url, told) {
  const page = await context.newPage();
  const answer = await page.goto(url);
  assert.equal(answer.status(), 200);
  assert.equal(page.url(), url, 'a link leads nowhere by itself');
  assert.equal(answer.headers()['referrer-policy'], 'same-origin');
  assert.match(answer.headers()['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/);
  const said = await page.innerText('body');
  for (const words of told) assert.ok(said.includes(words), `${words} is not in: ${said}`);
  return page;
}

/** Signs in at the provider, where it asks. */
async function signIn(page, name) {
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.waitForSelector('button[autofocus], button[type=submit]');
}

/** Opens the link, goes on by its button, signs in, consents; gives what the last page says. */
async function consent(context, url, told) {
  const page = await open(context, url, told);
  await pictures(page);
  await page.click('text=Continue to');
  await signIn(page, 'ann');
  await Promise.all([page.waitForURL(/\/auth\/callback\/idp/), page.click('button[type=submit]')]);
  await page.screenshot({ path: join(TOOLMUX_SCRATCH, 'completed.png') });
  const said = await page.innerText('body');
  await page.close();
  return said;
}

/** How the page looks in light and dark, and on a phone. */
async function pictures(page, name = 'page') {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(TOOLMUX_SCRATCH, `${name}-${colorScheme}.png`) });
  }
  const wide = page.viewportSize();
  await page.setViewportSize({ width: 375, height: 740 });
  await page.screenshot({ path: join(TOOLMUX_SCRATCH, `${name}-phone.png`) });
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'it fits on a phone');
  await page.setViewportSize(wide);
}

/** Runs the command line beside the server; gives what it prints. */
async function toolmux(...command) {
  const env = { ...process.env, ...secrets() };
  return (await promisify(execFile)(TOOLMUX_BIN, command, { env })).stdout;
}

async function flow(user, issuer, { base, log, config }) {
  const [alice, bob] = [caller(base, KEYS.alice), caller(base, KEYS.bob)];
  const challenge = await challenged(alice);
  assert.equal(challenge.id, 'idp');
  assert.equal(await statusOf(challenge), 'pending');
  const told = ['alice', 'Shop.whoami', 'idp (127.0.0.1)', 'openid', 'offline_access', 'Continue only if you asked for this yourself'];
  assert.match(await consent(user, challenge.url, told), /Authorization completed/);
  assert.equal(await statusOf(challenge), 'completed');

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

/** Bob makes a user who is signed in at the provider open his links; the provider asks that user nothing any more. */
async function attack(browser, user, { base }) {
  const alices = await open(user, (await challenged(caller(base, KEYS.alice, 'Shop.order'))).url, ['alice']);
  await alices.click('text=Continue to');
  await Promise.all([alices.waitForURL(/\/auth\/callback\/quick/), alices.click('button[type=submit]')]);
  await alices.close();

  const bob = caller(base, KEYS.bob, 'Shop.order');
  const challenge = await challenged(bob);
  const gained = async () => [(await bob()).status, await statusOf(challenge)];

  const page = await open(user, challenge.url, ['bob', 'Shop.order']);
  assert.deepEqual(await gained(), [400, 'pending'], 'to open a link gives nothing');
  const value = await page.getAttribute('input[name=form]', 'value');
  await page.close();

  const evil = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').setHeader('referrer-policy', 'no-referrer');
    response.end(`<form method="post" action="${challenge.url}"><input name="form" value="${value}"></form>
<iframe src="${challenge.url}"></iframe><script>document.forms[0].submit()</script>`);
  });
  evil.listen(0, '127.0.0.1');
  await once(evil, 'listening');
  const lure = await user.newPage();
  for (const host of ['127.0.0.1', 'localhost']) {
    const posted = lure.waitForResponse((answer) => answer.request().method() === 'POST');
    await lure.goto(`http://${host}:${evil.address().port}`);
    assert.equal((await posted).status(), 403, 'a page of somebody else does not go on');
  }
  await lure.close();
  evil.close();
  evil.closeAllConnections();
  assert.deepEqual(await gained(), [400, 'pending']);

  // Bob goes on himself, and sends the user where he was led.
  const own = await browser.newContext();
  const his = await open(own, challenge.url, ['bob']);
  const led = his.waitForRequest((request) => request.url().includes('code_challenge'));
  await his.click('text=Continue to');
  const elsewhere = await user.newPage();
  await elsewhere.goto((await led).url());
  assert.match(elsewhere.url(), /\/auth\/callback\/quick\?/, 'the provider asked nothing');
  assert.match(await elsewhere.innerText('body'), /begun in another browser/);
  await elsewhere.close();
  await own.close();
  assert.deepEqual(await gained(), [400, 'pending'], 'only the browser that went on comes back');

  // What the user goes on with works, in the same browser and without another question.
  const wanted = await open(user, challenge.url, ['bob']);
  await Promise.all([wanted.waitForURL(/\/auth\/callback\/quick/), wanted.click('text=Continue to')]);
  assert.match(await wanted.innerText('body'), /Authorization completed/);
  await wanted.close();
  assert.deepEqual(await gained(), [200, 'completed']);
}

/** Callers by token: only who shows a token of the same subject or signs in goes on, and only that subject's account is
 * taken. */
async function subjects(user, issuer, { base, log, config }) {
  const [ann, carol] = [jwt(issuer, 'ann'), jwt(issuer, 'carol')];
  const goOn = async (challenge, shown) => {
    const page = await open(user, challenge.url, ['(by token)', 'Sign in at']);
    if (shown) {
      await page.click('summary');
      await page.fill('input[name=token]', shown);
      await pictures(page, 'subject');
    }
    await Promise.all([page.waitForNavigation(), page.click(shown ? 'text=Continue to' : 'text=Sign in at')]);
    await page.waitForSelector('h1');
    const said = await page.innerText('body');
    await page.close();
    return said;
  };
  const asAnn = caller(base, ann, 'Shop.order');
  const ofAnn = await challenged(asAnn);
  for (const shown of ['nonsense', carol, KEYS.bob]) {
    assert.match(await goOn(ofAnn, shown), /not a valid token/);
  }
  assert.equal(await statusOf(ofAnn), 'pending');
  assert.match(await goOn(ofAnn, ann), /Authorization completed/);
  assert.equal((await asAnn()).status, 200);
  const asCarol = caller(base, carol, 'Shop.order');
  const ofCarol = await challenged(asCarol);
  assert.match(await goOn(ofCarol), /as another user than the one who asked/, 'it is ann who signs in');
  assert.equal(await statusOf(ofCarol), 'pending');
  assert.match(await goOn(ofCarol, carol), /as another user than the one who asked/, 'the account is of ann');
  assert.equal((await asCarol()).status, 400);

  await toolmux('auth', 'revoke', 'quick', '--caller', 'jwt:ann', '--config', config);
  assert.match(await goOn(await challenged(asAnn)), /Authorization completed/, 'it is ann who signs in');
  assert.equal((await asAnn()).status, 200);
  assert.deepEqual(log.filter((line) => line.includes(ann) || line.includes(carol)), [], 'no token is in the log');
}

const { server, issuer } = await startProvider();
const running = await startToolmux(issuer);
const { child, log } = running;
know(server, issuer, ['idp', 'quick'].map((name) => `${running.base}/auth/callback/${name}`));
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const user = await browser.newContext();
  await flow(user, issuer, running);
  await attack(browser, user, running);
  await subjects(user, issuer, running);
  console.log('consent, use, renewal, revocation, links of others, subjects: good');
} catch (error) {
  console.error(log.filter((line) => /WARN|ERROR|authorization/.test(line)).join('\n'));
  throw error;
} finally {
  await browser.close();
  child.kill();
  server.close();
  server.closeAllConnections();
}
