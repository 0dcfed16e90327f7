// Twelve tests of a client, with vitest. The fixture `petstore` is a server of the worker, in its initial state.
import { expect, test as base } from 'vitest';
import { vitestPetstore, type Petstore } from 'petstore-server';
import { PetsClient, ShopError, type Pet } from './pets-client.js';

const test = base.extend<{ petstore: Petstore; client: PetsClient }>({
  petstore: vitestPetstore({ demo: 100 }),
  // The client under test, whose pauses move the shop's clock instead of taking time. After each test it has kept all rules.
  client: async ({ petstore }, use) => {
    await petstore.clock.freeze();
    await use(clientWith(petstore, petstore.key));
    (await petstore.report()).assertKept();
  },
});

const clientWith = (shop: Petstore, key: string): PetsClient => new PetsClient(shop.url, key, { sleep: (ms) => shop.clock.advance(ms) });

async function all(pets: AsyncIterable<Pet>): Promise<Pet[]> {
  const list: Pet[] = [];
  for await (const pet of pets) list.push(pet);
  return list;
}

test('all pages are read', async ({ petstore, client }) => {
  expect((await all(client.pets({ page: 40 }))).map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  expect((await petstore.requests()).map(({ query }) => query.get('limit'))).toEqual(['40', '40', '40']);
  (await petstore.report()).assertKept('follows-pages');
});

test.for([1, 1])('each test begins with the whole stock', async (pet, { client }) => {
  expect((await client.order(pet)).id).toBe(1);
});

test('the key is sent in one header', async ({ petstore, client }) => {
  await client.category(1);
  const [sent] = await petstore.requests();
  expect(sent?.headers.get('X-API-Key')).toContain(petstore.key.slice(0, 12));
  expect(sent?.headers.has('Authorization')).toBe(false);
});

test('an order has the pet and a key of its own', async ({ petstore, client }) => {
  await client.order(2);
  await client.order(3);
  const orders = await petstore.requests({ method: 'POST', route: '/store/orders', count: 2 });
  expect(orders.map((order) => order.json())).toEqual([{ petId: 2 }, { petId: 3 }]);
  expect(new Set(orders.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(2);
});

test('a 503 is repeated when the server says', async ({ petstore, client }) => {
  await petstore.faults.plan({ route: '/pets', first: 1, status: 503, retryAfter: 30 });
  expect(await all(client.pets({ page: 100 }))).toHaveLength(100);
  const [refused, served] = await petstore.requests({ count: 2 });
  expect([refused?.status, served?.status]).toEqual([503, 200]);
  expect(Number(served?.at) - Number(refused?.at)).toBeGreaterThanOrEqual(30_000);
  (await petstore.report()).assertKept('waits');
});

test('a used up quota is waited for', async ({ petstore, client: _ }) => {
  const key = await petstore.newKey({ plan: 'free', account: 'small' });
  await petstore.faults.plan({ route: '/pets', first: 1, exhaust: 'minute' });
  expect(await all(clientWith(petstore, key).pets({ page: 100 }))).toHaveLength(100);
  expect((await petstore.requests({ key })).map(({ code }) => code)).toEqual(['rate_limit_exceeded', null]);
});

test('the client gives up', async ({ petstore, client }) => {
  await petstore.faults.plan({ route: '/pets', status: 503 });
  await expect(all(client.pets())).rejects.toThrow(new ShopError(503, 'unavailable'));
  expect(await petstore.requests({ status: 503 })).toHaveLength(4);
});

test('a lost answer does not order twice', async ({ petstore, client }) => {
  await petstore.faults.plan({ method: 'POST', first: 1, when: 'after', drop: true });
  expect((await client.order(3)).id).toBe(1);
  const [lost, repeated] = await petstore.requests({ method: 'POST', count: 2 });
  expect(lost?.answer?.outcome).toBe('dropped');
  expect(repeated?.answer?.headers.get('Idempotent-Replayed')).toBe('true');
  (await petstore.report()).assertKept('retries-safely');
});

test('a malformed body is an error', async ({ petstore, client }) => {
  await petstore.faults.plan({ body: 'malformed' });
  await expect(client.category(1)).rejects.toThrow('not_json');
});

test('what has not changed is not sent again', async ({ petstore, client }) => {
  expect(await client.category(1)).toEqual(await client.category(1));
  expect((await petstore.requests({ route: '/categories/{categoryId}' })).map(({ status }) => status)).toEqual([200, 304]);
});

test('a change by others is not overwritten', async ({ petstore, client }) => {
  await client.category(2);
  await clientWith(petstore, petstore.key).renameCategory(2, 'Geckos');
  await client.renameCategory(2, 'Newts');
  const [first, second] = await petstore.requests({ method: 'PATCH', count: 2 });
  expect([first?.status, second?.status]).toEqual([200, 200]);
  expect(first?.headers.get('If-Match')).not.toBe(second?.headers.get('If-Match'));
});

test('an order is told to the webhook', async ({ petstore, client }) => {
  const sink = petstore.sink('orders');
  await sink.answer({ status: 503, first: 1 });
  await client.subscribe(sink.url);
  await client.order(4);
  await petstore.settle();
  await petstore.clock.advance('10s');
  await petstore.settle();
  const [first, second] = await sink.wait({ count: 2 });
  expect([first?.signature, second?.signature, second?.duplicate]).toEqual(['valid', 'valid', true]);
  expect(second?.json()).toMatchObject({ type: 'order.placed', data: { petId: 4 } });
});
