import { runCompiled } from './lib/build.ts';

await runCompiled('cli/carillon');
