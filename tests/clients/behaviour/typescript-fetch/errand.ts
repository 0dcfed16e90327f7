// The TypeScript client on fetch that openapi-generator makes. It has no retries, so a function of the program repeats a failed call,
// with pauses that grow.

import { AnimalsApi, CategoriesApi, Configuration, InventoryApi, OrdersApi } from "./client/index.js";
import { FetchError, ResponseError } from "./client/index.js";

declare const process: { env: Record<string, string | undefined> };

const basePath = process.env["PETSTORE_URL"] ?? "";
const configuration = new Configuration({ basePath, accessToken: process.env["PETSTORE_KEY"] ?? "" });
const animals = new AnimalsApi(configuration);
const categories = new CategoriesApi(configuration);
const orders = new OrdersApi(configuration);

/** The statuses after which another attempt may succeed. */
const temporary = [429, 500, 502, 503, 504];

/** Makes a call five times at most. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (failure) {
      const mayPass = failure instanceof FetchError || (failure instanceof ResponseError && temporary.includes(failure.response.status));
      if (!mayPass || attempt === 5) throw failure;
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** (attempt - 1)));
    }
  }
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

// The errand of `errand.mjs`, by the methods of the client.
let pets = 0;
for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
  const page = await repeated(() => animals.listPetsRaw({ limit: 20, ...(cursor !== undefined && { cursor }) }));
  pets += (await page.value()).length;
  const link = /<([^>]+)>; rel="next"/.exec(page.raw.headers.get("Link") ?? "")?.[1];
  cursor = link === undefined ? undefined : (new URL(link).searchParams.get("cursor") ?? undefined);
}
expect(pets >= 100, `${pets} pets`);
for (let pet = 1; pet <= 12; pet += 1) await repeated(() => animals.listPets({ id: [pet] }));
for (let times = 0; times < 2; times += 1) await repeated(() => categories.getCategory({ categoryId: 1 }));
await repeated(() => categories.replaceCategory({ categoryId: 1, categoryReplacement: { name: "Birds of prey" } }));
for (const petId of [7, 8]) {
  const order = await repeated(() => orders.placeOrder({ newOrder: { petId }, idempotencyKey: `order-of-${petId}` }));
  expect(order.petId === petId, "an order of another pet");
}
const placed = await repeated(() => orders.listOrders({ petId: 7 }));
expect(placed.length === 1, `${placed.length} orders`);
await repeated(() => new InventoryApi(configuration).listInventory());
