// Starts a petstore by the npm package, uses it, and leaves a second one to the end of the program.
import { Petstore } from 'petstore-server';

const shop = await Petstore.start({ demo: 2 });
const answer = await fetch(`${shop.url}/pets`, { headers: { 'X-API-Key': await shop.newKey() } });
const pets = await answer.json();
await shop.stop();
await Petstore.start();
console.log(`${process.platform}: ${answer.status}, ${pets.length} pets`);
