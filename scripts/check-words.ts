import { checkWords } from './lib/words.ts';

const findings = checkWords();
for (const { file, line, problem } of findings)
  process.stdout.write(`${file}:${line}: ${problem}\n`);
if (findings.length > 0) {
  process.stdout.write(`${findings.length} places to rewrite; docs/glossary.md has the words\n`);
  process.exitCode = 1;
}
