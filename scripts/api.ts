import { main } from '../src/cli/client/main.ts';

await main(process.argv.slice(2));
