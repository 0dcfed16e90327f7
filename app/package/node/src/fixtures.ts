// Fixtures for test runners that have them. They import no runner.

import { sharedPetstore, type Petstore, type PetstoreOptions } from './petstore.js';

type Use = (shop: Petstore) => Promise<void>;

/** The part of vitest's context that the fixture uses. */
interface VitestContext {
  readonly task: { readonly result?: { readonly state: string; readonly errors?: { message: string }[] | undefined } | undefined };
}

/** The fixture of `test.extend({ petstore: vitestPetstore({ demo: 100 }) })` in vitest: the server of this worker, in its initial state.
 * The error of a failed test has the last requests. */
export function vitestPetstore(options: PetstoreOptions = {}) {
  // vitest reads the names of the context's members that a fixture needs from the source of its function.
  return async ({ task }: VitestContext, use: Use): Promise<void> => {
    const shop = await sharedPetstore(options);
    await use(shop);
    const [error] = (task.result?.state === 'fail' && task.result.errors) || [];
    if (error) error.message += `\n\n${await lines(shop)}`;
  };
}

/** The part of Playwright's description of a test that the fixture uses. */
interface PlaywrightInfo {
  readonly status?: string | undefined;
  readonly expectedStatus: string;
  attach(name: string, options: { body: string; contentType: string }): Promise<void>;
}

/** The fixture of `test.extend({ petstore: playwrightPetstore({ demo: 100 }) })` in Playwright: the server of this worker, in its initial
 * state. A failed test has the last requests as an attachment. */
export function playwrightPetstore(options: PetstoreOptions = {}) {
  // Playwright reads the names of other fixtures from the source of the function, which has none.
  return async ({}: object, use: Use, info: PlaywrightInfo): Promise<void> => {
    const shop = await sharedPetstore(options);
    await use(shop);
    if (info.status !== info.expectedStatus) await info.attach('last requests of the petstore', { body: await lines(shop), contentType: 'text/plain' });
  };
}

/** The last requests; the reason, if the server has none to tell. */
function lines(shop: Petstore): Promise<string> {
  return shop.lastRequests().catch((error: Error) => error.message);
}
