// The errand that each client of the table runs: it reads the pets and a few more resources, changes a category and places two orders.
import assert from 'node:assert';

const { PETSTORE_URL, PETSTORE_KEY } = process.env;
const AUTHORIZATION = { authorization: `Bearer ${PETSTORE_KEY}` };

/**
 * Runs the errand. `ask(method, url, headers, body)` sends a request, with what the library does if it fails, and returns the value
 * of the header `Link` and the JSON of the answer, or throws an error.
 */
export async function run(ask) {
  const need = (method, path, body, headers = {}) => {
    const typed = body && { 'content-type': 'application/json' };
    const url = path.startsWith('http') ? path : PETSTORE_URL + path;
    return ask(method, url, { ...AUTHORIZATION, ...typed, ...headers }, body && JSON.stringify(body));
  };

  // All pets, by the links of the server.
  let pets = 0;
  for (let path = '/pets?limit=20'; path;) {
    const { link, value } = await need('GET', path);
    pets += value.length;
    path = /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1];
  }
  assert(pets >= 100, `${pets} pets`);
  // Some pets, each by its number.
  for (let pet = 1; pet <= 12; pet += 1) await need('GET', `/pets?id=${pet}`);
  // A category is read twice and changed.
  for (let times = 0; times < 2; times += 1) await need('GET', '/categories/1');
  await need('PUT', '/categories/1', { name: 'Birds of prey' });
  // Two orders. What a library repeats has the same Idempotency-Key.
  for (const petId of [7, 8]) {
    const { value } = await need('POST', '/store/orders', { petId }, { 'idempotency-key': `order-of-${petId}` });
    assert.equal(value.petId, petId);
  }
  const { value } = await need('GET', '/store/orders?petId=7');
  assert.equal(value.length, 1);
  await need('GET', '/inventory');
}
