import { measure } from '../bench/neural/measure.ts';

for (const { what, right, of, wrong } of measure()) {
  process.stdout.write(
    `${what.padEnd(24)} ${right} of ${of} (${Math.round((100 * right) / of)} %)\n`,
  );
  for (const line of wrong) process.stdout.write(`  ${line}\n`);
}
