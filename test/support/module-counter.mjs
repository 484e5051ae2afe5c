import fs from 'node:fs';
import { registerHooks } from 'node:module';

// Preloaded with --import: when the program ends, writes the modules that it has loaded, one a line,
// to the file of MODULES_FILE. Modules of Node itself are left out.
const modules = new Set();
registerHooks({
  load(url, context, next) {
    if (!url.startsWith('node:')) modules.add(url);
    return next(url, context);
  },
});
process.on('exit', () => fs.writeFileSync(process.env.MODULES_FILE, [...modules].join('\n')));
