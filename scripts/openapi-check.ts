import fs from 'node:fs';
import { ensureBuilt } from './lib/build.ts';
import { generateOpenApi, openApiPath } from './lib/openapi.ts';
import { lintOpenApi } from './lib/openapi-lint.ts';
import { missingTexts } from './lib/openapi-texts.ts';

await ensureBuilt();
for (const [name, text] of Object.entries(await generateOpenApi())) {
  const findings = [...(await lintOpenApi(text)), ...missingTexts(text)];
  if (fs.readFileSync(openApiPath(name), 'utf8') !== text)
    findings.push('differs from the document that is served. Run: npm run openapi:write');
  for (const finding of findings) process.stderr.write(`${name}: ${finding}\n`);
  if (findings.length > 0) process.exitCode = 1;
}
