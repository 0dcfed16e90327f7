// Is not accepted by the compiler.
import { Petstore } from 'petstore-server';

const shop = await Petstore.start({ demo: 3 });
export const address: number = shop.url;
