// The shop that a reset restores.

import { readFile } from 'node:fs/promises';
import type { Sandbox } from './sandbox.js';

/** The content type of a shop. */
const LINES = 'application/x-ndjson';

/** A record of a shop, in the form of `petstore import`: `{ category: { name: 'Dogs', id: 1 } }`. */
export type ShopRecord = Readonly<Record<string, unknown>>;

/** The numbers of records in a baseline. */
export interface BaselineCounts {
  readonly categories: number;
  readonly pets: number;
  readonly orders: number;
}

/** The records of the baseline. */
export async function records(sandbox: Sandbox): Promise<ShopRecord[]> {
  const lines = await sandbox.exchange('GET', '/baseline');
  return lines.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as ShopRecord);
}

/** Sets the baseline, to a file or to records. */
export async function put(sandbox: Sandbox, shop: string | readonly ShopRecord[]): Promise<BaselineCounts> {
  const text = typeof shop === 'string' ? await readFile(shop) : shop.map((record) => `${JSON.stringify(record)}\n`).join('');
  return counts(await sandbox.exchange('PUT', '/baseline', { text, type: LINES }));
}

/** Makes the present shop the baseline. */
export async function save(sandbox: Sandbox): Promise<BaselineCounts> {
  return counts(await sandbox.exchange('POST', '/baseline'));
}

/** Returns to the baseline of the start. */
export async function drop(sandbox: Sandbox): Promise<void> {
  await sandbox.exchange('DELETE', '/baseline');
}

function counts(answer: string): BaselineCounts {
  const { categories, pets, orders } = JSON.parse(answer) as BaselineCounts;
  return { categories, pets, orders };
}
