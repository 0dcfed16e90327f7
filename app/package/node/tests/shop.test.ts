// The package as installed, with vitest, whose fake timers must not stop the calls.
import { beforeEach, expect, test, vi } from 'vitest';
import { type Petstore, type ReceivedRequest, sharedPetstore } from 'petstore-server';

let shop: Petstore;
beforeEach(async () => {
  shop = await sharedPetstore({ demo: 3 });
});

const get = (path: string): Promise<Response> => fetch(shop.url + path, { headers: { 'X-API-Key': shop.key } });

test.each([1, 2])('each test begins with the initial shop (%i)', async (id) => {
  const response = await get(`/pets/${id}`);
  expect(response.status).toBe(200);
  const deleted = await fetch(`${shop.url}/pets/1`, { method: 'DELETE', headers: { 'X-API-Key': shop.key } });
  expect(deleted.status).toBe(204);
});

test('calls work under fake timers', async () => {
  vi.useFakeTimers();
  try {
    await shop.clock.advance('1h');
    await shop.reset();
  } finally {
    vi.useRealTimers();
  }
});

test('requests are typed and counted', async () => {
  await get('/pets');
  const requests: ReceivedRequest[] = await shop.requests({ count: 1, wait: 5 });
  expect(requests.map(({ method, route }) => [method, route])).toEqual([['GET', '/pets']]);
});
