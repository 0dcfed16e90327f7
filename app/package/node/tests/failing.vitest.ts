// Fails, so that try-packages sees the last requests in the error.
import { test as base } from 'vitest';
import { vitestPetstore, type Petstore } from 'petstore-server';

const test = base.extend<{ petstore: Petstore }>({ petstore: vitestPetstore({ demo: 3 }) });

test('fails', async ({ petstore, expect }) => {
  const { status } = await fetch(`${petstore.url}/pets/77777`, { headers: { 'X-API-Key': petstore.key } });
  expect(status).toBe(200);
});

test('passes', async ({ petstore }) => {
  await petstore.reset();
});
