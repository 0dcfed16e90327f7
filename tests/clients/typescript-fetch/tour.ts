// The petstore through the TypeScript client (fetch) that openapi-generator makes of openapi.yaml.
//
//     openapi-generator-cli generate -g typescript-fetch -i openapi.yaml -o client --additional-properties=importFileExtension=.js
//     npx tsc && PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… node out/tour.js
//
// The shop is empty at the start. The second key is one of the Free plan; it is used up.

import { createServer } from "node:http";
import { Webhook as Verifier } from "standardwebhooks";
import { AnimalsApi, CategoriesApi, InventoryApi, OrdersApi, WebhooksApi } from "./client/index.js";
import { Configuration, ErrorCode, EventFromJSON, ModelErrorFromJSON, PetStatus, ResponseError } from "./client/index.js";
import type { ModelError } from "./client/index.js";

function setting(name: string): string {
  return process.env[name] ?? fail(`${name} is not set`);
}

function fail(message: string): never {
  throw new Error(message);
}

function configuration(key: string): Configuration {
  return new Configuration({ basePath: setting("PETSTORE_URL"), accessToken: key });
}

/** Returns the refusal of a call with the given status, and its body as the generated error type. */
async function refused(status: number, call: () => Promise<unknown>): Promise<{ headers: Headers; error: ModelError }> {
  try {
    await call();
  } catch (refusal) {
    if (!(refusal instanceof ResponseError)) throw refusal;
    equal(refusal.response.status, status);
    return { headers: refusal.response.headers, error: ModelErrorFromJSON(await refusal.response.json()) };
  }
  fail(`no ${status}`);
}

function equal(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) fail(`${JSON.stringify(expected)} and not ${JSON.stringify(found)}`);
}

/** Returns the cursor in the address that Link calls the next page. */
function nextCursor(headers: Headers): string | null {
  const address = /<([^>]+)>; rel="next"/.exec(headers.get("Link") ?? "")?.[1];
  return address ? new URL(address).searchParams.get("cursor") : null;
}

const settings = configuration(setting("PETSTORE_KEY"));
const [categories, animals] = [new CategoriesApi(settings), new AnimalsApi(settings)];
const [inventory, orders] = [new InventoryApi(settings), new OrdersApi(settings)];

// A category and a pet, with names and texts beyond ASCII.
const description = "Groß, flauschig – und hungrig.\nNur für Kenner.";
const bears = await categories.createCategory({ newCategory: { name: "Bären", description } });
equal(bears.description, description);
const pet = await animals.createPet({ newPet: { name: "Bär 🐻", categoryId: bears.id } });
const [found] = await animals.listPets({ name: "bär 🐻", status: [PetStatus.Available] });
equal(found?.name, "Bär 🐻");

// An order with a date, complete.
const shipDate = new Date("2030-01-01T12:00:00Z");
const order = await orders.placeOrder({ newOrder: { petId: pet.id, shipDate }, idempotencyKey: "tour-1" });
equal(order.shipDate, shipDate);

// The only unit is taken.
const newOrder = { petId: pet.id };
const taken = await refused(409, () => orders.placeOrder({ newOrder }));
equal(taken.error.code, ErrorCode.PetNotAvailable);
const orderId = order.id ?? fail("an order without an id");
equal((await orders.updateOrder({ orderId, orderUpdate: { complete: true } })).complete, true);

// Two more orders; all three are read two at a time.
await inventory.updateInventory({ petId: pet.id, inventoryUpdate: { quantity: 2 } });
for (let placed = 0; placed < 2; placed += 1) await orders.placeOrder({ newOrder });
equal((await orders.listOrders()).length, 3);
const pages: number[] = [];
for (let cursor: string | null | undefined; cursor !== null; ) {
  const page = await orders.listOrdersRaw({ limit: 2, ...(cursor && { cursor }) });
  pages.push((await page.value()).length);
  cursor = nextCursor(page.raw.headers);
}
equal(pages, [2, 1]);

// A webhook: the library of Standard Webhooks checks the signature of a sample event.
const received: { headers: Record<string, string>; body: string }[] = [];
const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (part: Uint8Array) => (body += part.toString()));
  request.on("end", () => {
    received.push({ headers: request.headers as Record<string, string>, body });
    response.writeHead(204).end();
  });
});
await new Promise<void>((listens) => receiver.listen(0, "127.0.0.1", listens));
const port = (receiver.address() as { port: number }).port;
const webhooks = new WebhooksApi(settings);
const webhook = await webhooks.createWebhook({ newWebhook: { url: `http://127.0.0.1:${port}/hook`, types: ["order.*"] } });
equal((await webhooks.listWebhooks()).map((one) => one.id), [webhook.id]);
const attempt = await webhooks.testWebhook({ webhookId: webhook.id, webhookTest: { type: "order.completed" } });
equal([attempt.statusCode, attempt.error], [204, undefined]);
const { headers, body } = received[0] ?? fail("no request");
const event = EventFromJSON(new Verifier(webhook.secret ?? fail("no secret")).verify(body, headers));
equal([event.type, event.id, event.test], ["order.completed", headers["webhook-id"], true]);
await webhooks.deleteWebhook({ webhookId: webhook.id });
receiver.close();
receiver.closeAllConnections();

// The Free plan, until it says how long to wait: a minute has 60 requests and a day 1,000, so this comes to an end.
const free = new AnimalsApi(configuration(setting("PETSTORE_FREE_KEY")));
const limited = await refused(429, async () => {
  for (let asked = 0; asked < 1001; asked += 1) await free.listPets();
});
const limits: ErrorCode[] = [ErrorCode.RateLimitExceeded, ErrorCode.QuotaExceeded];
equal(limits.includes(limited.error.code), true);
equal(Number(limited.headers.get("Retry-After")) >= 1, true);
console.log("the tour is over");
