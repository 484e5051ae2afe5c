import { main } from '../src/cli/api.ts';

await main(process.argv.slice(2));
