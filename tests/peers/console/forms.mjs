// Forms for every schema: of the kit, whose arguments must come out as they went in, and of real servers.
import assert from 'node:assert/strict';
import { open } from './server.mjs';
import { SCHEMAS } from './kit.mjs';

/** What the form of a page makes of arguments: they stand in its address, become fields, and fields become JSON again. */
async function through(page, base, tool, given) {
  await page.goto(`${base}/console/tools/${tool}?arguments=${encodeURIComponent(JSON.stringify(given))}`);
  await page.waitForFunction(() => !document.querySelector('#fields').hidden);
  // Somebody touches a field: from then on the JSON is what the fields say.
  await page.evaluate(() => {
    const field = document.querySelector('#fields input, #fields select, #fields textarea');
    field?.dispatchEvent(new Event('input', { bubbles: true }));
    field?.dispatchEvent(new Event('change', { bubbles: true }));
  });
  return JSON.parse(await page.inputValue('#arguments'));
}

async function ofTheKit(page, base) {
  for (const [name, [, given]] of Object.entries(SCHEMAS)) {
    const tool = `Kit.schema_${name}`;
    const made = await through(page, base, tool, given).catch((error) => { throw new Error(`${tool}: ${error.message}`); });
    // A choice that was touched begins anew; what was touched is one field of many.
    if (!['one_of', 'any_of', 'union_on_top', 'nullable', 'mixed_enum', 'recursive_required'].includes(name)) assert.deepEqual(made, given, tool);
    await page.goto(`${base}/console/tools/${tool}?arguments=${encodeURIComponent(JSON.stringify(given))}`);
    await page.click('#call');
    await page.waitForSelector('.result');
    assert.ok(await page.isVisible('.result .state.good'), `${tool}: ${await page.innerText('#result')}`);
  }
}

/** Every member of the schema of a real tool has its field, and the example fills them. */
async function ofRealServers(page, base) {
  const tools = [];
  for (let number = 1; ; number += 1) {
    const list = await (await fetch(`${base}/console/api/tools?limit=100&page=${number}`)).json();
    tools.push(...list.tools.filter((tool) => tool.source !== 'Kit'));
    if (number >= list.pages) break;
  }
  assert.ok(tools.length >= 60, `${tools.length} real tools`);
  for (const { id } of tools) {
    const tool = await (await fetch(`${base}/console/api/tools/${id}`)).json();
    const made = await through(page, base, id, tool.example);
    assert.deepEqual(made, tool.example, id);
    const fields = await page.$$eval('#fields [data-path]', (found) => found.map((one) => one.dataset.path));
    for (const name of Object.keys(tool.input.properties ?? {})) assert.ok(fields.includes(name), `${id} has a field for ${name}`);
    for (const add of await page.$$('#fields button:text-is("Add")')) await add.click().catch(() => {});
    JSON.parse(await page.inputValue('#arguments'));
  }
  return tools.length;
}

export async function forms(browser, { base }) {
  const page = await open(browser, base);
  await ofTheKit(page, base);
  const count = await ofRealServers(page, base);
  assert.deepEqual([page.noted.elsewhere, page.noted.faults], [[], []]);
  await page.context().close();
  console.log(`forms: good (${Object.keys(SCHEMAS).length} schemas of the kit, ${count} of real servers)`);
}
