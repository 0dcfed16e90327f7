// Fails, so that try-packages sees the last requests in an attachment.
import { expect, test as base } from '@playwright/test';
import { playwrightPetstore, type Petstore } from 'petstore-server';

const test = base.extend<{ petstore: Petstore }>({ petstore: playwrightPetstore({ demo: 3 }) });

test('fails', async ({ petstore, request }) => {
  const response = await request.get(`${petstore.url}/pets/77777`, { headers: { 'X-API-Key': petstore.key } });
  expect(response.status()).toBe(200);
});

test('passes', async ({ petstore, request }) => {
  const response = await request.get(`${petstore.url}/pets/1`, { headers: { 'X-API-Key': petstore.key } });
  expect(response.status()).toBe(200);
  expect(await petstore.requests({ count: 1 })).toHaveLength(1);
});
