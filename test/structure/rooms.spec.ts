import { globSync } from 'node:fs';
import path from 'node:path';

/** Most files of a folder, tests beside the code included, so that a reader can look them over. */
const MOST_FILES = 20;

/** Folders under `src`, each with the number of its files. */
function folders(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const file of globSync('src/**/*.ts'))
    counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
  return counts;
}

describe('folders of the program', () => {
  it(`have at most ${MOST_FILES} files`, () => {
    const all = [...folders()];
    expect(all.length).toBeGreaterThan(50);
    expect(all.filter(([, files]) => files > MOST_FILES)).toEqual([]);
  });
});
