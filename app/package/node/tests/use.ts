// Uses all of the package's types, without those of Node.
import { NotEnoughRequests, Petstore, type PlannedFault, SandboxError, sharedPetstore } from 'petstore-server';

const shop: Petstore = await Petstore.start({ demo: 3, settings: { 'free-minute': 3, gzip: false } });
const key: string = await shop.newKey({ plan: 'enterprise', minute: 10, day: 100 });
const time: Date = await shop.clock.advance('2m');
await shop.faults.plan([{ route: '/pets', first: 2, status: 503, retryAfter: 3 }, { body: 'slow', bytesPerSecond: 10 }], { seed: 42 });
const [fault] = await shop.faults.planned();
const acted: number | undefined = fault?.acted;
for (const { method, answer } of await shop.requests({ count: 3, wait: 2, method: ['GET', 'PUT'], key })) {
  const status: number | null | undefined = answer?.status;
  console.log(method, status);
}
{
  await using scope = shop.scope('orders.create', { header: 'x-case' });
  const added: PlannedFault[] = await scope.faults.add({ status: 503, retryAfter: { date: '+3s' } });
  for (const { id } of added) await shop.faults.remove(id);
  await fetch(shop.url, { headers: { 'X-API-Key': shop.key, ...scope.headers } });
  console.log((await scope.requests({ count: 1 })).length, (await scope.report()).isBroken);
}
const verdict: string = (await shop.report({ key })).verdict;
await (await sharedPetstore({ demo: 3 })).reset();
try {
  await shop.reset();
} catch (error) {
  if (error instanceof SandboxError) console.log(error.status, error.body);
  if (error instanceof NotEnoughRequests) console.log(error.requests.length);
}
await shop.stop();
console.log(time, acted, verdict);
