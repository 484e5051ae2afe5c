/** Something the user of the `api` command has to know; shown without a stack. */
export class ApiCommandError extends Error {
  override name = 'ApiCommandError';
}
