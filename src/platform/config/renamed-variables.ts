/** Former names of variables, and their present ones. */
const RENAMED: Readonly<Record<string, string>> = { STRICT_QUERY: 'STRICT_REQUESTS' };

/**
 * Finds variables with former names. Ignoring them would lose a setting without a word.
 * @param environment variables that have a value
 * @returns one problem for each of them; none if there is no such variable
 */
export function renamedVariables(environment: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(RENAMED)
    .filter(([name]) => name in environment)
    .map(([name, now]) => `${name}: is now called ${now}; rename it`);
}
