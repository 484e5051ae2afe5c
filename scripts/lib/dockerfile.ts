/** One instruction of a Dockerfile, such as `RUN npm ci`. */
export interface Instruction {
  name: string;
  /** What stands behind the name, with continued lines joined. */
  rest: string;
}

/** The instructions from one FROM to the next. */
export interface Stage {
  /** Name behind `AS`, or null. */
  name: string | null;
  instructions: Instruction[];
}

/**
 * Reads the stages of a Dockerfile that uses what the one of this project uses: no here-documents,
 * no other escape character than the backslash.
 */
export function stagesOf(dockerfile: string): Stage[] {
  const lines = dockerfile
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n');
  const stages: Stage[] = [];
  for (const line of lines) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === 'FROM') {
      stages.push({ name: /\bAS (\w+)$/.exec(rest)?.[1] ?? null, instructions: [] });
    } else if (name) stages.at(-1)?.instructions.push({ name, rest: rest.trim() });
  }
  return stages;
}

/** Returns the words of a JSON list such as `["node", "main.js"]`. */
export function wordsOf(rest: string): string[] {
  return JSON.parse(rest) as string[];
}

/** Returns the settings of an ENV or ARG instruction. An ARG without a value is left out. */
export function settingsOf(rest: string): Record<string, string> {
  return Object.fromEntries(
    [...rest.matchAll(/(\w+)=(\S*)/g)].map(([, name = '', value = '']) => [name, value]),
  );
}
