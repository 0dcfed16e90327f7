// A shop of one's own as the baseline of a reset: node --test baseline.test.mjs
import assert from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Petstore } from 'petstore-server';

const SHOP = [
  { category: { name: 'Newts', id: 7 } },
  { pet: { name: 'Nina', categoryId: 7, status: 'available', id: 40 } },
  { inventoryItem: { petId: 40, quantity: 1, status: 'available' } },
];
const folder = mkdtempSync(join(tmpdir(), 'petstore-baseline-'));
const file = join(folder, 'shop.ndjson');
writeFileSync(file, SHOP.map((record) => `${JSON.stringify(record)}\n`).join(''));
after(() => rmSync(folder, { recursive: true }));

async function names(shop) {
  const response = await fetch(`${shop.url}/pets`, { headers: { 'X-API-Key': shop.key } });
  return (await response.json()).map(({ name }) => name);
}

async function create(shop, name) {
  const headers = { 'X-API-Key': shop.key, 'Content-Type': 'application/json' };
  const response = await fetch(`${shop.url}/pets`, { method: 'POST', headers, body: JSON.stringify({ name, categoryId: 7 }) });
  return (await response.json()).id;
}

test('a petstore begins with the shop of a file', async () => {
  const shop = await Petstore.start({ shop: file });
  try {
    assert.deepEqual(await names(shop), ['Nina']);
    assert.equal(await create(shop, 'Nele'), 41);
    await shop.reset();
    assert.deepEqual(await names(shop), ['Nina']);
    assert.deepEqual((await shop.baseline())[1].pet.name, 'Nina');
  } finally {
    await shop.stop();
  }
  await assert.rejects(Petstore.start({ shop: join(folder, 'nowhere') }), { name: 'PetstoreStopped', message: /nowhere/ });
});

test('a baseline is put, saved and dropped', async () => {
  const shop = await Petstore.start({ demo: 2 });
  try {
    assert.deepEqual(await shop.putBaseline(SHOP), { categories: 1, pets: 1, orders: 0 });
    assert.equal((await names(shop)).length, 2);
    await shop.reset();
    assert.deepEqual(await names(shop), ['Nina']);
    await create(shop, 'Nele');
    assert.deepEqual(await shop.saveBaseline(), { categories: 1, pets: 2, orders: 0 });
    await create(shop, 'Nora');
    await shop.reset();
    assert.deepEqual(await names(shop), ['Nina', 'Nele']);
    const wrong = shop.putBaseline([SHOP[0], { pet: { name: '' } }]);
    await assert.rejects(wrong, { name: 'SandboxError', status: 400, message: /baseline is unchanged.*line 2/s });
    assert.equal((await shop.baseline()).length, 5);
    assert.deepEqual(await shop.putBaseline(file), { categories: 1, pets: 1, orders: 0 });
    await shop.dropBaseline();
    await shop.reset();
    assert.equal((await names(shop)).length, 2);
  } finally {
    await shop.stop();
  }
});
